"""Which branches, bits and cases of the RTL the tests reach."""
