"""The verification plan: each rule of a block's page, and what checks it."""
