"""Tests of `warploom_sim.cosim`."""
