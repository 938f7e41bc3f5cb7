"""The system with a soft core: its text, and what becomes of a wrong kernel and a cut interrupt."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from simt_host import read_kernel
from soc import __main__ as command
from soc import firmware
from soc.gpu_verilog import CONFIG
from warploom_spec import WarploomError
from warploom_spec.host_registers import config_crc

#: The kernel's sum, and a difference in its place.
ADD, SUB = (word.to_bytes(4, "little") for word in (0x00C68733, 0x40C68733))
LINES = """warploom: a soft core launches kernels
vector add ok: 256 elements, 11180 clocks, kernel 4309
urgent: accepted 31821, first block 31843, ended 32094, killed 0
low: accepted 27910, first block 32099, ended 65940, killed 1
next: accepted 30415, first block 65959, ended 70280, killed 0
streams ok
100 launches one by one: 92627 clocks, 926 a launch
loop ok: 100 launches, 1080 clocks of the soft core, 28494 to the end
exit 0
"""


def _without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the compiler for RISC-V, and no other program."""
    found = shutil.which

    def which(name: str, *more: Any, **named: Any) -> str | None:
        return None if name == firmware.COMPILER else found(name, *more, **named)

    monkeypatch.setattr(shutil, "which", which)


def test_right_lines_are_right() -> None:
    assert command.wrong_line(LINES) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("vector add ok", "vector add", "line 2 is 'vector add: 256"),
        ("killed 1", "killed 0", "line 4 is 'low: "),
        ("exit 0\n", "", "line 9 is missing; expected: exit 0"),
        ("exit 0\n", "exit 1\n", "line 9 is 'exit 1'"),
        ("exit 0\n", "exit 0\nmore\n", "line 10 is 'more'; expected: none"),
    ],
)
def test_a_wrong_line_is_named(old: str, new: str, said: str) -> None:
    assert (command.wrong_line(LINES.replace(old, new)) or "").startswith(said)


def test_what_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarploomError, match=r"x\.elf: "):
        firmware.kernel_header(tmp_path / "x.elf")


def test_files_of_ones_own_need_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_compiler(monkeypatch)
    with pytest.raises(WarploomError, match="riscv64-unknown-elf-gcc is not installed"):
        firmware.image({}, tmp_path, main=tmp_path / "main.c")
    assert firmware.image({}, tmp_path) == firmware.COMMITTED.read_bytes()


def test_the_committed_program_is_of_the_core_s_configuration() -> None:
    """Its instructions make the CONFIG_CRC that the driver compares: LUI and ADDI."""
    crc = config_crc(CONFIG)
    words = firmware.words_of(firmware.COMMITTED.read_bytes())
    high, low = (crc + 0x800 >> 12) & 0xFFFFF, crc & 0xFFF
    assert any(word & 0x7F == 0x37 and word >> 12 == high for word in words)
    assert any(word & 0x707F == 0x13 and word >> 20 == low for word in words)


@pytest.mark.deep
def test_the_committed_program_launches_kernels(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_compiler(monkeypatch)
    assert command.main([]) == 0
    assert "vector add ok" in capsys.readouterr().out


@pytest.mark.deep
@pytest.mark.skipif(not shutil.which(firmware.COMPILER), reason="no compiler for RISC-V")
def test_the_program_compiled_anew_does_the_same(tmp_path: Path) -> None:
    kept = tmp_path / "main.bin"
    assert command.main(["--keep", str(kept)]) == 0
    assert kept.stat().st_size > 0


@pytest.mark.deep
def test_a_word_of_the_kernel_changed_prints_the_wrong_element(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = firmware.COMMITTED.read_bytes()
    [(_, kernel)] = [piece for piece in read_kernel(firmware.KERNEL, 1 << 18).segments if piece[1]]
    assert data.count(kernel) == 1 and kernel.count(ADD) == 1
    wrong = tmp_path / "main.bin"
    wrong.write_bytes(data.replace(kernel, kernel.replace(ADD, SUB)))
    monkeypatch.setattr(firmware, "COMMITTED", wrong)
    _without_compiler(monkeypatch)
    assert command.main([]) == 1
    assert "element 0 is" in capsys.readouterr().out


@pytest.mark.deep
def test_without_the_interrupt_the_program_says_so_and_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--no-irq"]) == 1
    out = capsys.readouterr().out
    assert "no interrupt came" in out and out.rstrip().endswith("exit 1")
