"""Generated Verilog: the same from run to run, and every port documented."""

import fnmatch
import functools
import gc
import hashlib
import importlib
import json
import pkgutil
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Module, UnusedElaboratable
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

import warploom
from tb.support.deep_values import deep_but
from warploom_sim import cli
from warploom_sim.verilog.blocks import BARE_INDEX_GENERATOR, BLOCKS, Factory, blocks_of
from warploom_sim.verilog.generate import PREFIX, generate
from warploom_sim.verilog.header import fields, packets, ports
from warploom_spec import PRESETS, Config, WarploomError, preset

# One worker, so that what all these tests read is generated once.
pytestmark = pytest.mark.xdist_group("verilog")
Generated = Callable[[str], Path]
DOCS = Path(__file__).parents[3] / "docs"
#: Blocks that share the page of another.
PAGES = {"index_unpacker": "index_packer"}


def page_of(block: str) -> Path:
    """Return a block's page, in whichever room it is."""
    (page,) = DOCS.rglob(f"{PAGES.get(block, block)}.md")
    return page


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    """Return where every block of a preset is: written through the command when first asked for."""

    @functools.cache
    def folder_of(config: str) -> Path:
        folder = tmp_path_factory.mktemp("verilog")
        arguments = ["verilog", "--config", config, "--out", str(folder)]
        result = CliRunner().invoke(cli.main, [*arguments, "--json", str(folder / "figures.json")])
        assert result.exit_code == 0, result.output
        return folder

    return folder_of


#: By default the smaller one: the same code writes both.
every_preset = pytest.mark.parametrize("config", deep_but(["tiny"], ["tiny", "default"]))


#: Every configuration has the same bus.
CONFIG_INDEPENDENT = ("bus_port",)
#: Gives a core's bus other names.
WRAPPER = "axil_pins"


