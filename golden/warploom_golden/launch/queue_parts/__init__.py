"""Parts of KernelQueue's cycle model; numbers in their comments are rules of the block's page."""
