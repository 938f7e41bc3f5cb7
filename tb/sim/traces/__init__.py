"""Tests of `warploom_sim.traces`."""
