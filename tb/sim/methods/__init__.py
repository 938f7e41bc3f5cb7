"""Tests of `warploom_sim.methods`."""
