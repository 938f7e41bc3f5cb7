#!/usr/bin/env bash
# Build every program at -O0 to -O3 into the folder built/, the same to the byte on each machine.
#
#   tb/binaries/build.sh [PROGRAM...]
#
# Needs nvcc 13. Names of temporary files and folders would go into the programs: compiling happens
# in a folder of its own whose name is replaced, and intermediate files are named after the source.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.cu "$here"/*.cuh "$work"
mkdir -p "$here/built"
cd "$work"
sources=("$@")
[ $# -gt 0 ] || for source in *.cu; do sources+=("${source%.cu}"); done
for source in "${sources[@]}"; do
    for level in 0 1 2 3; do
        mkdir -p kept
        # Without device linking no path of the toolkit gets in.
        nvcc "-O$level" -arch=sm_75 -cudart shared --no-device-link --keep --keep-dir kept \
            --frandom-seed "$source" -Xcompiler "-ffile-prefix-map=$work=." \
            -Xlinker --build-id=none -o "$source-O$level" "$source.cu"
        rm -rf kept
        cp "$source-O$level" "$here/built/$source-O$level"
    done
    echo "built $source" >&2
done
