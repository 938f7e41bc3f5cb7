"""Golden models: one in each module, named as the RTL that it is the reference for."""
