#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Each public function refuses NULL where a handle should be, in words that name that function (or the
# macro that programs call it by), and no other: the functions are read from the headers, and called
# once with nothing but zeros and once more for each pointer, with only that NULL.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e "$1/lib/libacuda.so" ] || exit 77 # carried here without what was made
command -v cc >/dev/null || exit 77
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$1/CMakeCache.txt" && exit 77
grep -q '^ACUDA_SOFTCUDA:BOOL=ON' "$1/CMakeCache.txt" || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/calls.h" <<'END'
#include <acuda/acuda.h>
#include <acuda/adapters/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static acu_device *device;
static acu_stream *stream;
static acu_event *event;
static acu_policy *policy;
static acu_buffer *buffer;
static acu_tensor *tensor;
static acu_pool *pool;
static acu_module *module;
static acu_kernel *kernel;
static acu_future *future;
static acu_queue *queue;
static acu_group *group;
static acu_graph *graph;
static acu_expression *expression;
static acu_external *external; /* NULL: these two are not to be had everywhere */
static acu_code *code;
static _Alignas(16) char scratch[1 << 16]; /* for results */
static void *list[4];
static int wrong;

static acu_op *op(void)
{
    return acu_zeros(ACU_F32, ACU_SHAPE(4));
}

static acu_use *use(void)
{
    acu_use *begun = NULL;
    acu_use_begin_wait(stream, ACU_FOREVER, &begun, acu_in(tensor));
    return begun;
}

static void *in_list(void *handle)
{
    list[0] = handle;
    return list;
}

/* What begins with the name of a function must begin with this one's. */
static void look(const char *name, const char *message)
{
    static const char *const macros[][2] = {{"acu_op_partition_tensor", "acu_partition"}};
    char first[64], macro[80];
    if (sscanf(message, "acu_%60[a-z0-9_]", first) != 1)
        return;
    snprintf(macro, sizeof macro, "acu_op_%s", first);
    if (strcmp(macro, name) == 0)
        return;
    snprintf(macro, sizeof macro, "acu_%s", first);
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (strcmp(macros[i][0], name) == 0)
            name = macros[i][1];
    if (strcmp(macro, name) == 0)
        return;
    printf("%s says: %s\n", name, message);
    wrong++;
}

static void ended(const char *name, int must_fail, acu_status status)
{
    if (status < 0)
        look(name, acu_last_error()->message);
    if (must_fail && status >= 0)
        printf("%s takes NULL for a handle\n", name), wrong++;
}

static void ended_op(const char *name, int must_fail, acu_op *op)
{
    acu_error error = {0};
    acu_future *submitted = NULL;
    acu_status status = acu_op_status(op, &error);
    if (status == ACU_OK) {
        status = acu_submit(device, op, NULL, &submitted);
        error = *acu_last_error();
        if (submitted)
            acu_future_wait(submitted, ACU_FOREVER);
        acu_future_release(submitted);
    } else {
        acu_op_release(op);
    }
    if (status < 0)
        look(name, error.message);
    if (must_fail && status >= 0)
        printf("%s takes NULL for a handle\n", name), wrong++;
}

static void start(void);
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != ACU_OK)                                                                      \
            printf("%s: %s\n", #call, acu_last_error()->message), exit(1);                         \
    } while (0)
END

cat >"$work/start.h" <<'END'
static void start(void)
{
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    OK(acu_open(&options, &device));
    OK(acu_stream_create(device, 0, &stream));
    OK(acu_event_create(device, false, &event));
    OK(acu_policy_round_robin(device, 2, &policy));
    OK(acu_buffer_create(device, 64, &buffer));
    OK(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(4), &tensor));
    pool = acu_pool_retain(acu_device_pool(device));
    OK(acu_module_load(device, ACU_PTX("module",
                           ".version 6.0\n.target sm_50\n.address_size 64\n"
                           ".visible .entry kernel(.param .u64 p) { ret; }\n"),
                           &module));
    OK(acu_kernel_get(module, "kernel", &kernel));
    OK(acu_submit(device, acu_fill(tensor, acu_f32(1)), NULL, &future));
    OK(acu_future_wait(future, ACU_FOREVER));
    OK(acu_queue_create(NULL, &queue));
    OK(acu_group_create(NULL, &group));
    OK(acu_graph_load(device, acu_fill(tensor, acu_f32(2)), NULL, &graph));
    OK(acu_expression_create("x + 1", &expression));
}
END

# One C function for each public one that returns a status or an op, except for those that would change
# what the others are called with.
cat include/acuda/*.h include/acuda/adapters/dlpack.h | awk '
/^ACU_API/ { text = ""; on = 1 }
on { sub(/\/\*.*/, ""); text = text " " $0 }
on && /;/ { on = 0; declare(text) }

