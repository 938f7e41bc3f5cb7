"""The replay's test bench: Verilog around the RTL, and what it records."""
