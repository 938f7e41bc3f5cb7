"""What a replay is shown as: table, timeline, HTML report."""
