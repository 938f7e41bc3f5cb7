"""Comparisons of many runs: plan, figures, results that are kept, processes, table and plot."""
