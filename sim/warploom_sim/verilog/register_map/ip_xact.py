"""The register map as IP-XACT, made by PeakRDL from the SystemRDL."""

import tempfile
from importlib import metadata
from pathlib import Path

from warploom_sim.verilog.register_map.system_rdl import system_rdl
from warploom_spec import Config
from warploom_spec.extras import need


def ip_xact(config: Config, name: str) -> str:
    """Return the map of one configuration as IP-XACT (IEEE 1685-2014).

    Parameters
    ----------
    config : Config
        The configuration.
    name : str
        Its name.

    Raises
    ------
    WarploomError
        If PeakRDL is not installed.
    """
    rdl = need("systemrdl", "ip-xact", "IP-XACT")
    exporter = need("peakrdl_ipxact", "ip-xact", "IP-XACT")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "warploom_host.rdl"), Path(folder, "warploom_host.xml")
        source.write_text(system_rdl(config, name, blocks=config.has_loops))
        compiler = rdl.RDLCompiler()
        compiler.compile_file(str(source))
        top = compiler.elaborate("warploom").top
        about = {"vendor": "warploom", "library": "core", "version": metadata.version("warploom")}
        exporter.IPXACTExporter(**about).export(top, str(made), component_name="front_end")
        return made.read_text()
