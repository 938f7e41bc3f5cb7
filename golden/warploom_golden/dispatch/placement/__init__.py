"""Models of the placement policies: which SM gets the next block."""
