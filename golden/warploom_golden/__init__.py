"""Golden models: one in each module, in the package and module of the RTL's names."""
