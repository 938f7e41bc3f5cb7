"""What holds of each block: one file a block, written from its page, its ports alone."""
