#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The command acuda: each subcommand, its exit status, its refusals; and what doctor says of machines on
# which something is wrong, by drivers and folders that pose as such.
# usage: test_command.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd)
acuda=$build/bin/acuda
[ -x "$acuda" ] || { echo "the command was not built (json-c is missing)"; exit 77; }
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$build/CMakeCache.txt" 2>/dev/null && exit 77 # programs of its own
[ -e "$build/lib/softcuda/libcuda.so.1" ] || exit 77 # without the software device
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ACUDA_DRIVER ACUDA_ALLOW_SOFTWARE ACUDA_CACHE_DIR ACUDA_CLANG
here=$PWD
cd "$work"

# expect STATUS WORDS COMMAND...: the exit status, and (separated by |) what it prints on either stream
expect()
{
    local want=$1 words=$2 status=0 word
    "${@:3}" >out 2>&1 </dev/null || status=$?
    [ $status = "$want" ] || { echo "status $status, not $want: ${*:3}" && cat out && exit 1; }
    while [ -n "$words" ]; do
        word=${words%%|*}
        grep -qF -- "$word" out || { echo "no '$word' from: ${*:3}" && cat out && exit 1; }
        [ "$words" = "$word" ] && break
        words=${words#*|}
    done
}

# ---- the command itself ----
expect 0 'devices|doctor|bench|run|compile|soft|trace' "$acuda" --help
expect 0 'acuda 0.' "$acuda" --version
expect 2 'usage' "$acuda"
expect 2 'no command "nothing"' "$acuda" nothing
for command in devices doctor bench run compile soft trace; do
    expect 0 'Usage: acuda '$command "$acuda" $command --help
    expect 2 'unrecognized option' "$acuda" $command --nonsense
done

# ---- devices ----
expect 0 'software: CUDA|multiprocessors' "$acuda" devices --driver software
expect 0 '"capability"|"software":true' "$acuda" devices --driver software --json
SOFTCUDA_DEVICES=2 expect 0 '  1  ' "$acuda" devices -d software
# Who uses a device: processes that have its file open, by what the kernel says of its place.
mkdir -p users/proc/{77,78,self}/fd users/proc/driver/nvidia/gpus/0000:02:00.0
printf 'Model: \t\t some\nDevice Minor: \t 3\n' >users/proc/driver/nvidia/gpus/0000:02:00.0/information
ln -s /dev/nvidia3 users/proc/77/fd/5
ln -s /dev/nvidia33 users/proc/78/fd/5
echo trainer >users/proc/77/comm
echo other >users/proc/78/comm
SOFTCUDA_DEVICES=2 expect 0 '  1  |; used by trainer (77)' "$acuda" devices -d software --root users
SOFTCUDA_DEVICES=2 expect 0 '"pid":77|"users":[' "$acuda" devices -d software --root users --json
expect 1 'nothing.so' "$acuda" devices --driver ./nothing.so
fake=$build/tests/driver/fake
if [ -e "$fake/old/libcuda.so.1" ]; then
    expect 1 'CUDA 11.2' "$acuda" devices --driver "$fake/old/libcuda.so.1"
fi

# ---- doctor ----
# A machine on which nothing is wrong, as far as files go.
mkdir -p good/dev/shm good/proc/driver/nvidia
touch good/dev/nvidiactl good/dev/nvidia0 good/dev/nvidia-uvm good/proc/driver/nvidia/version
expect 0 'ok    driver|ok    copy|ok    kernel|ok    graph|acuda works here' \
    "$acuda" doctor --driver software --root good
expect 0 '"works":true|"check":"kernel"' "$acuda" doctor -d software --root good --json
if command -v python3 >/dev/null; then
    "$acuda" doctor -d software -r good --json | python3 -c '
import json, sys
all = json.load(sys.stdin)
assert all["works"] and all["failures"] == 0
assert {"driver", "copy", "kernel", "graph"} <= {c["check"] for c in all["checks"]}'
fi
# Nobody can write there, or there is none: NCCL would fail.
mkdir -p no_shm/dev
expect 0 'note  /dev/shm|--ipc=host' "$acuda" doctor -d software --root no_shm
expect 1 'noted' "$acuda" doctor -d software --root no_shm --strict
# No compiler.
ACUDA_CLANG=/nowhere/clang expect 0 'note  clang|/nowhere/clang|apt-get install clang' \
    "$acuda" doctor -d software
# NVRTC that is none, and one that others can change.
touch libnvrtc.so
ACUDA_NVRTC=$work/libnvrtc.so expect 0 'note  NVRTC|can be opened' "$acuda" doctor -d software
# Limits, and a cache that others can write to.
expect 0 'note  limits|ulimit -n' bash -c 'ulimit -n 100; exec "$@"' - "$acuda" doctor -d software
mkdir -m 777 open_cache && chmod 777 open_cache
ACUDA_CACHE_DIR=$work/open_cache expect 0 'note  cache|everybody can write' "$acuda" doctor -d software
# Drivers.
if [ -e "$fake/old/libcuda.so.1" ]; then
    expect 1 'fail  driver|11.2|11.4 (470) or newer' "$acuda" doctor -d "$fake/old/libcuda.so.1"
    expect 1 'fail  driver|CUDA_ERROR_UNKNOWN' "$acuda" doctor -d "$fake/init_fails/libcuda.so.1"
    expect 1 'fail  driver|not a CUDA driver' "$acuda" doctor -d "$fake/not_a_driver/libcuda.so.1"
    expect 1 'fail  driver' "$acuda" doctor -d "$fake/damaged/libcuda.so.1"
    expect 1 'fail  driver' "$acuda" doctor -d "$fake/no_device/libcuda.so.1"
    # A driver that works as far as finding it goes, and fails when it is used.
    expect 1 'fail  device 0' "$acuda" doctor -d "$fake/working/libcuda.so.1"
fi
expect 1 'fail  driver|nothing.so' "$acuda" doctor -d ./nothing.so
expect 1 'fail  driver|say gpu, software, or the path' "$acuda" doctor -d nothing
if grep -q 'reinstall' out; then
    echo 'a wrong word is no broken driver' && cat out && exit 1
fi
# The kernel has no driver; no device files; files that this user may not open (root may open all).
mkdir -p empty/dev/shm module/dev/shm module/proc/driver/nvidia
touch module/proc/driver/nvidia/version
if [ -e "$fake/init_fails/libcuda.so.1" ]; then
    broken=$fake/init_fails/libcuda.so.1
    expect 1 'modprobe nvidia' "$acuda" doctor -d "$broken" --root empty
    expect 1 'nvidia-modprobe' "$acuda" doctor -d "$broken" --root module
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        chmod 600 good/dev/nvidia*
        chmod 755 "$work"
        if setpriv --reuid 65533 --clear-groups test -r "$broken" -a -x "$acuda"; then
            expect 1 'may not open /dev/nvidia' setpriv --reuid 65533 --clear-groups \
                "$acuda" doctor -d "$broken" --root "$work/good"
        fi
    fi
fi
# An instance of a GPU in MIG mode: the stand-in, under such a name of the same length.
mkdir mig
LC_ALL=C sed 's/Software CUDA device/NVIDIA H100 MIG 1g.5/g' "$build/lib/softcuda/libcuda.so.1" \
    >mig/libcuda.so.1
expect 0 'note  device 0|MIG mode' "$acuda" doctor -d ./mig/libcuda.so.1
chmod 777 mig
expect 1 'fail  driver|everybody can write|change the owner or the mode' \
    "$acuda" doctor -d ./mig/libcuda.so.1
# A driver that crashes when it is started.
if command -v gcc >/dev/null; then
    gcc -shared -fPIC -x c -o ./crash.so - <<'END'
int cuDriverGetVersion(int *version) { *version = 12000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuInit(unsigned flags) { (void)flags; __builtin_trap(); }
END
    expect 1 'fail  driver|ended with signal|reinstall' "$acuda" doctor -d ./crash.so
    expect 1 'the driver crashed' "$acuda" devices -d ./crash.so
    # Drivers that do not start, and say why.
    gcc -shared -fPIC -x c -o ./says.so - <<'END'
#include <stdlib.h>
int cuDriverGetVersion(int *version) { *version = 12000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuInit(unsigned flags) { (void)flags; return atoi(getenv("SAYS")); }
END
    SAYS=802 expect 1 'fail  driver|nvidia-fabricmanager' "$acuda" doctor -d ./says.so
    SAYS=803 expect 1 'fail  driver|restart the machine' "$acuda" doctor -d ./says.so
    SAYS=804 expect 1 'fail  driver|cuda-compat' "$acuda" doctor -d ./says.so
    SAYS=100 CUDA_VISIBLE_DEVICES='' expect 1 'fail  driver|may hide all GPUs' "$acuda" doctor -d ./says.so
    # NVRTC that can be opened, and compiles nothing.
    gcc -shared -fPIC -x c -o ./rtc.so - <<'END'
#include <stddef.h>
#include <string.h>
static const char text[] = "nvrtc: error: failed to open libnvrtc-builtins.so.12.4";
int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 4; return 0; }
int nvrtcCreateProgram(void **p) { *p = (void *)text; return 0; }
int nvrtcDestroyProgram(void **p) { *p = NULL; return 0; }
int nvrtcCompileProgram(void) { return 7; }
int nvrtcGetProgramLogSize(void *p, size_t *bytes) { (void)p; *bytes = sizeof text; return 0; }
int nvrtcGetProgramLog(void *p, char *to) { (void)p; memcpy(to, text, sizeof text); return 0; }
int nvrtcGetPTXSize(void) { return 1; }
int nvrtcGetPTX(void) { return 1; }
int nvrtcAddNameExpression(void) { return 0; }
int nvrtcGetLoweredName(void) { return 1; }
int nvrtcGetNumSupportedArchs(int *count) { *count = 1; return 0; }
int nvrtcGetSupportedArchs(int *archs) { *archs = 75; return 0; }
END
    ACUDA_NVRTC=$work/rtc.so expect 1 'fail  NVRTC|failed to open libnvrtc-builtins|ACUDA_NVRTC' \
        "$acuda" doctor -d software --root good
fi
# No memory; a kernel that fails.
SOFTCUDA_FAULTS='DevicePrimaryCtxRetain=out-of-memory' \
    expect 1 'fail  device 0|nvidia-smi' "$acuda" doctor -d software
SOFTCUDA_FAULTS='LaunchKernel=trap' expect 1 'fail  kernel' "$acuda" doctor -d software

# ---- bench ----
expect 0 'by hand|launch|wait asleep|copy inside|software device' \
    "$acuda" bench -d software -s 1 --html page.html --svg plots.svg
grep -q '<svg' page.html && grep -q '</svg>' plots.svg && grep -q '"rows"' <(sed 's/&quot;/"/g' page.html)
expect 2 'from 1 to 120, not "0"' "$acuda" bench -s 0
expect 1 'nowhere/page.html' "$acuda" bench -d software --html nowhere/page.html
expect 1 'opening the device' "$acuda" bench -d software --device 9
SOFTCUDA_FAULTS='LaunchKernel=trap' expect 1 'acuda: ' "$acuda" bench -d software -s 1
if command -v python3 >/dev/null; then
    "$acuda" bench -d software -s 1 --json | python3 -c '
import json, sys
all = json.load(sys.stdin)
assert all["machine"]["software"] and len(all["rows"]) >= 10, all
for row in all["rows"]:
    for side in row["by_hand"], row["acuda"]:
        assert side["samples"] >= 16 and side["p50"] > 0 and side["p99"] > 0, row
    times = row["acuda"]["p50"] / row["by_hand"]["p50"]
    assert abs((times if row["unit"] == "us" else 1 / times) / row["times_the_floor"] - 1) < 1e-6, row
    assert (row["acuda"]["p99"] >= row["acuda"]["p50"]) == (row["unit"] == "us") or \
        row["acuda"]["p99"] == row["acuda"]["p50"], row'
    python3 -c '
import xml.etree.ElementTree as tree
titles = [t.text for t in tree.parse("plots.svg").iter("{http://www.w3.org/2000/svg}title")]
assert any(t and t.startswith("replay, acuda: ") for t in titles), titles'
fi

# ---- run ----
cat >saxpy.cu <<'END'
extern "C" __global__ void saxpy(float *y, float a, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
extern "C" __global__ void iota(int *y) { y[threadIdx.x] = threadIdx.x + OFFSET; }
END
cat >one.cu <<'END'
extern "C" __global__ void fill(unsigned char *y, unsigned char v) { y[threadIdx.x] = v; }
END
if "$acuda" compile --arch 75 one.cu 2>/dev/null; then
    export ACUDA_ALLOW_SOFTWARE=1
    expect 0 ' 7 7 7 7' "$acuda" run -d software one.cu out:u8:4 u8:7 -b 4 -g 1
    expect 0 '255 255 255 255' "$acuda" run -d software one.cu out:u8:2x2=y.npy u8:255 -b 4 -g 1
    expect 1 'has several kernels|saxpy, iota' "$acuda" run -d software -D OFFSET=5 saxpy.cu
    echo '__global__ void none();' >none.cu
    expect 1 'it has no kernel' "$acuda" run -d software none.cu
    expect 0 'inout:f32:1,2,-3: 5 9 -3' "$acuda" run -d software -D OFFSET=0 -k saxpy saxpy.cu \
        inout:f32:1,2,-3 f32:2 in:f32:2,3.5,0 i32:3
    expect 0 ' 7 7' "$acuda" run -d software one.cu inout:u8:1,2=l.npy u8:7 -b 2 -g 1
    expect 0 ' 5 6 7 ...' "$acuda" run -d software -D OFFSET=5 -k iota -p 3 -b 8 saxpy.cu out:i32:8=x.npy
    expect 1 'did you mean iota?' "$acuda" run -d software -D OFFSET=5 -k itoa saxpy.cu out:i32:8
    # A result is an input again.
    expect 0 ' 0 6 7 8 9 10 11 12' "$acuda" run -d software -D OFFSET=0 -k iota -g 1 -b 1 saxpy.cu \
        inout:x.npy
    expect 1 'OFFSET' "$acuda" run -d software -k iota saxpy.cu out:i32:8
    expect 1 'arguments|saxpy' "$acuda" run -d software -D OFFSET=5 -k saxpy saxpy.cu out:f32:8
    if command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
        python3 -c 'import numpy as n
n.save("x.npy", n.arange(6, dtype="f4").reshape(2, 3)); n.save("y.npy", n.ones((2, 3), "f4"))
n.save("f.npy", n.asfortranarray(n.ones((2, 3), "f4"))); n.save("c.npy", n.ones(2, "S3"))
n.save("z.npy", n.array([1 - 2j, 0.5j], "c16"))'
        expect 0 '1 3 5 7 9 11' "$acuda" run -d software -D OFFSET=0 -k saxpy saxpy.cu \
            inout:y.npy=r.npy f32:2 in:x.npy i32:6
        python3 -c 'import numpy as n
r = n.load("r.npy"); assert r.dtype == "f4" and r.shape == (2, 3) and r[1, 2] == 11, r'
        expect 0 ' 1-2j 0+0.5j' "$acuda" run -d software one.cu inout:z.npy=z2.npy u8:0 -b 1 -g 1
        expect 0 ' 0+0j 0+0j' "$acuda" run -d software one.cu out:c64:2=z3.npy u8:0 -b 16 -g 1
        python3 -c 'import numpy as n
assert (n.load("z2.npy") == n.load("z.npy")).all() and n.load("z3.npy").dtype == "c8"'
        expect 2 "Fortran" "$acuda" run one.cu in:f.npy
        expect 2 "S3'; they can be" "$acuda" run one.cu in:c.npy
        : >empty.npy
        expect 2 'empty.npy: the file is empty' "$acuda" run one.cu in:empty.npy
    fi
    # ---- compile ----
    mkdir -m 700 cache
    expect 0 'written to the cache' "$acuda" compile --cache cache --arch 75 one.cu
    expect 0 'in the cache already' "$acuda" compile --cache cache --arch 75 one.cu
    expect 0 '.entry fill' "$acuda" compile --arch 75 -o - one.cu
    expect 1 'error|OFFSET' "$acuda" compile --arch 75 saxpy.cu
    expect 1 'everybody can write' "$acuda" compile --cache open_cache --arch 75 one.cu
fi
for bad in in:f32: in:f32:1,,2 inout:u8:256 in:f16:1 in:i32:1.5 i8:128 u8:-1 bool:2 i32:x f32: out:f32:0 out:f33:2 out:f32:2x nothing in:nowhere.npy; do
    expect 2 '' "$acuda" run one.cu "$bad"
done
expect 2 'is no size' "$acuda" run -b 0 one.cu
expect 1 'nowhere.cu' "$acuda" run -d software nowhere.cu
expect 2 'which file' "$acuda" compile

# ---- soft ----
program=$build/tests/softcuda/standin_program
if [ -x "$program" ]; then
    expect 0 'Software CUDA device|right' "$acuda" soft -- "$program"
    expect 0 'step ' "$acuda" soft --seed 1 --trace /dev/stdout -- "$program"
    expect 1 'CUDA_ERROR_LAUNCH_FAILED' "$acuda" soft --faults LaunchKernel=trap -- "$program"
fi
expect 3 '' "$acuda" soft -- bash -c 'exit 3'
expect 0 'software 4 2' "$acuda" soft --devices 4 -e SOFTCUDA_RACES=2 -- \
    bash -c 'echo "$ACUDA_DRIVER $SOFTCUDA_DEVICES $SOFTCUDA_RACES"'
expect 0 'reasons 1 1' "$acuda" soft --report reasons --exact --races -- \
    bash -c 'echo $SOFTCUDA_REPORT $SOFTCUDA_EXACT $SOFTCUDA_RACES'
expect 2 'which program' "$acuda" soft
expect 2 'SOFTCUDA_NAME=VALUE' "$acuda" soft -e PATH=x -- true
expect 1 'nowhere' "$acuda" soft -- ./nowhere

# ---- trace ----
# One that acuda wrote (doctor copies, and launches a kernel), and one of which the sums are known.
ACUDA_TRACE=d.pftrace expect 0 'acuda works here' "$acuda" doctor -d software --root good
expect 0 'device 0: busy|on the device|Waits|Copies|Threads' "$acuda" trace d.pftrace
expect 0 '"stages"|"operations"' "$acuda" trace --json d.pftrace
head -c "$(($(stat -c %s d.pftrace) - 3))" d.pftrace >cut.pftrace # its process was killed
expect 0 'device 0: busy' "$acuda" trace cut.pftrace
expect 2 'name a trace' "$acuda" trace
expect 2 'from 1 on' "$acuda" trace -n 0 d.pftrace
expect 1 'nowhere' "$acuda" trace ./nowhere
expect 1 'no trace' "$acuda" trace saxpy.cu
: >empty.pftrace
expect 1 'empty.pftrace: the file is empty' "$acuda" trace empty.pftrace
expect 0 '<svg|device 0 stream|on the device|</svg>' "$acuda" trace --svg - d.pftrace
expect 2 'take milliseconds' "$acuda" trace --from x d.pftrace
expect 1 'nothing happened' "$acuda" trace --svg d.svg --from 1e8 d.pftrace
expect 1 'nowhere/d.svg' "$acuda" trace --svg nowhere/d.svg d.pftrace
expect 1 'nowhere/d.dot' "$acuda" trace --plan nowhere/d.dot d.pftrace
expect 1 'nothing happened' "$acuda" trace --plan - --from 1e8 d.pftrace
if command -v python3 >/dev/null; then
    python3 - >known.pftrace <<'END'
import sys
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def field(number, value): # a number, or a string or message
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value
def packet(body): sys.stdout.buffer.write(field(1, body))
def track(uuid, name): packet(field(60, field(1, uuid) + field(2, name)))
def arrow(number, value): return varint(number << 3 | 1) + value.to_bytes(8, "little")
def event(track, at, kind, name="", notes={}, line=0, more=b""):
    body = field(9, kind) + field(11, track) + field(23, name)
    for key, value in notes.items():
        body += field(4, field(10, key) + field(6 if isinstance(value, str) else 3, value))
    packet(field(8, at * 1000000) + field(11, body + more + field(33, field(2, "a.c") + field(4, line))))
def piece(track, at, end, name, **more):
    event(track, at, 1, name, **more)
    event(track, end, 2)
track(1, "submissions"); track(2, "device 0 stream 1"); track(3, "device 0 stream 2"); track(4, "parts"); track(5, "parts")
piece(1, 0, 50, "all", notes={"status": "ACU_OK"})
piece(2, 10, 20, "to", notes={"kind": "copy", "device": 0}, line=3)
piece(3, 15, 30, "work", notes={"kind": "launch", "device": 0}, line=7)
piece(2, 40, 50, "work", notes={"kind": "launch", "device": 0}, line=7)
piece(5, 0, 20, "to", line=3)
event(4, 0, 1, "work", line=7)
event(5, 1, 3, "awaited", more=arrow(47, 9))
event(4, 1, 3, "behind", more=arrow(48, 9), notes={"why": "reads what that wrote", "how": "event"}, line=3)
piece(4, 1, 6, "waits")
event(4, 8, 2)
END
    "$acuda" trace --json known.pftrace | python3 -c '
import json, sys
s = json.load(sys.stdin)
ms = 1000000
assert s["submissions"] == 1 and s["failed"] == 0 and s["span_ns"] == 50 * ms, s
d, = s["devices"]
assert (d["busy_ns"], d["span_ns"], d["gaps"], d["longest_gap_ns"]) == (30 * ms, 40 * ms, 1, 10 * ms), d
assert d["longest_gap_before"] == "work a.c:7", d
assert [(o["what"], o["count"], o["ns"]) for o in s["operations"]] == [
    ("work (launch) a.c:7", 2, 25 * ms), ("to (copy) a.c:3", 1, 10 * ms)], s
assert [(o["what"], o["ns"]) for o in s["copies_alone"]] == [("to a.c:3", 5 * ms)], s
assert [(o["what"], o["ns"]) for o in s["waits"]] == [
    ("work a.c:7 behind a.c:3: reads what that wrote, event", 5 * ms)], s
assert [(o["what"], o["ns"]) for o in s["stages"]] == [("waits", 5 * ms)], s'
    # The same as a picture: 900 pixels from x = 150 on are the 50 ms.
    "$acuda" trace --svg known.svg known.pftrace
    cat >boxes.py <<'END'
import sys, xml.etree.ElementTree as tree
def boxes(path):
    for box in tree.parse(path).iter("{http://www.w3.org/2000/svg}rect"):
        hover = box.find("{http://www.w3.org/2000/svg}title")
        if hover is not None:
            yield hover.text, float(box.get("x")), float(box.get("width"))
have = sorted(boxes(sys.argv[1]))
want = sorted(eval(sys.argv[2]))
assert have == want, have
END
    python3 boxes.py known.svg '[("to, copy: 10000.000 us\na.c:3", 330, 180),
        ("work, launch: 15000.000 us\na.c:7", 420, 270), ("work, launch: 10000.000 us\na.c:7", 870, 180),
        ("work: 8000.000 us\na.c:7", 150, 144), ("waits, work: 5000.000 us\na.c:0", 168, 90),
        ("to: 20000.000 us\na.c:3", 150, 360)]'
    # The arrow: from the end of what was awaited to when the waiting was over.
    grep -q 'd="M510.00 [0-9.]*L258.00 [0-9.]*" stroke="#7a271a"' known.svg
    # From 15 to 20 ms: both that were there fill it.
    "$acuda" trace --svg - --from 15 --for 5 known.pftrace >part.svg
    python3 boxes.py part.svg '[("to: 20000.000 us\na.c:3", 150, 900), ("to, copy: 10000.000 us\na.c:3", 150, 900),
        ("work, launch: 15000.000 us\na.c:7", 150, 900)]'
    # And what came behind what, as text and by Graphviz's program, if there is one.
    "$acuda" trace --plan plan.dot known.pftrace
    grep -qF 'p0 [label="to\na.c:3"];' plan.dot
    grep -qF 'p1 [label="work\na.c:7"];' plan.dot
    grep -qF 'p0 -> p1 [style=bold, label="reads what that wrote"];' plan.dot
    [ "$(grep -c -e '->' plan.dot)" = 1 ] && [ "$(grep -c subgraph plan.dot)" = 1 ]
    expect 0 'digraph plan {|to\na.c:3|}' "$acuda" trace --plan - --from 15 --for 5 known.pftrace
    expect 1 'apt-get install graphviz' env PATH=/nowhere "$acuda" trace --plan plan.svg known.pftrace
    [ ! -e plan.svg ]
    mkdir tools
    printf '#!/bin/sh\n[ "$*" = "-Tsvg -o plan.svg" ] && cat >plan.svg\n' >tools/dot
    chmod +x tools/dot
    PATH=$work/tools:$PATH expect 0 '' "$acuda" trace --plan plan.svg known.pftrace
    cmp plan.svg plan.dot
    printf '#!/bin/sh\nexit 1\n' >tools/dot
    PATH=$work/tools:$PATH expect 1 'plan.svg was not drawn' "$acuda" trace --plan plan.svg known.pftrace
    if command -v dot >/dev/null; then
        "$acuda" trace --plan plan.svg known.pftrace
        python3 -c '
import xml.etree.ElementTree as tree
texts = {t.text for t in tree.parse("plan.svg").iter("{http://www.w3.org/2000/svg}text")}
assert {"to", "a.c:3", "work", "a.c:7", "reads what that wrote"} <= texts, texts'
    fi
    # Too much for a picture.
    python3 - >many.pftrace <<'END'
import sys
event = lambda at, kind: b"\x40" + at + b"\x5a\x04\x48" + kind + b"\x58\x01"
track = b"\xe2\x03\x09\x08\x01\x12\x05parts"
packets = [track] + [event(bytes([i % 100 + 1]), bytes([k])) for i in range(6000) for k in (1, 2)]
sys.stdout.buffer.write(b"".join(b"\x0a" + bytes([len(p)]) + p for p in packets))
END
    expect 1 '6000 things happened|--from and --for' "$acuda" trace --svg many.svg many.pftrace
    expect 1 '6000 parts|--from and --for' "$acuda" trace --plan - many.pftrace
fi

# ---- man page and completion ----
if command -v man >/dev/null; then
    man --warnings -l "$here/cli/acuda.1" >page 2>complaints </dev/null || true
    [ ! -s complaints ] || { cat complaints && exit 1; }
fi
completes() # WORDS WANTED: what the last word can become
{
    (
        PATH=$build/bin:$PATH
        . "$here/cli/acuda.bash"
        read -ra COMP_WORDS <<<"$1"
        [[ $1 != *' ' ]] || COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
        _acuda
        [[ " ${COMPREPLY[*]} " == *" $2 "* ]] || { echo "'$1' gives: ${COMPREPLY[*]}" && exit 1; }
    )
}
completes 'acuda d' doctor
completes 'acuda tr' trace
completes 'acuda doctor --j' --json
completes 'acuda doctor --driver ' software
completes 'acuda run on' one.cu
