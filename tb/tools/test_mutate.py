"""Mutation: what is killed, what is filtered out as equivalent, and what survives is reported."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

from warploom_dev import cli
from warploom_dev.abc import abc_program
from warploom_dev.formal import aiger
from warploom_dev.mutate import (
    campaign,
    equivalence,
    mutate_figures,
    mutate_report,
    netlist,
    runner,
)
from warploom_dev.mutate.mutate_figures import Row, Survivor
from warploom_sim.cosim.lockstep import Case
from warploom_sim.cosim.lockstep.ports import Ports
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[2]
WANTED = 40


class Toy(wiring.Component):
    """A memory, which keeps its words over a reset, and a count of its writes modulo 5."""

    address: In(2)
    data: In(2)
    write: In(1)
    word: Out(2)
    count: Out(3)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=2, depth=4, init=[])
        writes, reads = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            writes.addr.eq(self.address),
            writes.data.eq(self.data),
            writes.en.eq(self.write),
            reads.addr.eq(self.address),
            self.word.eq(reads.data),
        ]
        # The count is never 6: nothing can tell a mutant of this term from the original.
        wraps = Signal()
        m.d.comb += wraps.eq((self.count == 4) | (self.count == 6))
        with m.If(self.write):
            m.d.sync += self.count.eq(Mux(wraps, 0, self.count + 1))
        return m


class ToyModel:
    def __init__(self) -> None:
        self.words = [0] * 4
        self.count = 0

    def outputs(self, inputs: Mapping[str, int]) -> Mapping[str, int | None]:
        return {"word": self.words[inputs["address"]], "count": self.count}

    def tick(self, inputs: Mapping[str, int]) -> None:
        if inputs["write"]:
            self.words[inputs["address"]] = inputs["data"]
            self.count = (self.count + 1) % 5

    def reset(self) -> None:
        self.count = 0


class CountsToSix(ToyModel):
    """A model that is wrong."""

    def tick(self, inputs: Mapping[str, int]) -> None:
        self.count += inputs["write"] and self.count == 4
        super().tick(inputs)


class IgnoresTheCount(ToyModel):
    """A model that compares the memory's word alone."""

    def outputs(self, inputs: Mapping[str, int]) -> Mapping[str, int | None]:
        return {**super().outputs(inputs), "count": None}


MODELS = {model.__name__: model for model in (ToyModel, CountsToSix, IgnoresTheCount)}


def make(model: str) -> tuple[Toy, Any]:
    return Toy(), MODELS[model]()


def row_of(model: str, seed: int, wanted: int = WANTED) -> Row:
    def bench(seed: int) -> list[Case]:
        params = {"model": model}
        return [Case(make=make, params=params, seed=seed + k, cycles=400) for k in range(2)]

    return campaign.campaign("toy", bench, wanted, seed, lambda counted, what: None)


class Gates(wiring.Component):
    """Two gates whose every mutant differs in the first cycle, and one that nobody needs."""

    a: In(1)
    b: In(1)
    odd: Out(1)
    same: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unneeded = Signal()
        m.d.comb += [
            self.odd.eq(self.a ^ self.b),
            unneeded.eq(self.a & self.b),
            self.same.eq(self.a | unneeded),
        ]
        return m


# --- the whole of it ---------------------------------------------------------------------------


@pytest.mark.fpga
@pytest.mark.xdist_group("mutate")
def test_every_mutant_is_killed_or_equivalent_whatever_ran_before_it(seed: int) -> None:
    # Words that one mutant left in the memory would have the model disagree with the next.
    row = row_of("ToyModel", seed)
    assert row.killed == row.mutants == WANTED
    assert row.equivalent > 0
    assert row.survivors == [] and mutate_figures.shortfalls(row, WANTED) == []
    assert row.median_cycle is not None and 0 < row.median_cycle < row.cycles == 800


@pytest.mark.fpga
@pytest.mark.xdist_group("mutate")
def test_what_a_bench_does_not_look_at_survives(seed: int) -> None:
    row = row_of("IgnoresTheCount", seed)
    assert 0 < row.killed < row.mutants == WANTED
    assert len(row.survivors) == WANTED - row.killed
    for survivor in row.survivors:
        assert survivor.proven and survivor.shown_after is not None
        assert "tb/tools/test_mutate.py:" in survivor.source
    assert mutate_figures.shortfalls(row, WANTED) == [
        f"toy: its bench notices {row.rate:.1%} of the mutants, not 95%"
    ]


