"""The model alone, with a host that reads every record and the host's ledger beside it."""

from types import SimpleNamespace

from tb.host.diligent_host import DiligentSurroundings
from tb.support.dispatch_configs import config_of
from warploom.host import FrontEnd
from warploom_golden.host import FrontEnd as Model
from warploom_golden.oracles import HostLedger
from warploom_sim.cosim.lockstep import Case, Context, Ports
from warploom_sim.cosim.lockstep.validity import Validity


def play(config, seed, cycles, profile="few_stops", model=Model, ledger=HostLedger):
    """Run the model alone in random surroundings with the ledger beside it; return its counts."""
    chosen = config_of(config)
    case = Case(
        make=model,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        options={"profile": profile, "hurry": True},
    )
    ports = Ports.of(FrontEnd(chosen))
    surroundings = DiligentSurroundings(Context(ports, case, case.rng("stimulus")))
    device, books = model(chosen), ledger(chosen)
    quiet, outputs = Validity(ports).quiet, None
    for cycle in range(cycles):
        inputs = surroundings.next(outputs)
        outputs = quiet({name: value or 0 for name, value in device.outputs(inputs).items()})
        books.see(cycle, inputs, outputs)
        device.tick(inputs)
    return SimpleNamespace(counts=books.counts(), host=surroundings._host)
