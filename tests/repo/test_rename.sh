#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# tools/rename-to-0.2 turns a program for acuda 0.1 into one that compiles with the headers as they are,
# prints what it leaves to people, and changes nothing when it is run again.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v cc >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }

# A fragment of each thing that has another name.
cat >"$work/old.c" <<'END'
#include <acuda/acuda.h>
#include <acuda/graphs.h>

struct mine {
    long deadline, forms; /* not acuda's */
};

static acu_pool_stats read_stats(acu_pool *pool)
{
    acu_pool_stats stats = {.size = sizeof(acu_pool_stats)};
    acu_pool_get_stats(pool, &stats);
    return stats;
}

int pick(int i);
void told(void *user, acu_future *future, acu_status status);
extern acu_future *futures[];
extern acu_queue *queue;
extern const char *path_of[];

acu_status old(acu_device *device, acu_stream *stream, acu_buffer *buffer, acu_tensor *x,
               struct mine *m, acu_op *op)
{
    acu_use *use;
    acu_arg args[] = {acu_in(x)};
    CUdeviceptr address;
    acu_graph_counts counts;
    acu_submit_options options = {.size = sizeof options, .deadline = 5};
    acu_submit_options more = {
        .size = sizeof more, .deadline = m->deadline > 0 ? ACU_MS(1) : 0};
    m->deadline = 7;
    options.deadline = ACU_SECONDS(1);
    acu_graphs_limit(device, ACU_GRAPHS_DEFAULT);
    acu_graphs_wait(device);
    acu_graphs_counts(device, &counts);
    m->forms = counts.forms;
    read_stats(acu_device_pool(device));
    acu_stream_use(stream, args, 1, ACU_SITE, &use);
    acu_stream_use_wait(stream, args, 1, ACU_SITE, ACU_FOREVER, &use);
    acu_use_begin(stream, &use, acu_in(x));
    acu_compile_counts compiled;
    acu_compile_counts_read(&compiled);
    acu_cublas_settings cublas = {.size = sizeof cublas, .off = true};
    acu_cublas_configure(&cublas);
    if (acu_cublas_load(device) != ACU_OK || acu_cublas_version() < 1 || !acu_cublas_path())
        return ACU_OK;
    acu_counters counters;
    acu_counters_read(&counters);
    acu_module *module;
    acu_module_load_ptx(device, NULL, "a (string, with; \\n" "things)",
                        &module);
    acu_module_load_image(device, "name", buffer, sizeof(int) * 2, &module);
    acu_module_load_file(acu_buffer_device(buffer), path_of[1], "file", &module);
    acu_future_on_complete(futures[0], told, ACU_USER(m, NULL));
    acu_future_call(futures[1], queue, told, (acu_user){NULL, NULL});
    acu_future_notify(m ? futures[0] : NULL, queue, (uint64_t)7);
    acu_future_notify(futures[pick((1))], queue, 8);
    if (acu_buffer_leak(buffer, &address) == ACU_ERR_WOULD_WAIT)
        return acu_submit(device, op, &more, NULL);
    return acu_submit(device, op, &options, NULL) == ACU_ERR_WOULD_BLOCK ? ACU_OK : ACU_TIMEOUT;
}
END
cp "$work/old.c" "$work/new.c"
status=0
tools/rename-to-0.2 "$work/new.c" >"$work/left" || status=$?
[ $status = 1 ] || fail "exit status $status, though a deadline was left"
call=$(grep -n 'pick((1))' "$work/old.c" | cut -d: -f1)
grep -q "^$work/new.c:$call: .*gone" "$work/left" || fail "line $call was not printed: $(cat "$work/left")"
sed -i "${call}s/.*/    acu_future_when_complete(futures[0], queue, 8, NULL, ACU_USER(NULL));/" "$work/new.c"
line=$(grep -n 'm->deadline > 0' "$work/old.c" | cut -d: -f1)
grep -q "^$work/new.c:$line: .*timeout" "$work/left" || fail "line $line was not printed: $(cat "$work/left")"
sed -i "${line}s/\.deadline = /.timeout = /" "$work/new.c" # what is left to people
for word in 'acu_compile_statistics compiled;' 'acu_process_statistics counters;'; do
    line=$(grep -n "$word" "$work/new.c" | cut -d: -f1)
    grep -q "^$work/new.c:$line: .*size" "$work/left" || fail "$word was not printed: $(cat "$work/left")"
done
grep -q 'm->deadline = 7' "$work/new.c" && grep -q 'm->forms = counts.signatures' "$work/new.c" || fail "somebody else's field was renamed"
cc -std=c17 -fsyntax-only -Wall -Werror -Iinclude "$work/new.c"
cp "$work/new.c" "$work/again.c"
tools/rename-to-0.2 "$work/again.c" >/dev/null || true
cmp "$work/new.c" "$work/again.c" || fail "a second run changed something"
status=0
tools/rename-to-0.2 "$work/none.c" 2>"$work/left" || status=$?
[ $status = 2 ] && grep -q 'none.c: not a file' "$work/left" || fail "no word about a file that is not there"