def members(factory: Factory, config: Config) -> list[str]:
    """Return the names of a block's ports and streams; the block is not elaborated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        component = factory(config)
        names = list(component.signature.members)
        del component
        gc.collect()
    return names


def test_every_component_of_the_package_is_a_block_or_a_part_of_one() -> None:
    """Each room hands out its blocks, no more; a component that is none is used by another file."""
    handed_out, components, used = set(), {}, set()
    rooms = [m.name for m in pkgutil.iter_modules(warploom.__path__, "warploom.") if m.ispkg]
    for room in rooms:
        package = importlib.import_module(room)
        handed_out |= {*getattr(package, "__all__", ())}
        for module in pkgutil.iter_modules(package.__path__):
            named = "".join(part.capitalize() for part in module.name.split("_"))
            inside = importlib.import_module(f"{room}.{module.name}")
            used |= {
                each.__name__
                for each in vars(inside).values()
                if isinstance(each, type) and each.__module__ != inside.__name__
            }
            if issubclass(getattr(inside, named, object), wiring.Component):
                components[named] = module.name
    assert handed_out == {"".join(part.capitalize() for part in name.split("_")) for name in BLOCKS}
    assert {components[name] for name in components.keys() - used} <= {*BLOCKS, WRAPPER}


@pytest.mark.thorough
@every_preset
def test_each_preset_has_each_block_and_figures(config: str, generated: Generated) -> None:
    folder = generated(config)
    written = {str(path.relative_to(folder)) for path in (folder / config).iterdir()}
    names = [
        *(f"{block}.v" for block in blocks_of(preset(config))),
        "front_end_packed.v",
        "front_end_bench.v",
    ]
    names += ["front_end_packed.v", "front_end_bench.v"]
    names += ["warploom_pkg.sv", "warploom_sm.h", "warploom_sm.json"]
    names += ["warploom.core", "Bender.yml"]
    assert written == {f"{config}/{name}" for name in names}
    files = json.loads((folder / "figures.json").read_text())["files"]
    assert {file["path"] for file in files} == {str(folder / name) for name in written}
    for file in files:
        content = Path(file["path"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["lines"] == content.count(b"\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "blocks",
    [("front_end",), pytest.param(blocks_of(preset("tiny")), marks=pytest.mark.deep)],
    ids=len,
)
def test_verilog_is_the_same_to_the_byte_from_run_to_run(
    generated: Generated, tmp_path: Path, blocks: tuple[str, ...]
) -> None:
    generate(list(blocks), ["tiny"], tmp_path)
    again = {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()}
    assert again
    assert again == {name: (generated("tiny") / "tiny" / name).read_bytes() for name in again}


def test_a_file_that_cannot_be_written_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "tiny").write_text("no folder")
    arguments = ["verilog", "grid_walker", "--config", "tiny", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 3
    said = f"Error: generating {tmp_path}/tiny/grid_walker.v failed:\n[Errno 17] File exists: "
    assert said in result.stderr and "Traceback" not in result.stderr


def test_a_configuration_of_ones_own_has_a_folder_of_its_own(tmp_path: Path) -> None:
    arguments = ["verilog", "block_dispatcher", "--config", "tiny", "--out", str(tmp_path)]
    changes = ["--policy", "freed_first", "--reclaim", "in_order", "--set", "sms=4"]
    figures = tmp_path / "figures.json"
    result = CliRunner().invoke(cli.main, [*arguments, *changes, "--json", str(figures)])
    assert result.exit_code == 0, result.output
    name = "tiny-sms_4-policy_freed_first-reclaim_in_order"
    (path,) = tmp_path.rglob("*.v")
    assert path == tmp_path / name / "block_dispatcher.v"
    file, package, *_ = json.loads(figures.read_text())["files"]
    assert (file["config"], file["path"]) == (name, str(path))
    assert (package["config"], package["path"]) == (name, str(path.parent / "warploom_pkg.sv"))
    assert "SMS = 4;" in Path(package["path"]).read_text()
    text = path.read_text()
    assert max(map(len, header(path).splitlines())) <= 100
    assert f"\n// Configuration {name}; generated by " in text
    assert "\n//   - policy freed_first: " in text
    assert "\n//   - reclaim in_order: " in text
    # The fourth SM and the order table.
    assert {"report__3__payload", "order_swap__payload"} <= {*declared(text, PREFIX + path.stem)}


def test_what_no_block_dispatcher_is_made_for_is_refused(tmp_path: Path) -> None:
    arguments = ["verilog", "--config", "tiny", "--out", str(tmp_path), "--set", "sms=3"]
    arguments += ["--reclaim", "in_order", "block_dispatcher"]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 2
    said = "Error: sms x block_slots is 12; legal for BlockDispatcher with reclaim in_order: a"
    assert result.stderr.startswith(f"{said} power of two, 2 or more; blocks that are there: ")
    assert "block_dispatcher" not in result.stderr and not [*tmp_path.iterdir()]


def test_without_an_index_memory_there_are_no_blocks_for_indices(tmp_path: Path) -> None:
    arguments = ["verilog", "--config", "tiny", "--out", str(tmp_path / "rtl")]
    arguments += ["--set", "index_memory_warps=0"]
    result = CliRunner().invoke(cli.main, [*arguments, "index_memory"])
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: block is 'index_memory'; legal with index_memory_warps = 0: launch_check,"
        " grid_walker, block_dispatcher, kernel_queue,"
        " record_queue, launch_path, bus_port, mailbox, loop_expander, execution_unit, task_units,"
        " host_registers, offer_queue, resource_ranges, block_to_warps, block_at_a_time,"
        " front_end\n"
    )
    assert not (tmp_path / "rtl").exists()
    result = CliRunner().invoke(cli.main, [*arguments, "launch_check"])
    assert result.exit_code == 0, result.output
    (path,) = tmp_path.rglob("*.v")
    assert "index_address" not in path.read_text()


def test_a_refused_setting_writes_nothing(tmp_path: Path) -> None:
    arguments = ["verilog", "grid_walker", "--out", str(tmp_path / "rtl"), "--policy", "first_fit"]
    for setting, message in (
        ("sms=0", "sms is 0; legal: 1 to 256"),
        ("policy=round_robin", "policy is set twice: to round_robin and first_fit"),
    ):
        result = CliRunner().invoke(cli.main, [*arguments, "--set", setting])
        assert (result.exit_code, result.stderr) == (2, f"Error: {message}\n")
    assert not (tmp_path / "rtl").exists()


@pytest.mark.thorough
def test_verilog_names_no_place_of_the_machine(generated: Generated) -> None:
    root = str(Path(__file__).parents[3])
    written = list(generated("tiny").rglob("*.v"))
    assert written and not [path for path in written if root in path.read_text()]


def declared(text: str, top: str) -> dict[str, tuple[str, int]]:
    """Return the ports that a module declares, from its Verilog alone."""
    body = re.search(rf"^module {top}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL)
    assert body
    found = re.findall(
        # A port that is named by a keyword of Verilog is escaped: a backslash, a space behind.
        r"^  (input|output)(?: reg)?(?: \[(\d+):0\])? \\?(\w+) ?;",
        body.group(),
        re.MULTILINE,
    )
    return {name: (flow.removesuffix("put"), int(high or 0) + 1) for flow, high, name in found}


@pytest.mark.thorough
@every_preset
@pytest.mark.parametrize("block", blocks_of(preset("tiny")))
def test_the_header_documents_every_port(block: str, config: str, generated: Generated) -> None:
    text = (generated(config) / config / f"{block}.v").read_text()
    rows = re.findall(r"^//   (in|out) +(\d+)  (\w+)", text, re.MULTILINE)
    said = {name: (flow, int(bits)) for flow, bits, name in rows if int(bits)}
    assert said == declared(text, PREFIX + block)
    assert text.startswith(f"// {PREFIX}{block}: ")


def header(path: Path) -> str:
    """Return the comment at a file's head."""
    return path.read_text().partition("\n/*")[0] + "\n"