@pytest.mark.fpga
@pytest.mark.xdist_group("mutate")
def test_a_bench_that_fails_without_a_mutation_kills_nothing(seed: int) -> None:
    with pytest.raises(WarploomError, match=r"^toy: its bench fails without a mutation, seed"):
        row_of("CountsToSix", seed)


@pytest.mark.fpga
def test_the_same_seed_draws_the_same_mutants(seed: int, tmp_path: Path) -> None:
    lists = []
    for name, drawn in (("a", seed), ("b", seed), ("c", seed + 1)):
        folder = tmp_path / name
        folder.mkdir()
        lists.append(netlist.list_mutations(Toy(), WANTED, drawn, folder))
    assert lists[0] == lists[1] != lists[2]
    assert [mutation.number for mutation in lists[0]] == list(range(1, WANTED + 1))


#: Type, pin and mode of the mutants of `Gates` that are equivalent; all others differ at once.
NEEDLESS = {
    ("$and", "A", "const0"),
    *(("$and", "B", mode) for mode in ("inv", "const0", "const1")),
    ("$and", "Y", "const0"),
    ("$or", "B", "const0"),
}


@pytest.mark.fpga
def test_an_output_that_is_wrong_in_every_cycle_is_told_from_one_that_is_always_right(
    seed: int, tmp_path: Path
) -> None:
    mutations = netlist.list_mutations(Gates(), WANTED, seed, tmp_path)
    text = (tmp_path / netlist.NETLIST).read_text()
    types = {name: kind for kind, name in re.findall(r"^  cell (\S+) (\S+)$", text, re.MULTILINE)}
    places = [(types[m.cell], m.pin, m.mode) for m in mutations]
    assert {("$xor", "Y", "inv"), ("$and", "B", "inv")} < set(places)
    differs, equivalent = equivalence.Proof("differs", 0), equivalence.Proof("equivalent")
    assert dict(zip(places, equivalence.prove(mutations, tmp_path), strict=True)) == {
        place: equivalent if place in NEEDLESS else differs for place in places
    }


class Refuses(wiring.Component):
    """A word goes through two registers, whenever they go on, unless it is refused for a bit."""

    word: In(4)
    goes_on: In(1)
    out: Out(4)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(4)
        refused = Signal()
        with m.If(self.goes_on):
            m.d.sync += [
                held.eq(self.word),
                refused.eq(self.word[3]),
                self.out.eq(Mux(refused, 0, held)),
            ]
        return m


@pytest.mark.fpga
def test_shared_registers_prove_what_is_lost_later_and_nothing_that_differs(
    seed: int, tmp_path: Path
) -> None:
    for part in (Refuses(), Gates(), Toy()):
        mutations = netlist.list_mutations(part, WANTED, seed, tmp_path)
        whole = equivalence.prove(mutations, tmp_path, 2)
        shared = equivalence.prove_shared(mutations, tmp_path, 2)
        assert equivalence.DIFFERS not in {proof.verdict for proof in shared}
        for mutation, proof, again in zip(mutations, whole, shared, strict=True):
            if again.verdict == equivalence.EQUIVALENT:
                assert proof.verdict == equivalence.EQUIVALENT, mutation.text


@pytest.mark.fpga
@pytest.mark.parametrize(
    ("control", "verdict"), [(3, equivalence.EQUIVALENT), (2, equivalence.UNKNOWN)]
)
def test_a_change_of_refused_words_alone_is_equivalent(
    control: int, verdict: str, seed: int, tmp_path: Path
) -> None:
    netlist.list_mutations(Refuses(), 1, seed, tmp_path)
    text = (tmp_path / netlist.NETLIST).read_text()
    (cell,) = re.findall(r"  cell \$\w*dff\w* (\S+)\n(?:    .*\n)*?    connect \\Q \\held", text)
    mutation = netlist.Mutation(
        number=1, mode="cnot1", cell=cell, pin="D", bit=1, control=control, signal="", source=""
    )
    (proof,) = equivalence.prove_shared([mutation], tmp_path)
    assert proof.verdict == verdict


@pytest.mark.fpga
@pytest.mark.xdist_group("mutate")
def test_mutants_that_run_side_by_side_end_as_they_do_alone(seed: int, tmp_path: Path) -> None:
    case = Case(make=make, params={"model": "ToyModel"}, seed=seed, cycles=400)
    mutations = netlist.list_mutations(Toy(), WANTED, seed, tmp_path)
    simulation = runner.compile_mutants(
        "toy", netlist.pack(mutations, tmp_path), Ports.of(case.build()[0])
    )
    numbers = [m.number for m in mutations]
    bits = netlist.select_bits(mutations)
    alone, together = (
        [dataclasses.replace(run, seconds=0.0) for run in runs]
        for runs in (
            runner.run_mutants(simulation, [case], numbers, bits, 60, jobs) for jobs in (1, 3)
        )
    )
    assert alone == together
    assert 0 < sum(run.complaint is not None for run in alone) < len(alone)


