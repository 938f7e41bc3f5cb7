"""The event model of whole replays, compiled by Numba; `event_model.run` runs it."""
