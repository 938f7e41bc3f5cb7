"""Whether the committed rows are of the present sources: elaborated and compared, not measured."""
