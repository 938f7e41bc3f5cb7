"""The C driver needs no library: whatever a compiler calls for a copy or a product is not there."""

import shutil
import subprocess

import pytest
from elftools.elf.elffile import ELFFile

from tb.host.c_driver import HOST
from tb.support.deep_values import thorough_but
from warploom_sim.verilog.register_map import c_header
from warploom_spec import preset

CONFIG = preset("tiny")
#: Debian's compiler for RISC-V; where it is not there, the host's, of any kind.
RISCV = shutil.which("riscv64-unknown-elf-gcc")
#: Without multiplications, and with them.
CORES = (("rv32i", "ilp32"), ("rv32im", "ilp32")) if RISCV else (None,)
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
#: All that is not optimised, and all that is made small: where calls come from.
QUICK = [(CORES[0], "-O0"), (CORES[0], "-Os")]
EVERY = [(core, level) for core in CORES for level in LEVELS]
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pic")
#: What a distribution's compiler adds by itself calls the host's library, or its dynamic linker.
HOSTED = ("-fno-pie", "-fno-stack-protector", "-fno-stack-clash-protection", "-U_FORTIFY_SOURCE")


def undefined(folder, core, level, *more):
    """Return the names that the linked driver, with ``more`` sources, does not define."""
    (folder / "warploom_host.h").write_text(c_header(CONFIG, "tiny"))
    target = (RISCV, f"-march={core[0]}", f"-mabi={core[1]}") if core else ("cc", *HOSTED)
    sources = [*sorted(HOST.glob("warploom*.c")), *more]
    linked = folder / "driver.o"
    include = (f"-I{HOST}", f"-I{folder}")
    command = [*target, *WARNINGS, level, *include, "-r", "-nostdlib", *sources, "-o", linked]
    subprocess.run(command, check=True)
    with linked.open("rb") as file:
        symbols = list(ELFFile(file).get_section_by_name(".symtab").iter_symbols())
    assert "warploom_submit_launch" in {symbol.name for symbol in symbols}
    return sorted(s.name for s in symbols if s.name and s["st_shndx"] == "SHN_UNDEF")


@pytest.mark.parametrize(("core", "level"), thorough_but(QUICK, EVERY))
def test_the_driver_has_no_undefined_symbol(core, level, tmp_path):
    assert undefined(tmp_path, core, level) == []


def test_a_struct_that_is_copied_whole_is_seen(tmp_path):
    copy = tmp_path / "copy.c"
    copy.write_text(
        '#include "warploom.h"\n'
        "void copy(warploom_record *to, const warploom_record *from);\n"
        "void copy(warploom_record *to, const warploom_record *from) { to[0] = from[0]; }\n"
    )
    found = undefined(tmp_path, CORES[0], "-Os", copy)
    if RISCV:
        assert found == ["memcpy"]
    else:
        # The host's own instructions may do: then only that it links is shown.
        assert set(found) <= {"memcpy"}
