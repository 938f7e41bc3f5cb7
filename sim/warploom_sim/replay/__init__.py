"""One replay: what is asked for, the RTL's run, the model's run, checks, result."""
