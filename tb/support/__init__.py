"""What tests share: benches, stimulus, observers, and stand-ins for what is around a block."""
