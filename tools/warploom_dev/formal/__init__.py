"""Proofs of the RTL: benches with free inputs, and what must hold of them in every cycle."""
