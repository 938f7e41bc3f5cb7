"""Which branches, bits and cases of the RTL the default tests reach."""
