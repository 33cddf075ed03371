#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Kernels compile with every compiler of CUDA C++ that is installed: nvcc, and each version of clang. The
# library's own kernels are compiled only by the clang that the build uses. If ptxas is installed, it
# accepts what clang makes.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
PATH=$PATH:/usr/local/cuda/bin
kernels=(examples/*.cu tests/kernels/*.cu tests/op/test_partitions.cu)
tried=0 failed=0

check() { # WHAT COMMAND...
    local what=$1
    shift
    tried=$((tried + 1))
    if ! "$@" >"$out/log" 2>&1; then
        echo "FAILED: $what"
        sed 's/^/    /' "$out/log"
        failed=$((failed + 1))
    fi
}

for kernel in "${kernels[@]}"; do
    [ -f "$kernel" ] || continue
    if command -v nvcc >/dev/null; then
        check "nvcc $kernel" nvcc -ptx -std=c++17 -arch=sm_80 -I include -o "$out/k.ptx" "$kernel"
    fi
    for version in 14 15 16 17 18 19; do
        command -v clang-$version >/dev/null || continue
        check "clang-$version $kernel" clang-$version -x cuda -std=c++17 --cuda-device-only \
            --cuda-gpu-arch=sm_75 -nocudainc -nocudalib -Wno-unknown-cuda-version \
            -Xclang -target-feature -Xclang +ptx63 -Wall -Wextra -Werror \
            -I include -I kernels/cuda -include kernels/prelude.cuh -O3 -S -o "$out/k.ptx" "$kernel"
        if command -v ptxas >/dev/null; then
            check "ptxas $kernel (clang-$version)" ptxas -arch=sm_90 -o "$out/k.cubin" "$out/k.ptx"
        fi
    done
done
echo "$tried compilations, $failed failed"
[ $failed -eq 0 ] || exit 1
[ $tried -gt 0 ] || exit 77
