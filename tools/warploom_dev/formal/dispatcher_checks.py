"""Properties that several benches of BlockDispatcher state: errors, and a launch's last offer."""

from collections.abc import Sequence

from amaranth.hdl import Mux, Value

from warploom_dev.formal.dispatcher_view import OneLaunch, OneSm, Ports, of_place
from warploom_spec import ErrorCode, timing


def check_error(
    ports: Ports,
    sm: OneSm,
    code: ErrorCode,
    wrong: Value,
    name: str,
    text: str,
    *,
    fault: str,
    bound: int | None,
) -> None:
    """State when an SM's report is an error of a code: in the cycle after its own ``wrong`` is 1.

    Of several errors at once the lowest code shows, of equal codes the lowest SM. What is proved
    for all time is proved soon.
    """
    b, error = ports.b, ports.dut.error
    due = b.past(wrong, timing(b.config).error - 1, f"due_{name}")
    of_code = b.value(error.valid & (error.code == int(code)), f"told_{name}")
    told = b.value(of_code & (error.argument == sm.number), f"own_{name}")
    hidden = error.valid & (error.code < int(code)) | (of_code & (error.argument < sm.number))
    b.check(
        name,
        text,
        Mux(due, told | hidden, ~told),
        fault=fault,
        cover=("it is told beside another in the next cycle", told & b.before(told, f"two_{name}")),
        bound=bound,
        slow=bound is not None,
    )


def check_last_offer(
    ports: Ports,
    launch: OneLaunch,
    cause: Sequence[Value],
    name: str,
    text: str,
    *,
    fault: str,
    bound: int | None,
) -> None:
    """State that a place's launch has no offer after a cause: a decision in its first cycle stands.

    ``cause`` is by place, a level, as of the block's state.
    """
    b = ports.b
    its = b.value(launch.followed & of_place(launch.place, cause), f"followed_{name}")
    after = timing(b.config).offer
    b.check(
        name,
        text,
        ~(launch.some_new & b.past(its, after + 1, name)),
        fault=fault,
        cover=("the last one", launch.some_new & b.past(its, after, f"last_{name}")),
        bound=bound,
        slow=True,
    )
