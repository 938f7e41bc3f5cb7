"""No number of a code has two meanings, and each has a cause and a cure."""

from enum import IntEnum

import pytest

from warploom_spec.codes import CODES, KINDS, join


def test_no_number_is_used_twice():
    numbers = [int(code) for kind in KINDS for code in kind if code]
    assert len(set(numbers)) == len(numbers)
    assert {*numbers, 0} == CODES.keys()
    names = [code.name for code in CODES.values()]
    assert len(set(names)) == len(names)


def test_numbers_of_the_kinds():
    """Literal: 27, 29 and 45 to 47 are the queue's, 33 to 44 the tables', 48 on the host's."""
    errors, tables, queue, host = ([int(code) for code in kind if code] for kind in KINDS)
    assert errors == [*range(1, 22), *range(23, 27), 32]
    assert tables == [*range(33, 45)]
    assert queue == [27, 29, 45, 46, 47]
    assert host[:8] == [*range(48, 56)] and max(host) < 96
    assert (CODES[32].name, CODES[27].name, CODES[55].name) == ("QUEUE_FULL", "TIMEOUT", "RESET")


def test_each_code_has_a_cause_and_a_cure():
    for number, code in CODES.items():
        assert code.cause and code.cure, number
        assert code.cause != code.cure
        assert not code.cause.endswith(".") and not code.cure.endswith(".")


class Other(IntEnum):
    AGAIN = 32
    WIDE = 256


def test_a_number_that_has_a_meaning_already_is_refused():
    full = {number: code for number, code in CODES.items() if number == 32}
    assert full[32].name == "QUEUE_FULL"
    ours = {code: (CODES[32].cause, CODES[32].cure) for code in KINDS[0] if code == 32}
    with pytest.raises(ValueError, match="code 32 is QUEUE_FULL and AGAIN"):
        join(ours, {Other.AGAIN: ("a cause", "a cure")})
    # The same code twice is not two meanings.
    assert join(ours, ours) == full


def test_a_number_of_nine_bits_is_refused():
    with pytest.raises(ValueError, match="WIDE is 256; legal: 8 bits"):
        join({Other.WIDE: ("a cause", "a cure")})