function trim(s) { gsub(/^ +| +$/, "", s); gsub(/  +/, " ", s); return s }
function zero(type) { return "(" type ")" (type ~ /\*$/ ? "NULL" : "{0}") }
function handle(type,    base) {
    if (type !~ /\*$/ || type ~ /\*.*\*/) return ""
    base = type
    gsub(/const |[ *]/, "", base)
    return base in handles ? handles[base] : ""
}
function good(type) {
    if (handle(type)) return handle(type)
    if (type == "const char *") return "\"x\""
    if (type ~ /(_options|_settings) \*$/ || type ~ /struct DL/) return "(" type ")NULL"
    if (type ~ /^acu_tensor \*const \*$/) return "(" type ")in_list(tensor)"
    if (type ~ /^acu_op \*const \*$/) return "(" type ")in_list(op())"
    if (type ~ /^acu_future \*const \*$/) return "(" type ")in_list(future)"
    if (type ~ /\*$/) return "(" type ")(void *)scratch"
    if (type == "acu_dtype") return "ACU_F32"
    if (type == "acu_shape") return "ACU_SHAPE(4)"
    if (type == "acu_arg") return "acu_f32(1)"
    if (type == "size_t" || type == "unsigned") return "1"
    return zero(type)
}
function call(what, must_fail, args,    i, text) {
    text = ""
    for (i = 1; i <= count; i++) text = text (i > 1 ? ", " : "") args[i]
    printf "    memset(scratch, 0, sizeof scratch);\n"
    printf "    ended%s(\"%s\", %d, (%s)(%s));\n", what, name, must_fail, name, text
}
function declare(text,    result, list, i, k, args, what) {
    sub(/^ *ACU_API */, "", text)
    if (text ~ /\.\.\./ || text !~ /^(acu_status|acu_op \*)/) return
    if (!match(text, /acui?_[a-z0-9_]+\(/)) return
    what = text ~ /^acu_op/ ? "_op" : ""
    match(text, /acui?_[a-z0-9_]+ ?\(/)
    name = substr(text, RSTART, RLENGTH - 1)
    if (name in left_out) return
    list = substr(text, RSTART + RLENGTH)
    sub(/\).*/, "", list)
    count = list ~ /^ *(void)? *$/ ? 0 : split(list, params, ",")
    for (i = 1; i <= count; i++) {
        types[i] = trim(params[i])
        sub(/ [a-z0-9_]+\[[0-9]+\]$/, " *", types[i]) # an array is a pointer
        sub(/[a-z0-9_]+(\[[^]]*\])?$/, "", types[i])
        types[i] = trim(types[i])
    }
    printf "static void call_%s(void)\n{\n", name
    for (i = 1; i <= count; i++) args[i] = zero(types[i])
    call(what, count > 0 && handle(types[1]) != "" && !(name in optional), args)
    for (k = 1; k <= count; k++) {
        if (types[k] !~ /\*$/) continue
        for (i = 1; i <= count; i++) args[i] = i == k ? zero(types[i]) : good(types[i])
        call(what, k == 1 && handle(types[k]) != "" && !(name in optional), args)
    }
    print "}\n"
    names[++total] = name
}
BEGIN {
    split("device stream event policy buffer tensor pool module kernel future queue group graph " \
          "expression external code", list, " ")
    for (i in list) handles["acu_" list[i]] = list[i]
    handles["acu_op"] = "op()"
    handles["acu_use"] = "use()"
    split("acu_open acu_close acu_device_reset acu_driver_open acu_driver_fail acu_staging_set " \
          "acu_compile_configure acu_vendor_configure acu_op_retain acu_op_named " \
          "acu_trace_start", list, " ")
    for (i in list) left_out[list[i]]
    # NULL is allowed in these: no device means any device, or that of the other operands; and if an op is
    # refused, its alternative runs.
    split("acu_submit acu_sync acu_graph_load acu_op_describe acu_compile acu_op_or_else", list, " ")
    for (i in list) optional[list[i]]
    print "#include \"calls.h\"\n#include \"start.h\"\n"
}
END {
    print "int main(void)\n{\n    start();"
    for (i = 1; i <= total; i++) printf "    call_%s();\n", names[i]
    print "    return wrong > 0;\n}"
}' >"$work/main.c"

[ "$(grep -c '^static void call_' "$work/main.c")" -gt 150 ] || { echo "too few functions were found"; exit 1; }
cc -std=c17 -w -Iinclude -I"$work" "$work/main.c" -o "$work/main" -L"$1/lib" -lacuda \
    -Wl,-rpath,"$1/lib"
"$work/main"
