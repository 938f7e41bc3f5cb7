"""Verilog of the blocks: files, headers, SystemVerilog package, packed wrapper, register map."""
