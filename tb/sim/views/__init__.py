"""Tests of `warploom_sim.views`."""
