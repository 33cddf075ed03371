#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Fuzzes the software device's readers of PTX and fat binaries with libFuzzer, under the address sanitizer
# and all of the undefined behaviour sanitizer. What it finds is in WHERE/found; what reaches new code
# stays in WHERE/corpus for the next time.
# usage: fuzz.sh BUILD WHERE SECONDS     BUILD: a build with kernels' PTX, the first inputs
set -euo pipefail
build=$1 where=$2 seconds=$3
cd "$(dirname "$0")/../.."
mkdir -p "$where/corpus" "$where/found" "$where/seeds"

flags=(-std=gnu17 -O1 -g -D_GNU_SOURCE -Isoftcuda -Iinclude -Isrc -pthread
    -fsanitize=fuzzer,address,undefined,nullability -fno-sanitize-recover=all)
mkdir -p "$where/objects"
printf '%s\n' tests/softcuda/fuzz.c softcuda/{driver,exec,ptx}/*.c src/base/signals.c |
    xargs -P "$(nproc)" -I{} sh -c 'file={}; shift 0; clang "$@" -w -c "$file" \
        -o "'"$where"'/objects/$(echo "$file" | tr / .).o"' sh "${flags[@]}"
clang "${flags[@]}" "$where"/objects/*.o -lm -o "$where/fuzz"

# Small kernels of every kind: those of acuda's tests, from their sources, and of the library.
for file in "$build"/ptx/*/*.ptx "$build"/ptx/*.ptx; do
    [ -e "$file" ] && [ "$(stat -c %s "$file")" -lt 20000 ] && cp "$file" "$where/seeds/" || true
done
python3 - "$where/seeds" <<'END'
import ast, os, re, sys
for name in os.listdir("tests/softcuda"):
    if not name.endswith((".c", ".h")):
        continue
    text = open("tests/softcuda/" + name).read()
    strings = re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text)
    for n, found in enumerate(strings):
        parts = re.findall(r'"(?:[^"\\\n]|\\.)*"', found)
        if len(found) < 60 or ";" not in found:
            continue
        body = "".join(ast.literal_eval(p) for p in parts if "\\?" not in p).replace("%%", "%")
        if ".entry" not in body and ".func" not in body:
            body = (".visible .entry k(.param .u64 p) {\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>;"
                    " .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;\n" + body + "\nret;\n}\n")
        if ".version" not in body:
            body = ".version 8.0\n.target sm_80\n.address_size 64\n" + body
        open(f"{sys.argv[1]}/{name}.{n}", "w").write(body)
END
grep -oE '"[A-Za-z0-9_:]+"' softcuda/ptx/ptx_lists.h | sort -u >"$where/words"

exec "$where/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=20000 \
    -dict="$where/words" -artifact_prefix="$where/found/" -print_final_stats=1 "$where/corpus" "$where/seeds"
