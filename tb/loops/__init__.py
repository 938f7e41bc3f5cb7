"""Tests of LoopFinder."""
