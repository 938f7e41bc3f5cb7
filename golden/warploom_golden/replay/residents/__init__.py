"""BlockDispatcher and its SMs, from one event to the next: the compiled half of a replay."""
