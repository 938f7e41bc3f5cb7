"""Tests of `warploom_sim.replay`."""
