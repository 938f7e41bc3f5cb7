"""Parts that blocks of several rooms use."""
