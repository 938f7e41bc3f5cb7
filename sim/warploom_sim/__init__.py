"""The tool: traces in, simulators, lockstep comparison, reports out."""
