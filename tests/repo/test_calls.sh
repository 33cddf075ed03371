#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Driver calls keep their numbers, and so their places in acu_driver_table, which programs have compiled in:
# those of driver_calls.txt come first, in this order. A new one goes into ACU_DRIVER_CALLS_ADDED
# (driver_calls.h), and at the end of driver_calls.txt when a version with it is released.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v cc >/dev/null || exit 77
names=$(printf '%s\n' '#include <acuda/driver_calls.h>' '#define NAME(name, ...) CALL: name' \
    'ACU_DRIVER_CALLS(NAME)' | cc -std=c17 -E -P -Iinclude - | grep -o 'CALL: *[A-Za-z0-9_]*' |
    sed 's/CALL: *//')
kept=$(wc -l <tests/repo/driver_calls.txt)
if ! diff -u tests/repo/driver_calls.txt <(head -n "$kept" <<<"$names"); then
    echo "the calls of a released version have other numbers now: add new ones to ACU_DRIVER_CALLS_ADDED"
    exit 1
fi
