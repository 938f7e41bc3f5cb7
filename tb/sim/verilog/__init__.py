"""Tests of `warploom_sim.verilog`."""
