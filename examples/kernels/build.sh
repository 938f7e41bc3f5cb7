#!/usr/bin/env bash
# Build every kernel of this folder, and its disassembly, into FOLDER (default: this folder).
# sources.sha256 says of which sources.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
into=$(cd "${1:-$here}" && pwd)
cd "$here/../.."
export LC_ALL=C
for source in "$here"/*.c; do
    name=$(basename "$source" .c)
    riscv64-unknown-elf-gcc @examples/kernels/kernel.flags -o "$into/$name.elf" "$source"
    chmod -x "$into/$name.elf"
    (cd "$into" && riscv64-unknown-elf-objdump -d -M numeric,no-aliases "$name.elf" >"$name.dis")
done
cat "$here"/*.c "$here"/*.h "$here"/kernel.flags "$here"/kernel.ld | sha256sum | cut -c 1-64 \
    >"$into/sources.sha256"
