#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Sizes that were promised: the demo has at most 250 lines, saxpy's main at most 25.
set -euo pipefail
status=0
demo=$(wc -l <examples/mlp.c)
main=$(awk '/^int main/ { inside = 1 } inside { n++ } /^}/ { inside = 0 } END { print n }' examples/saxpy.c)
[ "$demo" -le 250 ] || { echo "examples/mlp.c has $demo lines"; status=1; }
[ "$main" -le 25 ] || { echo "the main of examples/saxpy.c has $main lines"; status=1; }
exit $status
