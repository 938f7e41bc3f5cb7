"""ConfigFilter's model as the source has it: without one correction each."""

from warploom_golden.index import ConfigFilter


class NeverDrops(ConfigFilter):
    """As the source: a miss forgets nothing of what it overwrites."""

    def _drop(self, stage):
        pass


class IgnoresReaders(ConfigFilter):
    """As the source: nothing protects indices that are being read."""

    def _must_wait_for_readers(self, stage):
        return False
