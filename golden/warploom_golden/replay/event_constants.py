"""Numbers that the event model's compiled functions share."""

from typing import Final

#: A cycle that never comes.
NEVER: Final = 1 << 52
#: When a slot without a block is due: later than `NEVER`, as progress grows faster than cycles.
NOT_DUE: Final = 1 << 55
#: No SM, no stream, no block.
NONE: Final = -1
#: Placement policies.
FIRST_FIT: Final = 0
ROUND_ROBIN: Final = 1
LEAST_LOADED: Final = 2
FREED_FIRST: Final = 3
#: The same by name: the policies that replays predict, and the file where one is added.
POLICY_NUMBERS: Final = {
    "first_fit": FIRST_FIT,
    "round_robin": ROUND_ROBIN,
    "least_loaded": LEAST_LOADED,
    "freed_first": FREED_FIRST,
}
PREDICTED_POLICIES: Final = tuple(POLICY_NUMBERS)
PREDICTED_IN: Final = "replay/residents/policies.py"
#: A key of a tournament is a cycle, and below it the number of a slot or an SM.
SLOT_BITS: Final = 7
SM_BITS: Final = 10
SLOT_MASK: Final = (1 << SLOT_BITS) - 1
SM_MASK: Final = (1 << SM_BITS) - 1
#: Rows of the logs of offers and reports, which have a column for each block.
CYCLE: Final = 0
SM: Final = 1
SLOT: Final = 2
TICKET: Final = 3
BLOCK: Final = 4
STATUS: Final = 3
#: What the model's state has room for: more than any hardware, for machines that do not exist.
MOST_SMS: Final = 1 << SM_BITS
MOST_SLOTS: Final = 1 << SLOT_BITS
#: Resources by number.
SLOTS: Final = 0
WARPS: Final = 1
#: What a report says, as in ``warploom_spec.BlockStatus``.
OK: Final = 0
FAULT: Final = 1
KILLED: Final = 2