@pytest.mark.thorough
@every_preset
@pytest.mark.parametrize("block", blocks_of(preset("tiny")))
def test_the_header_says_what_each_field_means(
    block: str, config: str, generated: Generated
) -> None:
    text = header(generated(config) / config / f"{block}.v")
    assert max(map(len, text.splitlines())) <= 100
    assert not re.findall(r"^// +\[\d+:\d+\] \w+ *$", text, re.MULTILINE)
    depends = "\n// Parameters that this block depends on:\n//   - " in text
    assert depends != ("\n// The same in every configuration.\n" in text)
    assert depends != (block in CONFIG_INDEPENDENT)
    page = re.search(r": docs/([\w/]+)\.md, docs/conventions\.md\.$", text, re.MULTILINE)
    assert page and DOCS / f"{page[1]}.md" == page_of(block)


def test_a_package_that_cannot_be_written_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "tiny" / "warploom_pkg.sv").mkdir(parents=True)
    arguments = ["verilog", "grid_walker", "--config", "tiny", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 3
    assert f"Error: writing {tmp_path}/tiny/warploom_pkg.sv failed:\n" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("config", PRESETS)
def test_a_packet_is_known_by_its_fields(config: str) -> None:
    known = [tuple((f.name, f.bits) for f in p.present) for p in packets(preset(config))]
    assert len(known) == len(set(known)) >= 20


@pytest.mark.thorough
def test_the_header_has_the_numbers_of_its_block(generated: Generated) -> None:
    text = header(generated("tiny") / "tiny" / "block_dispatcher.v")
    for said in (
        "//   - sms 2: Streaming multiprocessors behind the dispatcher.",
        "//   - block_slots 4: Blocks that one SM holds.",
        "//   - warp_slots 16: Warps that one SM holds.",
        "//   - grid_bits 16 8 8: Width of each grid dimension;",
        "//   - kill_timeout 1024: Cycles after which an SM that has not reported a killed",
        "//   0 FINISHED, 1 KILLED, 2 DRAINED, 3 SKIPPED, 4 FAILED",
        "//   15 NO_SM                   every SM is lost",
    ):
        assert f"\n{said}" in text
    assert "- policy round_robin: Placement" in text
    assert "- reclaim out_of_order: Reclaim" in text


@pytest.mark.thorough
def test_the_header_has_nothing_of_other_blocks(generated: Generated) -> None:
    text = header(generated("tiny") / "tiny" / "grid_walker.v")
    assert re.findall(r"^//   - (.*?) ", text, re.MULTILINE) == ["grid_bits"]
    assert not re.search("Latencies|Fates|Error codes", text)
    text = header(generated("tiny") / "tiny" / "index_memory.v")
    assert "//   - index_memory_warps 64: Warps that the index memory holds" in text
    assert "ConfigFilter remembers" not in text
    text = header(generated("tiny") / "tiny" / "index_generator.v")
    assert "Error codes" in text and "Fates" not in text and "BlockDispatcher" not in text
    # Latencies are worked out together, some from the number of SMs: none of this block's.
    assert "- sms" not in text and "block_slots" not in text


@pytest.mark.parametrize(
    ("block", "config"),
    [(block, config) for config in PRESETS for block in blocks_of(preset(config))],
)
def test_the_page_documents_every_port(block: str, config: str) -> None:
    """On the block's page, in the first column of its table of ports; a star stands for a rest."""
    names = page_ports(page_of(block).read_text())
    there = members(BLOCKS[block], preset(config))
    assert not [m for m in there if not any(fnmatch.fnmatchcase(m, name) for name in names)]


@pytest.mark.parametrize("page", sorted({PAGES.get(block, block) for block in BLOCKS}))
def test_the_page_names_no_port_that_is_not_there(page: str) -> None:
    factories = [BLOCKS[block] for block in BLOCKS if PAGES.get(block, block) == page]
    # Ports that only some variants have.
    factories += [BARE_INDEX_GENERATOR] * (page == "index_generator")
    variants = ({}, {"policy": "freed_first"}, {"loop_templates": 8})
    configs = [replace(preset("tiny"), **variant) for variant in variants]
    there = {name for make in factories for config in configs for name in members(make, config)}
    names = page_ports(page_of(page).read_text())
    assert names and not [name for name in names if not fnmatch.filter(there, name)]


def page_ports(page: str) -> set[str]:
    """Return what the first column of a page's tables of ports names."""
    names: set[str] = set()
    inside = False
    for line in page.splitlines():
        first = line.split("|")[1].strip() if line.startswith("|") else ""
        inside = bool(first) and (inside or first == "port")
        names.update(re.findall(r"`(\w+\*?)`", first) if inside else ())
    return names


def test_fields_of_nested_packets_have_their_places() -> None:
    inner = data.StructLayout({"a": 3, "b": 5})
    outer = data.StructLayout({"x": 2, "y": inner, "z": data.ArrayLayout(4, 2)})
    assert list(fields(outer)) == [
        ("x", 0, 2),
        ("y.a", 2, 3),
        ("y.b", 5, 5),
        ("z.0", 10, 4),
        ("z.1", 14, 4),
    ]
    assert not list(fields(8))


class Plain(wiring.Component):
    """A component with one port each way."""

    a: In(3)
    b: Out(data.StructLayout({"c": 4}))

    def elaborate(self, platform: object) -> Module:
        del platform
        return Module()


def test_ports_have_their_names_in_verilog() -> None:
    assert [(name, flow) for name, flow, _ in ports(Plain())] == [("a", "in"), ("b", "out")]


def test_unknown_names_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(WarploomError, match="block is 'nothing'; legal: launch_check"):
        generate(["grid_walker", "nothing"], ["tiny"], tmp_path)
    with pytest.raises(WarploomError, match="config is 'huge'; legal: tiny, default, large"):
        generate(["grid_walker"], ["tiny", "huge"], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_yosys_is_named_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("YOSYS", "no_such_yosys")
    with pytest.raises(WarploomError, match=r"Yosys comes with: pip install 'warploom\[sim\]'$"):
        generate(["grid_walker"], ["tiny"], tmp_path)
    assert not list(tmp_path.rglob("*.v"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "tiny"], "5 files"),
        (["--config", "tiny", "--config", "large"], "10 files, minutes for those of large"),
    ],
)
def test_where_no_bar_shows_the_command_says_what_it_begins(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("warploom_sim.verilog.generate.generate", lambda *_, **__: [])
    blocks = ["grid_walker", "index_packer"]
    result = CliRunner().invoke(
        cli.main, ["verilog", *blocks, *arguments, "--out", str(tmp_path / "v")]
    )
    assert (result.exit_code, result.stderr) == (0, f"generating Verilog: {said}\n")