# --- parts -------------------------------------------------------------------------------------

LIST = r"""
mutate -mode inv -module dut -cell $7 -port A -portbit 3 -wire held -wirebit 0 -src hdl/a.py:5
mutate -mode const0 -module dut -cell $8 -port Q -portbit 0
mutate -mode const0 -module dut -cell $8 -port CLK -portbit 0
mutate -mode inv -module dut -cell $10 -port RD_ARST -portbit 0
mutate -mode inv -module dut -cell $7 -port A -portbit 3
mutate -mode cnot1 -module dut -cell $flatten\a.\b.$9 -port Y -portbit 2 -ctrlbit 4 -src a:1 -src b
mutate -mode const1 -module dut -cell $9 -port EN -portbit 0
"""


def test_clocks_register_outputs_read_controls_and_repetitions_are_left_out() -> None:
    found = netlist.parse(LIST, 3)
    assert [m.text for m in found] == [
        "inv at $7.A[3] (held[0])",
        r"cnot1 by bit 4 at $flatten\a.\b.$9.Y[2]",
        "const1 at $9.EN[0]",
    ]
    assert [m.number for m in found] == [1, 2, 3]
    assert [m.source for m in found] == ["hdl/a.py:5", "a:1 b", ""]
    assert len(netlist.parse(LIST, 2)) == 2


def test_sources_are_named_without_the_place_of_the_checkout() -> None:
    text = f'attribute \\src "{Path.cwd()}/hdl/a.py:5|/any/lib/site-packages/amaranth/b.py:7"\n'
    assert netlist.relative_sources(text) == 'attribute \\src "hdl/a.py:5|amaranth/b.py:7"\n'


@pytest.mark.parametrize(
    ("log", "proof"),
    [
        ("Output 0 of miter was asserted in frame 7.", equivalence.Proof("differs", 7)),
        ("Property proved.  Time = 0.1 sec", equivalence.Proof("equivalent")),
        # As is the constant 0, so are the constant 1 and one input alone.
        ("i/o = 3/ 1  lat =    0  and =      0  lev =  0", equivalence.Proof("unknown")),
        ("Property UNDECIDED.  Time = 20 sec", equivalence.Proof("unknown")),
    ],
)
def test_a_proofs_log_is_read(log: str, proof: equivalence.Proof) -> None:
    assert equivalence.read(log) == proof


@pytest.mark.parametrize("literal", ["0", "1", "3"])
def test_a_graphs_output_is_read_behind_its_registers(literal: str, tmp_path: Path) -> None:
    file = tmp_path / "graph.aig"
    file.write_bytes(f"aig 3 1 2 1 0\n2\n4 0\n{literal}\nc\n1\n".encode())
    assert aiger.output_literal(file) == literal.encode()


def test_a_missing_prover_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(WarploomError, match="^pyosys is not installed; run: make formal, or pip"):
        abc_program()


@pytest.mark.parametrize(
    ("end", "kept"), [(KeyboardInterrupt(), False), (ProgramError("see its log"), True)]
)
def test_an_interrupted_run_leaves_no_folder_and_a_failed_one_its_log(
    end: BaseException, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def ends(
        name: str, module: str, simulation: Path, simulator: str, folder: Path, *_: Any
    ) -> None:
        (folder / "simulator.log").touch()
        folders.append(folder)
        raise end

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "in_simulator", ends)
    with pytest.raises(type(end)):
        runner.run_mutants(
            tmp_path, [Case(make=make, params={"model": "ToyModel"}, seed=1)], [1], 1, 1
        )
    assert [folder.exists() for folder in folders] == [kept]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends a process with its parent")
