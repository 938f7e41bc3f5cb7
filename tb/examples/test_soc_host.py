"""A host on the bridge of the system with a soft core: what is refused, and one run of a kernel.

LiteX comes with ``make test-all``, so all but the first test are of its tier.
"""

import os
import random
import re
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from soc import firmware, host_command
from soc.gpu_verilog import CONFIG
from warploom_spec import preset
from warploom_spec.host_registers import IDENTITY, MAP_VERSION, config_crc

#: The kernel's sum, and a difference in its place.
ADD, SUB = (word.to_bytes(4, "little") for word in (0x00C68733, 0x40C68733))
TRIES = 100


def test_without_litex_one_line_says_what_is_missing() -> None:
    program = "import sys; sys.modules['litex'] = None; from soc import host_command; "
    program += "sys.exit(host_command.main(['--port', 'sim']))"
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr == "host: litex is not installed; make soc installs it\n"


def _refused(port: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Return the one line of a run that is refused."""
    assert host_command.main(["--port", port, *more]) == 2
    out, line = capsys.readouterr()
    assert out == "" and line.count("\n") == 1
    return line


@pytest.mark.thorough
def test_a_port_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = _refused(str(tmp_path / "ttyUSB9"), capsys)
    assert "ttyUSB9: No such file or directory; legal: sim, or a serial port" in line


@pytest.fixture
def board() -> Iterator[tuple[str, dict[int, int]]]:
    """Give a port whose other end answers each read by the words of a dict: 0 for others."""
    ours, theirs = os.openpty()
    words: dict[int, int] = {}

    def answer() -> None:
        while len(command := os.read(ours, 6)) == 6:
            word = words.get(int.from_bytes(command[3:]) * 4 & 0xFFFF)
            if word is not None:
                os.write(ours, word.to_bytes(4))

    tty.setraw(theirs)
    threading.Thread(target=answer, daemon=True).start()
    yield os.ttyname(theirs), words
    os.write(theirs, b"end")
    os.close(theirs)


@pytest.mark.thorough
def test_a_rate_that_does_not_exist_is_refused(
    board: tuple[str, dict[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "baud" in _refused(board[0], capsys, "--baud", "-3")


@pytest.mark.thorough
def test_a_port_on_which_nobody_answers_ends(
    board: tuple[str, dict[int, int]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("soc.bridge.PATIENCE", 0.1)
    assert "no answer in 0.1 s" in _refused(board[0], capsys)


@pytest.mark.thorough
def test_a_board_with_another_config_crc_is_refused(
    board: tuple[str, dict[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    port, words = board
    words |= {0: IDENTITY, 4: MAP_VERSION, 8: config_crc(CONFIG) ^ 1}
    line = _refused(port, capsys)
    assert f"CONFIG_CRC reads {config_crc(CONFIG) ^ 1:#010x}; expected: " in line


@pytest.mark.deep
def test_a_kernel_runs_from_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    code = host_command.main(["--port", "sim"])
    out, said = capsys.readouterr()
    assert code == 0, said
    assert re.fullmatch(r"vector add ok: 256 elements as NumPy has them, kernel \d+ cycles\n", out)


@pytest.mark.deep
def test_a_kernel_that_subtracts_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = firmware.KERNEL.read_bytes()
    assert data.count(ADD) == 1
    wrong = tmp_path / "vector_add.elf"
    wrong.write_bytes(data.replace(ADD, SUB))
    monkeypatch.setattr(firmware, "KERNEL", wrong)
    assert host_command.main(["--port", "sim"]) == 1
    assert "host: element 0 is " in capsys.readouterr().err


@pytest.mark.deep
def test_a_core_of_another_configuration_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soc.host_run.CONFIG", preset("default"))
    line = _refused("sim", capsys)
    assert f"CONFIG_CRC reads {config_crc(CONFIG):#010x}; expected: " in line


@pytest.mark.deep
def test_random_bytes_and_broken_commands_stop_nothing() -> None:
    from soc import bridge, host_run, simulation, soc_design
    from warploom_spec import WarploomError

    header = simulation.bench(bridge=True).headers["csr.h"]
    offsets = {
        name: int(offset, 16)
        for name, offset in re.findall(r"CSR_(\w+)_ADDR \(CSR_BASE \+ (0x\w+)L\)", header)
    }
    base = soc_design.CPU_RESET - offsets["CTRL_RESET"]
    draw = random.Random(1)
    with host_run.serial_port("sim") as name, bridge.Bus(name, 115200) as bus:
        # One port serves both: the program's text waits behind the bridge.
        text = ""
        for _ in range(TRIES):
            if not bus.read(base + offsets["UART_XOVER_RXEMPTY"]):
                text += chr(bus.read(base + offsets["UART_XOVER_RXTX"]))
        assert text.startswith("warploom: a soft core launches kernels\n")
        # Longer than the bridge keeps a broken command.
        bus.port.timeout = 3.0
        hole = (0x7000_0000 // 4).to_bytes(4)
        broken = [b"\xff" * 7, b"\x01\x08" + hole, b"\x02\x01" + hole, b"\x02", b"\x01\x01" + hole]
        # No random command writes: it could write LiteX's own reset.
        first = [0, 2, 4, *range(5, 256)]
        broken += [bytes([draw.choice(first), *draw.randbytes(n)]) for n in range(1, 9)]
        for command in broken:
            bus.port.write(command)
            for _ in range(TRIES):
                try:
                    if bus.read(soc_design.CORE_BASE) == IDENTITY:
                        break
                except WarploomError:
                    continue
            else:
                raise AssertionError(f"nothing answers after {command.hex(' ')}")
        host_run.driver_on(bus)
