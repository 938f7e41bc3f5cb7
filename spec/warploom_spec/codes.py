"""All codes of refusals, failures and error records together: no number has two meanings."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, cast

from warploom_spec.errors import ERROR_CODE_BITS, EXPLANATIONS, ErrorCode
from warploom_spec.host_errors import HOST_EXPLANATIONS, HostError
from warploom_spec.queue import QUEUE_EXPLANATIONS, QueueCode
from warploom_spec.table_errors import TABLE_EXPLANATIONS, TableCode

#: The kinds of codes. 0 is 'no error' in those that have it.
KINDS: Final[tuple[type[IntEnum], ...]] = (ErrorCode, TableCode, QueueCode, HostError)


@dataclass(frozen=True)
class Code:
    """One code.

    Attributes
    ----------
    name : str
        Its name.
    cause, cure : str
        What has happened, and what to do.
    """

    name: str
    cause: str
    cure: str


def join(*explanations: Mapping[Any, tuple[str, str]]) -> dict[int, Code]:
    """Return the codes of several kinds by their numbers.

    Parameters
    ----------
    *explanations : mapping
        Of each kind its codes, an ``IntEnum``'s members, with cause and cure.

    Raises
    ------
    ValueError
        If two codes have one number, and do not say the same.
    """
    codes: dict[int, Code] = {}
    for kind in explanations:
        for number, (cause, cure) in kind.items():
            code = Code(number.name, cause, cure)
            if codes.setdefault(int(number), code) != code:
                raise ValueError(f"code {int(number)} is {codes[number].name} and {code.name}")
            if not 0 <= number < 1 << ERROR_CODE_BITS:
                raise ValueError(f"{code.name} is {int(number)}; legal: {ERROR_CODE_BITS} bits")
    return dict(sorted(codes.items()))


#: Every code by its number.
CODES: Final = join(EXPLANATIONS, TABLE_EXPLANATIONS, QUEUE_EXPLANATIONS, HOST_EXPLANATIONS)
#: The names of all codes, for fields that may hold a code of any kind.
AnyCode: Final = cast(
    type[IntEnum], IntEnum("AnyCode", {code.name: number for number, code in CODES.items()})
)