def test_a_mutants_process_ends_with_the_simulator() -> None:
    code = """
import os, time
from warploom_dev.mutate.entry import end_with_parent
if not os.fork():
    end_with_parent()
    print("runs", flush=True)
    time.sleep(600)
os.wait()
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "runs\n"
        parent.kill()
        # The pipe ends with the last process that can write to it.
        assert parent.communicate(timeout=60)[0] == ""


def row(survivors: Iterable[str] = (), killed: int = 199) -> Row:
    found = [Survivor(mutation=name, source="", shown_after=3, proven=True) for name in survivors]
    return Row(
        block="walker",
        params={},
        seed=1,
        cycles=10,
        mutants=killed + len(found),
        killed=killed,
        equivalent=0,
        median_cycle=2,
        survivors=found,
        netlist_hash="",
        rtl_hash="",
    )


@pytest.mark.parametrize(
    ("hardware", "proven", "reason"),
    [("same", True, "rare"), ("other", True, ""), ("same", False, "")],
)
def test_a_reason_stays_with_its_survivor_in_the_same_hardware(
    hardware: str, proven: bool, reason: str
) -> None:
    old = dataclasses.replace(row(["a", "b"]), rtl_hash=hardware)
    old.survivors[0] = dataclasses.replace(
        old.survivors[0], proven=proven, reason="rare", cure="more cycles"
    )
    new = dataclasses.replace(row(["c", "a"]), rtl_hash="same", netlist_hash="moved by a line")
    kept = mutate_figures.keep_reasons(new, {"walker": old})
    assert [(s.mutation, s.reason, s.cure) for s in kept.survivors] == [
        ("c", "", ""),
        ("a", reason, "more cycles" if reason else ""),
    ]


def test_figures_read_back_as_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "figures.json"
    mutate_figures.write(file, [row(["a"])])
    assert mutate_figures.read(file) == {"walker": row(["a"])}
    unhashed = row().to_json()
    del unhashed["rtl_hash"]
    file.write_text(json.dumps([unhashed]))
    with pytest.raises(WarploomError, match="figures.json is no list of figures: .*rtl_hash"):
        mutate_figures.read(file)
    file.write_text('{"block": 1}')
    with pytest.raises(WarploomError, match="figures.json is no list of figures"):
        mutate_figures.read(file)


def test_too_few_mutants_and_too_few_killed_are_said() -> None:
    assert mutate_figures.shortfalls(row(killed=190), 200) == [
        "walker: its netlist gave 190 mutants, not 200"
    ]
    assert mutate_figures.shortfalls(row(map(str, range(11)), killed=189), 200) == [
        "walker: its bench notices 94.5% of the mutants, not 95%"
    ]
    assert mutate_figures.shortfalls(row(map(str, range(10)), killed=190), 200) == []


def test_an_unknown_block_is_refused_with_the_legal_ones() -> None:
    result = CliRunner().invoke(cli.main, ["mutate", "grid_runner"])
    assert result.exit_code == 2
    assert "block is 'grid_runner'; legal: " in result.output and "grid_walker" in result.output


@pytest.mark.parametrize("mutants", [10, mutate_figures.MUTANTS + 1])
def test_committed_figures_are_of_one_number_of_mutants(mutants: int) -> None:
    result = CliRunner().invoke(cli.main, ["mutate", "--update", "--mutants", str(mutants)])
    assert result.exit_code == 2
    assert f"--mutants is {mutants} with --update; legal: 48 (a sample), 200." in result.stderr


def test_an_update_that_falls_short_says_that_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mutate_figures.write(mutate_figures.FILE, [])
    mutate_report.PAGE.parent.mkdir(parents=True)
    shutil.copy(ROOT / mutate_report.PAGE, mutate_report.PAGE)
    short = row(map(str, range(11)), killed=189)
    monkeypatch.setattr(campaign, "benches", lambda: {"walker": None})
    monkeypatch.setattr(campaign, "campaign", lambda *arguments: short)
    result = CliRunner().invoke(cli.main, ["mutate", "walker", "--update"])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-2:] == [
        "walker: its bench notices 94.5% of the mutants, not 95%",
        "docs/figures/mutate.json is written all the same; make test refuses it",
    ]
    assert mutate_figures.read(mutate_figures.FILE) == {"walker": short}
    assert "| walker | 200 | 189 | 94.5% |" in mutate_report.PAGE.read_text()


def test_the_hash_is_of_the_hardware_alone() -> None:
    source = (
        "class Sum(wiring.Component):\n"
        "    a: In(4)\n"
        "    o: Out(5)\n"
        "    def elaborate(self, platform):\n"
        "        m = Module()\n"
        "        m.d.sync += self.o.eq(self.a + 1)\n"
        "        return m\n"
    )

    def made(text: str) -> str:
        names = dict(globals())
        exec(text, names)
        return netlist.rtl_hash(names["Sum"]())

    assert made(source) == made(f"# Moved by a line.\n{source}") != made(source.replace("1", "2"))
