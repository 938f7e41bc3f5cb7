"""ConfigFilter's model as the index patent has it: without one correction each."""

from warploom_golden.index import ConfigFilter


class NeverDrops(ConfigFilter):
    """As the index patent: a miss forgets nothing of what it overwrites."""

    def _drop(self, stage):
        pass


class IgnoresReaders(ConfigFilter):
    """As the index patent: nothing protects indices that are being read."""

    def _must_wait_for_readers(self, stage):
        return False
