"""The host's register map for others: a C header, SystemRDL, IP-XACT, a page's table."""

from warploom_sim.verilog.register_map.c_header import c_header
from warploom_sim.verilog.register_map.ip_xact import ip_xact
from warploom_sim.verilog.register_map.map_table import map_table
from warploom_sim.verilog.register_map.system_rdl import system_rdl

__all__ = ["c_header", "ip_xact", "map_table", "system_rdl"]
