"""Which fences the mailbox round needs: every order that a CPU allows, by exhaustion."""

import pytest

from warploom_golden.stealing.fences import (
    CORRECT_FENCES,
    SOURCE_FENCES,
    protocol,
    stale_reads,
)


def test_the_four_fences_are_enough():
    assert stale_reads(protocol(CORRECT_FENCES)) == set()


def test_the_published_fences_let_both_sides_read_stale_words():
    """Correction: the first fence is a release, and both reading sides need an acquire."""
    assert stale_reads(protocol(SOURCE_FENCES)) == {"task", "status"}


@pytest.mark.parametrize(
    ("missing", "stale"), [(0, {"task"}), (1, {"task"}), (2, {"status"}), (3, {"status"})]
)
def test_none_of_the_four_can_be_left_out(missing, stale):
    fences = list(CORRECT_FENCES)
    fences[missing] = ""
    assert stale_reads(protocol(tuple(fences))) == stale


def test_an_acquire_in_the_place_of_the_first_release_is_not_enough():
    assert stale_reads(protocol(("acquire", "acquire", "release", "acquire"))) == {"task"}
