"""The project's own measuring: proofs, mutants, area and clock rate, speed. Not in the wheel."""
