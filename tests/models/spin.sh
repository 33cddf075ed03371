#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Protocols of the engine, as models in Promela, checked by spin: each holds, and no longer holds once
# one of the faults in it (#ifdef BROKEN_...) is switched on. Skipped without spin or gcc.
set -euo pipefail
command -v spin >/dev/null && command -v gcc >/dev/null || { echo "needs spin and gcc" && exit 77; }
models=$PWD/tests/models
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# holds MODEL [-DBROKEN_...]: what its checker says; a search that was cut off says nothing.
holds()
{
    spin "${@:2}" -a "$models/$1.pml" >log || { cat log && exit 1; }
    gcc -O1 -w -DSAFETY -o pan pan.c
    ./pan -m1000000 >log
    if ! grep -q 'errors: [0-9]' log || grep -q 'max search depth too small' log; then
        cat log && exit 1
    fi
    grep -q 'errors: 0' log
}

for file in "$models"/*.pml; do
    model=$(basename "$file" .pml)
    holds "$model" || { echo "$model does not hold:" && cat log && exit 1; }
    echo "$model holds: $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1 states/p' log)"
    for fault in $(grep -oE '\<BROKEN_[A-Z_]+' "$file" | sort -u); do
        if holds "$model" "-D$fault"; then
            echo "$model holds with $fault too: it does not see that fault"
            exit 1
        fi
        echo "$model with $fault: $(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' log)"
    done
done
