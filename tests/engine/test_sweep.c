/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations and their submissions, with every driver call and every allocation made to fail in
 * turn: once, or from there on. Nothing hangs, every failure has a status that docs/failures.md
 * lists and a record in words, user data is released exactly once, and nothing is left over except
 * driver objects whose destruction was made to fail.
 *
 * There are two ways. Whole: each run opens the device, uses it and closes it, and then nothing may
 * be left. Inside: the device stays open for some runs; handles and user data must be back after
 * each run, everything else when it is closed. The software device uses the first way at every
 * place and the second one at some; a GPU, where opening takes a while, the other way round.
 */
#include "support/support.h"
#include "support/batch.h"

#include <acuda/adapters/dlpack.h>
#include <acuda/debug.h>
#include <acuda/graph_cache.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern const char test_sweep_ptx[];

enum { N = 300, TILE = 64 };
#define LIMIT ACU_SECONDS(60) /* what takes longer hangs */
enum { HANGS = 200 };         /* seconds; a run takes some hundredths of one */

static _Atomic(int) owed; /* releases of user data that are due */
static const char *what;  /* what is made to fail, for messages */
static uint64_t place;
static bool from_then_on;

static void *owe(void)
{
    atomic_fetch_add(&owed, 1);
    return &owed;
}

static void pay(void *data)
{
    (void)data;
    atomic_fetch_sub(&owed, 1);
}

/* The statuses that a failing driver call or allocation may turn into. */
static bool documented(acu_status status)
{
    switch (status) {
    case ACU_OK:
    case ACU_NOT_READY:
    case ACU_ERR_DRIVER:
    case ACU_ERR_DEVICE_MEMORY:
    case ACU_ERR_NO_MEMORY:
    case ACU_ERR_DEPENDENCY:
    case ACU_ERR_DEVICE_LOST:
    case ACU_ERR_NOT_FOUND:     /* a refused look-up of a kernel */
    case ACU_ERR_NOT_SUPPORTED:
    case ACU_ERR_NO_DRIVER:
    case ACU_ERR_CANCELLED:
    case ACU_ERR_DEADLINE:
    case ACU_ERR_CALLBACK: /* foreign_fill says so when its own call fails */
        return true;
    default:
        return false;
    }
}

static bool good(acu_status status)
{
    if (!documented(status) || (status < 0 && acu_last_error()->status != status))
        fail_msg("%s %llu%s: %s: %s", what, (unsigned long long)place,
                 from_then_on ? " and on" : "", acu_status_name(status), acu_last_error()->message);
    return status == ACU_OK;
}

/* The future completes, in time, and says why if it failed. */
static void finish(acu_future *future)
{
    if (!future)
        return;
    acu_status status = acu_future_wait(future, LIMIT);
    if (status == ACU_TIMEOUT)
        fail_msg("%s %llu%s: a submission hangs", what, (unsigned long long)place,
                 from_then_on ? " and on" : "");
    acu_error error = {0};
    if (!documented(status) || (status != ACU_OK && (acu_future_error(future, &error) != status ||
                                                     !(error.message[0] || error.driver_call))))
        fail_msg("%s %llu%s: the future says %s: %s", what, (unsigned long long)place,
                 from_then_on ? " and on" : "", acu_status_name(status), error.message);
    acu_future_release(future);
}

/* ---- the scenario ---- */

static acu_op *go_on(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_dup(acu_take(&values[0]));
}

static acu_status keep(void *user, acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_status double_host(void *user, const acu_val *values, size_t count)
{
    (void)user;
    float *x = acu_tensor_host(values[0].tensor);
    for (int i = 0; i < N && count == 1; i++)
        x[i] *= 2.0f;
    return ACU_OK;
}

static acu_status end_soon(void *user, acu_promise *done, const acu_val *values, size_t count)
{
    (void)double_host(user, values, count);
    good(acu_promise_end(done, ACU_OK, NULL));
    return ACU_OK;
}

static acu_status foreign_fill(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)count;
    unsigned result = acu_driver()->MemsetD32Async(acu_tensor_address(values[0].tensor), 0, N,
                                                   stream);
    return result == ACU_CUDA_SUCCESS ? ACU_OK : ACU_ERR_DRIVER;
}

static void notice(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
}

static acu_future *submit(acu_device *device, acu_op *op)
{
    acu_future *future = NULL;
    good(acu_submit(device, op, NULL, &future));
    return future;
}

/* Every kind of op, in a few compositions that share data across streams. */
static void use_ops(acu_device *device, acu_kernel *kernel, acu_tensor *x)
{
    acu_op *tiles = acu_partition(x, ACU_SHAPE(TILE));
    acu_op *ones = acu_ones(ACU_F32, ACU_SHAPE(N));
    acu_op *sum = acu_launch(kernel, ACU_BLOCK(TILE), acu_inout(tiles), acu_in(ones));
    acu_future *a = submit(device, acu_unpartition(acu_first(sum)));
    acu_op *then = acu_then(acu_dup(x), go_on, owe(), pay);
    acu_op *mapped = acu_map(acu_zip(then, acu_full(ACU_SHAPE(N), acu_f64(1.5))), keep, owe(), pay);
    acu_future *b = submit(device, mapped);
    acu_op *back = acu_op_host(double_host, ACU_USER(owe(), pay),
                               ACU_ARGS(acu_inout(acu_to_host(x))), ACU_SITE);
    acu_future *c = submit(device, acu_to_device(device, back));
    acu_op *late = acu_op_host_async(end_soon, ACU_USER(owe(), pay),
                                     ACU_ARGS(acu_inout(acu_to_host(x))), ACU_SITE);
    acu_future *h = submit(device, acu_to_device(device, late));
    float small[N] = {1.0f};
    acu_op *parts[2];
    acu_unzip(acu_copy(x, acu_const(ACU_F32, ACU_SHAPE(N), small)), parts, 2);
    acu_future *d = submit(device, acu_zip(acu_share(parts[0]), acu_reshape(parts[1],
                                                                            ACU_SHAPE(3, 100))));
    acu_future *e = submit(device, acu_op_foreign(foreign_fill, ACU_USER(owe(), pay),
                                                  ACU_ARGS(acu_out(x)), ACU_SITE));
    if (a)
        good(acu_future_when_complete(a, NULL, 0, notice, ACU_USER(owe(), pay)));
    acu_op *twice = acu_op_retain(acu_zeros(ACU_U16, ACU_SHAPE(N)));
    acu_op *once = acu_fill(twice, acu_u16(7));
    acu_op_release(twice);
    acu_future_release(submit(device, once)); /* dropped in flight */
    acu_op *passed = acu_op_retain(acu_dup(x));
    acu_future *f = submit(device, passed), *g = submit(device, acu_zip(passed, acu_value(x)));
    finish(a);
    finish(b);
    finish(c);
    finish(h);
    finish(d);
    finish(e);
    finish(f);
    finish(g);
}

/* Collectives of a communicator of one. */
static void use_comm(acu_device *device, acu_tensor *x)
{
    acu_comm *comm = NULL;
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_PROCESS,
                                .devices = &device, .device_count = 1};
    if (!good(acu_comm_open(&options, &comm)))
        return;
    acu_future *a = submit(device, acu_comm_all_reduce(comm, ACU_REDUCE_SUM, x));
    acu_op *to = acu_empty(ACU_F32, ACU_SHAPE(N));
    acu_future *b = submit(device, acu_comm_all_to_all(comm, to, x));
    finish(a); /* closing first would fail what waits for the device's thread */
    finish(b);
    good(acu_comm_close(comm, ACU_FOREVER));
}

/* Views, described before they run, as a prefix of tiles; and the same memory over DLPack. */
static void use_views(acu_device *device, acu_kernel *kernel, acu_tensor *x)
{
    acu_value_info infos[2];
    size_t count;
    acu_op *third = acu_slice_step(x, ACU_SHAPE(1), ACU_SHAPE(N), ACU_SHAPE(3));
    acu_op *sum = acu_launch(kernel, ACU_GRID_BLOCK(2, 1, 1, 32, 1, 1),
                             acu_inout(acu_partition_prefix(third, ACU_SHAPE(30))),
                             acu_in(acu_ones(ACU_F32, ACU_SHAPE(N))));
    good(acu_op_describe(device, sum, infos, 2, &count));
    acu_future *a = submit(device, sum);
    struct DLManagedTensorVersioned *managed = NULL;
    acu_tensor *back = NULL;
    if (good(acu_dlpack_export_wait(x, 1, 0, LIMIT, &managed))) {
        if (good(acu_dlpack_import(device, managed, 1, &back))) {
            finish(submit(device, acu_dup(acu_reshape(back, ACU_SHAPE(3, ACU_REST)))));
            acu_tensor_release(back);
        } else {
            acu_dlpack_release(managed);
        }
    }
    finish(a);
}

/* A form that comes again until it is launched as a graph. */
static void use_graphs(acu_device *device, acu_kernel *kernel, acu_tensor *x)
{
    for (int i = 0; i < 3; i++) {
        acu_op *tiles = acu_partition(acu_fill(x, acu_f32((float)i)), ACU_SHAPE(TILE));
        acu_config config = ACU_BLOCK(TILE);
        config.cooperative = true;
        acu_op *sum = acu_launch(kernel, config, acu_inout(tiles), acu_in(x));
        acu_op *apart = acu_zip(acu_dup(x), sum, acu_dup(x), acu_zeros(ACU_F32, ACU_SHAPE(N)));
        finish(submit(device, apart));
        good(acu_graph_cache_wait(device));
    }
}

/* An explicit one, with a copy by rows and a call that is captured. */
static void use_explicit_graph(acu_device *device, acu_kernel *kernel, acu_tensor *x)
{
    acu_graph *graph = NULL;
    acu_op *rows = acu_slice(acu_reshape(x, ACU_SHAPE(3, 100)), ACU_SHAPE(0, 0), ACU_SHAPE(3, 64));
    acu_op *sum = acu_launch(kernel, ACU_BLOCK(TILE), acu_inout(acu_partition(x, ACU_SHAPE(TILE))),
                             acu_in(x));
    acu_op *call = acu_capturable(acu_foreign(foreign_fill, NULL, acu_out(x)));
    acu_op *op = acu_zip(acu_copy(rows, acu_zeros(ACU_F32, ACU_SHAPE(3, 64))), sum, call);
    if (!good(acu_graph_load(device, op, NULL, &graph)))
        return;
    finish(submit(device, acu_replay(graph)));
    acu_graph_release(graph);
}

static void use_policy(acu_device *device, acu_tensor *x)
{
    acu_policy *policy;
    acu_future *future = NULL;
    if (!good(acu_policy_single(device, NULL, &policy)))
        return;
    good(acu_schedule(policy, acu_fill(x, acu_f32(3)), &future));
    finish(future);
    future = NULL;
    acu_future *last = NULL;
    if (good(acu_schedule(policy, acu_fill(x, acu_f32(4)), &future)) &&
        good(acu_schedule(policy, acu_after_future(acu_fill(x, acu_f32(5)), future), &last)))
        finish(last); /* starts the first one, too */
    acu_future_release(future);
    future = NULL;
    good(acu_schedule(policy, acu_then(x, go_on, owe(), pay), &future)); /* never started */
    acu_future_release(future);
    acu_policy_release(policy);
}

static void use_wrapped(acu_device *device, acu_tensor *x)
{
    static float memory[N];
    acu_buffer *buffer;
    acu_tensor *host;
    if (!good(acu_buffer_wrap_host(device, memory, sizeof memory, ACU_USER(owe(), pay), &buffer)))
        return;
    if (good(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(N), &host))) {
        acu_future_release(submit(device, acu_copy(x, host)));
        acu_tensor_release(host);
    }
    acu_buffer_release(buffer);
}

/* Pageable memory by helper threads, one of the copies dropped, and a copy of rows. */
static void use_copies(acu_device *device, acu_tensor *x)
{
    static float memory[N], back[N];
    acu_buffer *buffer;
    acu_tensor *host = NULL, *rows = NULL, *part = NULL, *pinned = NULL;
    if (good(acu_buffer_wrap_pageable(device, memory, sizeof memory, ACU_USER(owe(), pay),
                                      &buffer))) {
        good(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(N), &host));
        acu_buffer_release(buffer);
    }
    if (host) {
        acu_future *up = submit(device, acu_copy(x, host)),
                   *down = submit(device, acu_copy(host, x));
        finish(up);
        acu_tensor_release(host);
        acu_future_release(down);
    }
    if (good(acu_buffer_wrap_pageable(device, back, sizeof back, ACU_USER(owe(), pay), &buffer))) {
        if (good(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(N), &host))) {
            finish(submit(device, acu_copy(host, x)));
            acu_tensor_release(host);
        }
        acu_buffer_release(buffer);
    }
    good(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(3, 40), &pinned));
    good(acu_tensor_reshape(x, ACU_SHAPE(3, 100), &rows));
    if (rows)
        good(acu_tensor_slice(rows, (int64_t[]){0, 7}, (int64_t[]){3, 47}, &part));
    if (part && pinned)
        finish(submit(device, acu_copy(part, pinned)));
    acu_tensor_release(pinned);
    acu_tensor_release(part);
    acu_tensor_release(rows);
}

static bool alone;  /* operations are issued one by one */

static void use_second(acu_device *device, acu_tensor *x)
{
    acu_open_options options = test_options(1);
    acu_device *second;
    int count = 0;
    if (!good(acu_device_count_load(&options, &count)) || count < 2 ||
        !good(acu_open(&options, &second)))
        return;
    finish(submit(device, acu_to_device(second, x)));
    if (!alone) /* directly from then on, or through the host */
        good(acu_device_open_peer(second, device));
    finish(submit(device, acu_to_device(second, x)));
    good(acu_close(second));
}

/* A launch is in order with copies of its module's variable. */
static void use_variable(acu_device *device, acu_module *module, acu_kernel *kernel, acu_tensor *x)
{
    acu_buffer *buffer = NULL;
    acu_tensor *shift = NULL;
    if (!good(acu_module_global(module, "shift", &buffer)))
        return;
    if (good(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(1), &shift))) {
        finish(submit(device, acu_dup(shift)));
        finish(submit(device, acu_launch(kernel, ACU_BLOCK(TILE),
                                         acu_inout(acu_partition(x, ACU_SHAPE(TILE))), acu_in(x))));
        acu_tensor_release(shift);
    }
    acu_buffer_release(buffer);
}

/* Loaded on a thread of acuda's; a kernel of it is launched meanwhile. */
static void use_load(acu_device *device, acu_tensor *x)
{
    acu_module_source source = {.size = sizeof source, .ptx = test_sweep_ptx};
    acu_future *future = NULL;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    good(acu_module_load_async(device, &source, &future));
    if (future && good(acu_future_module(future, &module)) &&
        good(acu_kernel_get(module, "sweep", &kernel))) {
        acu_op *ones = acu_ones(ACU_F32, ACU_SHAPE(N));
        acu_config config = ACU_BLOCK(TILE);
        config.cooperative = true;
        finish(submit(device,
                      acu_launch(kernel, config, acu_inout(acu_partition(x, ACU_SHAPE(TILE))),
                                 acu_in(ones))));
        use_variable(device, module, kernel, x);
        acu_kernel_release(kernel);
    }
    acu_module_release(module);
    finish(future);
}

static bool handed; /* submissions are handed over to runtime threads */

/* Given up before, while and after they run; one of them planned an op that the other one uses. */
static void use_cancel(acu_device *device, acu_tensor *x)
{
    acu_submit_options late = {
        .size = sizeof late, .timeout = 1, .priority = -1, .explain = true, .warm = true};
    acu_op *shared = acu_op_retain(acu_op_retain(acu_dup(x))); /* three uses */
    acu_op *host = acu_op_host(double_host, ACU_USER(owe(), pay),
                               ACU_ARGS(acu_inout(acu_to_host(shared))), ACU_SITE);
    acu_future *a = submit(device, acu_to_device(device, host)), *b, *c = NULL;
    b = submit(device, acu_copy(x, shared));
    if (a)
        good(acu_future_cancel(a));
    good(acu_submit(device, acu_dup(shared), &late, &c));
    if (c) {
        char text[64];
        acu_explain(c, ACU_EXPLAIN_TEXT, text, sizeof text, NULL);
        good(acu_future_when_complete(c, NULL, 0, notice, ACU_USER(owe(), pay)));
    }
    finish(a);
    finish(b);
    finish(c);
}

static acu_status refuse_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_INVALID;
}

static bool wants(void *user, const acu_error *error)
{
    (void)user;
    return error->status < 0;
}

static acu_op *make_zeros(void *user, acu_device *device)
{
    (void)user;
    return acu_on(device, acu_zeros(ACU_F32, ACU_SHAPE(N)));
}

static acu_op *host_work(acu_host_fn fn, acu_op *x)
{
    return acu_op_host(fn, ACU_USER(owe(), pay), ACU_ARGS(acu_inout(x)), ACU_SITE);
}

/* Alternatives that are needed, or not, and what runs in any case. */
static void use_rescue(acu_device *device, acu_tensor *x)
{
    acu_op *bad = host_work(refuse_host, acu_to_host(x));
    acu_op *well = host_work(double_host, acu_to_host(x));
    acu_op *either = acu_op_or_else(bad, well, wants, ACU_USER(owe(), pay), ACU_SITE);
    acu_future *a = submit(device, acu_to_device(device, acu_with_context(either, "either")));
    acu_op *last = acu_op_host(refuse_host, ACU_USER(owe(), pay), NULL, 0, ACU_SITE);
    either = acu_or_else(acu_fill(x, acu_f32(1)), acu_dup(x)); /* not needed, as a rule */
    acu_submit_options explained = {.size = sizeof explained, .explain = true};
    acu_future *b = NULL;
    good(acu_submit(device, acu_finally(acu_or_else(acu_nth(x, 7), either), last), &explained, &b));
    acu_op *shared = acu_op_retain(acu_dup(x));
    acu_future *c = submit(device, acu_after(acu_make(make_zeros, owe(), pay), shared)), *d = NULL;
    if (c)
        d = submit(device, acu_after(acu_after_future(acu_dup(x), c), shared));
    else
        acu_op_release(shared);
    finish(c);
    finish(d);
    finish(a);
    finish(b);
}

/* Some members that wait for each other; the group is dropped with others in flight. */
static void use_group(acu_device *device, acu_tensor *x)
{
    acu_group_options options = {.size = sizeof options, .limit = 8, .collect = true};
    acu_policy_options order = {.size = sizeof order, .order = ACU_LEAST_LOADED, .streams = 2};
    acu_submit_options submit = {.size = sizeof submit};
    acu_group *group;
    acu_future *future = NULL, *all = NULL;
    if (!good(acu_group_create(&options, &group)))
        return;
    bool chosen = good(acu_policy_create(device, &order, &submit.policy));
    good(acu_group_submit(group, device, host_work(double_host, acu_to_host(x)), &submit, NULL));
    good(acu_group_submit(group, device, acu_dup(x), chosen ? &submit : NULL, &future));
    finish(future);
    future = NULL;
    if (acu_group_wait_any(group, LIMIT, &future) == ACU_OK)
        finish(future);
    good(acu_group_submit(group, device, acu_fill(x, acu_f32(2)), NULL, NULL));
    if (good(acu_group_finish(group, &all)))
        finish(all);
    good(acu_group_wait(group, LIMIT));
    acu_group_release(group);
    if (chosen)
        acu_policy_release(submit.policy);
}

/* What was put on a queue comes out of it, whatever became of it. */
static void empty_queue(acu_queue *queue)
{
    while (acu_queue_pending(queue)) {
        acu_completion done[2];
        size_t count = 0;
        if (acu_queue_wait(queue, done, 2, &count, LIMIT) != ACU_OK)
            fail_msg("%s %llu%s: a queue's completion does not come", what,
                     (unsigned long long)place, from_then_on ? " and on" : "");
        for (size_t i = 0; i < count; i++) {
            if (!documented(done[i].status))
                fail_msg("%s %llu: a completion says %s", what, (unsigned long long)place,
                         acu_status_name(done[i].status));
            acu_future_release(done[i].future);
        }
    }
}

/* Completions with a tag, callbacks in a take, and a queue that is released with some on it. */
static void use_queue(acu_device *device, acu_tensor *x)
{
    acu_queue *queue;
    acu_future *future = NULL;
    if (!good(acu_queue_create(NULL, &queue)))
        return;
    acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = 1};
    good(acu_submit(device, acu_dup(x), &options, NULL));
    good(acu_submit(device, host_work(refuse_host, acu_to_host(x)), &options, &future));
    if (future) {
        good(acu_future_when_complete(future, queue, 2, NULL, ACU_USER(NULL)));
        good(acu_future_when_complete(future, queue, 0, notice, ACU_USER(owe(), pay)));
    }
    empty_queue(queue);
    if (future)
        good(acu_future_when_complete(future, queue, 0, notice, ACU_USER(owe(), pay)));
    good(acu_submit(device, acu_dup(x), &options, NULL));
    acu_future_release(future);
    acu_queue_release(queue);
}

/* Work by hand between others, on a stream of the program's. */
static void use_by_hand(acu_device *device, acu_tensor *x)
{
    acu_stream *stream;
    acu_use *use;
    acu_future *future = NULL, *before = submit(device, acu_fill(x, acu_f32(3)));
    if (!good(acu_stream_create(device, 0, &stream))) {
        finish(before);
        return;
    }
    acu_status status = acu_use_begin_wait(stream, LIMIT, &use, acu_inout(x));
    if (good(status)) {
        acu_future *behind = submit(device, acu_dup(x));
        good(acu_use_end(use, ACU_OK, &future));
        finish(future);
        finish(behind);
    }
    finish(before);
    acu_stream_release(stream);
}

/* Memory for other processes, and the same memory imported as theirs. */
static void use_external(acu_device *device)
{
    acu_buffer *mine = NULL, *theirs = NULL;
    acu_external *external = NULL;
    acu_tensor *x = NULL;
    int fd = -1;
    if (!good(acu_buffer_create_exportable(device, N * sizeof(float), &mine)))
        return;
    if (good(acu_buffer_export(mine, &fd))) {
        acu_external_options from = {.size = sizeof from, .fd = fd, .bytes = N * sizeof(float)};
        good(acu_external_import(device, &from, &external));
        close(fd);
    }
    acu_buffer_release(mine);
    if (external && good(acu_external_buffer(external, 0, 0, &theirs))) {
        if (good(acu_tensor_create(theirs, 0, ACU_F32, ACU_SHAPE(N), &x)))
            acu_future_release(submit(device, acu_fill(x, acu_f32(1)))); /* the last use */
        acu_tensor_release(x);
        acu_buffer_release(theirs);
    }
    acu_external_release(external);
}

/* Short of memory, too: the pool's limit makes the second submission wait, or fail. */
static void use_pools(acu_device *device)
{
    acu_pool_options options = {.size = sizeof options, .limit = 16384, .keep = ACU_KEEP_NONE};
    acu_pool_options pinned = {.size = sizeof pinned, .kind = ACU_MEMORY_PINNED, .limit = 65536};
    acu_pool *pool = NULL, *host = NULL;
    acu_buffer *buffer = NULL;
    if (good(acu_pool_create(device, &options, &pool))) {
        acu_op *x = acu_with_pool(pool, acu_zeros(ACU_U8, ACU_SHAPE(9000)));
        acu_future *a = submit(device, x);
        acu_future *b = submit(device, acu_with_pool(pool, acu_ones(ACU_U8, ACU_SHAPE(8000))));
        if (good(acu_buffer_create_from(pool, 4096, &buffer)))
            acu_buffer_release(buffer);
        finish(a);
        finish(b);
        good(acu_pool_trim(pool, 0, NULL));
    }
    if (good(acu_pool_create(device, &pinned, &host))) {
        if (good(acu_buffer_create_from(host, 1000, &buffer)))
            acu_buffer_release(buffer);
        finish(submit(device, acu_with_pool(host, acu_to_host(acu_zeros(ACU_U8, ACU_SHAPE(99))))));
        good(acu_pool_trim(host, 0, NULL));
    }
    acu_tensor *shared = NULL;
    if (acu_device_info_of(device)->managed_memory &&
        good(acu_tensor_alloc_managed(device, ACU_F32, ACU_SHAPE(N), &shared))) {
        finish(submit(device,
                      acu_advise(acu_prefetch(shared, device), ACU_ADVICE_READ_MOSTLY, NULL)));
        acu_tensor_release(shared);
    }
    acu_pool_release(pool);
    acu_pool_release(host);
}

static acu_op *copy_of(acu_planning *planning)
{
    return acu_dup(acu_take(&planning->values[0]));
}

/* Built-in operations, whose kernels are acuda's own. */
static void use_built_in(acu_device *device, acu_tensor *x)
{
    acu_custom custom = {.name = "copy of", .fn = copy_of, .user = {owe(), pay}};
    acu_op *own = acu_op_custom(custom, (acu_op *[]){acu_value(x)}, 1, ACU_SITE);
    acu_future *a = submit(device, acu_reshape(own, ACU_SHAPE(3, 100)));
    acu_future *b = submit(device, acu_into(x, acu_rand(ACU_F32, ACU_SHAPE(N), 1, 0)));
    finish(a);
    finish(b);
}

/* ---- batches ---- */

enum { SMALL = 8, ROUNDS = 4 };

/* Two large submissions, one behind the other: the device's thread issues each by itself. */
static void go_alone(acu_device *device, acu_kernel *kernel, acu_tensor *z, acu_tensor *x)
{
    acu_future *futures[2];
    for (int i = 0; i < 2; i++) {
        acu_op *ops[ACUI_BATCH_NODES + 1];
        for (int k = 0; k < ACUI_BATCH_NODES + 1; k++)
            ops[k] = acu_launch(kernel, ACU_BLOCK(TILE),
                                acu_inout(acu_partition(z, ACU_SHAPE(TILE))), acu_in(x));
        futures[i] = submit(device, acu_op_zip(ops, ACUI_BATCH_NODES + 1, ACU_SITE));
    }
    for (int i = 0; i < 2; i++)
        finish(futures[i]);
}

/* Each is a submission of its own. The device's thread takes none until all of them are queued.
 * Starting it may have failed; then this thread issues them itself. */
static void go_batched(acu_device *device, acu_kernel *kernel, acu_tensor *const *z, acu_tensor *x)
{
    acu_future *futures[SMALL];
    go_alone(device, kernel, z[0], x);
    atomic_store(&acui_dispatch_paused, true);
    for (int i = 0; i < SMALL; i++)
        futures[i] = submit(device, acu_launch(kernel, ACU_BLOCK(TILE),
                                               acu_inout(acu_partition(z[i], ACU_SHAPE(TILE))),
                                               acu_in(x)));
    atomic_store(&acui_dispatch_paused, false);
    for (int i = 0; i < SMALL; i++)
        finish(futures[i]);
    good(acu_graph_cache_wait(device));
}

static uint64_t count_batched(acu_device *device)
{
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    good(acu_graph_cache_stats(device, &counts));
    return counts.together;
}

/* In runs without failures: repeated until some submissions were issued as one; a device that stays
 * open has seen that before. */
static bool is_enough(acu_device *device, int rounds, uint64_t before)
{
    if (strcmp(what, "none") != 0)
        return rounds >= ROUNDS;
    return count_batched(device) > before;
}

static void use_batches_with(acu_device *device, acu_kernel *kernel)
{
    const acui_dims dims = {.grid = {1, 1, 1}, .block = {TILE, 1, 1}};
    acu_tensor *made[SMALL + 1] = {NULL};
    int count = 0;
    while (count <= SMALL &&
           good(acu_sync(device, acu_full(ACU_SHAPE(TILE), acu_f32(1)), &made[count])))
        count++;
    test_teach(device, test_form_of(kernel, dims, 1), 1, 0, 1000);
    test_wake_thread(device);
    uint64_t before = count_batched(device);
    for (int rounds = 0; count > SMALL && !is_enough(device, rounds, before); rounds++)
        go_batched(device, kernel, made, made[SMALL]);
    while (count > 0)
        acu_tensor_release(made[--count]);
}

static void use_batches(acu_device *device)
{
    acu_module *module;
    acu_kernel *kernel;
    if (!good(acu_module_load(device, ACU_PTX(NULL, test_sweep_ptx), &module)))
        return;
    if (good(acu_kernel_get(module, "sweep", &kernel))) {
        use_batches_with(device, kernel);
        acu_kernel_release(kernel);
    }
    acu_module_release(module);
}

/* Images of their own sizes: a list of tensors, with a small upload. */
static void use_images(acu_device *device, acu_tensor *x)
{
    acu_op *rows[] = {acu_reshape(x, ACU_SHAPE(10, 30)), acu_reshape(x, ACU_SHAPE(30, 10))};
    finish(submit(device, acu_resize_batch(rows, 2, 4, 4, NULL)));
}

static void use_all(acu_device *device)
{
    acu_module *module;
    acu_kernel *kernel;
    acu_tensor *x;
    float host[N] = {0};
    if (!good(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(N), &x)))
        return;
    /* Kernels read it, so one of two ways to write it must work. */
    if (!good(acu_write_sync(x, host, sizeof host)) &&
        !good(acu_sync(device, acu_fill(x, acu_f32(0)), NULL))) {
        acu_tensor_release(x);
        return;
    }
    if (good(acu_module_load(device, ACU_PTX(NULL, test_sweep_ptx), &module))) {
        if (good(acu_kernel_get(module, "sweep", &kernel))) {
            use_ops(device, kernel, x);
            use_views(device, kernel, x);
            use_comm(device, x);
            use_graphs(device, kernel, x);
            use_explicit_graph(device, kernel, x);
            acu_kernel_release(kernel);
        }
        acu_module_release(module);
    }
    use_policy(device, x);
    use_wrapped(device, x);
    use_copies(device, x);
    use_second(device, x);
    use_cancel(device, x);
    use_load(device, x);
    use_rescue(device, x);
    use_group(device, x);
    use_queue(device, x);
    use_pools(device);
    use_external(device);
    use_built_in(device, x);
    use_images(device, x);
    use_by_hand(device, x);
    good(acu_read_sync(x, host, sizeof host));
    acu_tensor_release(x);
}

static bool batches; /* all that is done */

static acu_status open_device(int ordinal, acu_device **device)
{
    acu_open_options options = test_options(ordinal);
    options.runtime_thread = handed && ordinal == 0;
    options.one_by_one = alone;
    options.max_in_flight = options.runtime_thread && !batches ? 2 : 0;
    return acu_open(&options, device);
}

static void close_device(acu_device *device)
{
    acu_status closed = acu_close(device);
    if (closed != ACU_OK && closed != ACU_ERR_DEVICE_LOST)
        fail_msg("%s %llu: acu_close: %s", what, (unsigned long long)place,
                 acu_status_name(closed));
}

/* Devices that stay open from run to run; NULL: each run opens its own. */
static acu_device *kept, *second_kept;

/* Ends a run that hangs in something without a time limit, such as a lock. */
static void hangs(int signal)
{
    char text[160];
    (void)signal;
    int n = snprintf(text, sizeof text, "it hangs: what fails is %s %llu%s\n", what,
                     (unsigned long long)place, from_then_on ? " and later ones" : "");
    _exit(write(STDERR_FILENO, text, (size_t)n) == n ? 1 : 2);
}

static void scenario(void)
{
    alarm(HANGS);
    acu_device *device = kept;
    if (!device && !good(open_device(0, &device)))
        return;
    if (batches)
        use_batches(device);
    else
        use_all(device);
    if (!kept)
        close_device(device);
    acu_dlpack_drain();
}

/* ---- nothing is left ---- */

static size_t blocks_before;
static int64_t live_before[ACU_DRIVER_KIND_NONE], spared_before[ACU_DRIVER_KIND_NONE];
static bool lost_context; /* a run lost its device: what its context held went with it */

static void remember(void)
{
    blocks_before = acu_debug_live_blocks();
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++) {
        live_before[kind] = acu_driver_live((acu_driver_kind)kind);
        spared_before[kind] = acu_driver_spared((acu_driver_kind)kind);
    }
}

static int64_t spared_since(acu_driver_kind kind)
{
    return acu_driver_spared(kind) - spared_before[kind];
}

static void nothing_left(void)
{
    char text[1024];
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("%s %llu%s: handles are left:\n%s", what, (unsigned long long)place,
                 from_then_on ? " and on" : "", text);
    if (acu_debug_live_blocks() != blocks_before)
        fail_msg("%s %llu%s: %zu blocks of memory instead of %zu", what, (unsigned long long)place,
                 from_then_on ? " and on" : "", acu_debug_live_blocks(), blocks_before);
    if (atomic_load(&owed) != 0)
        fail_msg("%s %llu%s: user data was released %d times too few", what,
                 (unsigned long long)place, from_then_on ? " and on" : "", atomic_load(&owed));
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE && !lost_context; kind++) {
        int64_t more = acu_driver_live((acu_driver_kind)kind) - live_before[kind];
        int64_t spared = spared_since((acu_driver_kind)kind);
        if (kind == ACU_DRIVER_KIND_ADDRESSES) /* they can not be freed while memory is mapped
                                                * there */
            spared += spared_since(ACU_DRIVER_KIND_MAPPING);
        if (more < 0 || more > spared) /* a second way may have worked */
            fail_msg("%s %llu%s: %lld driver objects of kind %d are left, %lld were spared", what,
                     (unsigned long long)place, from_then_on ? " and on" : "", (long long)more,
                     kind, (long long)spared);
    }
    remember();
}

/* ---- devices that stay open ---- */

enum { RUNS_KEPT = 32 }; /* a failure may switch something off: it is not missed for longer than
                          * this */
static unsigned runs_kept;
static size_t handles_kept[ACU_OBJECT_KIND_COUNT];

/* Whatever a device makes at first use and keeps is made before anything fails. */
static void open_kept(void)
{
    acu_open_options options = test_options(0);
    int count = 0;
    remember();
    assert_works(acu_device_count_load(&options, &count));
    assert_works(open_device(0, &kept));
    if (count > 1)
        assert_works(open_device(1, &second_kept));
    runs_kept = 0;
    const char *failing = what;
    what = "nothing, warming up";
    scenario();
    what = failing;
    assert_works(acu_device_wait(kept, LIMIT));
    while (atomic_load(&owed) > 0)
        sched_yield();
    for (int kind = 0; kind < ACU_OBJECT_KIND_COUNT; kind++)
        handles_kept[kind] = acu_debug_live((acu_object_kind)kind);
}

static void close_kept(void)
{
    if (second_kept)
        close_device(second_kept);
    close_device(kept);
    kept = second_kept = NULL;
    nothing_left();
}

/* A device's own streams, and its policies for a priority, are made when they are needed. */
static bool handles_are_back(void)
{
    acu_dlpack_drain(); /* what was imported may be in use a little longer */
    for (int kind = 0; kind < ACU_OBJECT_KIND_COUNT; kind++)
        if (kind != ACU_OBJECT_STREAM && kind != ACU_OBJECT_POLICY &&
            acu_debug_live((acu_object_kind)kind) > handles_kept[kind])
            return false;
    return atomic_load(&owed) == 0;
}

/* Callbacks may come a little later than the completion that they report. */
static void nothing_left_in_kept(void)
{
    char text[1024];
    acu_device_wait(kept, LIMIT);
    if (second_kept)
        acu_device_wait(second_kept, LIMIT);
    for (time_t end = time(NULL) + 60; !handles_are_back(); sched_yield())
        if (time(NULL) > end) {
            acu_debug_live_report(text, sizeof text);
            fail_msg("%s %llu%s: user data was released %d times too few, or too many handles:\n%s",
                     what, (unsigned long long)place, from_then_on ? " and on" : "",
                     atomic_load(&owed), text);
        }
    bool works = acu_device_status(kept, NULL) == ACU_OK &&
                 (!second_kept || acu_device_status(second_kept, NULL) == ACU_OK);
    lost_context |= !works;
    if (works && ++runs_kept < RUNS_KEPT)
        return;
    close_kept();
    lost_context = false;
    open_kept();
}

/* ---- the sweeps ---- */

static unsigned runs;
static bool inside; /* with devices that stay open */

static void begin(void)
{
    what = "none";
    lost_context = false;
    scenario();
    remember();
    if (inside)
        open_kept();
}

static void end(void)
{
    what = "none";
    if (inside)
        close_kept();
    lost_context = false;
    scenario();
    nothing_left();
}

static void check_run(void)
{
    if (inside)
        nothing_left_in_kept();
    else
        nothing_left();
}

/* One of how many places is tried. */
static uint64_t step(void)
{
    uint64_t times = test_thin();
    bool every = inside == test_on_gpu();
    if (test_on_gpu())
        return times * (every ? (handed ? 12 : 5) : (handed ? 48 : 24));
    return times * (every ? 1 : (handed ? 32 : 16));
}

/* Of each entry point, the first few places, one of many later ones (a waiting thread may ask a
 * thousand times), and the last one. If the sweep is to be very thin, the first and the last ones
 * of some entry points only. */
static bool is_tried(int call, uint64_t nth, uint64_t count)
{
    uint64_t apart = test_thin() < 10 ? 1 : 5;
    if (nth == 1 || nth == count)
        return ((uint64_t)call + (nth == count)) % apart == 0;
    uint64_t later = 7 * step(), most = test_thin() == 1 ? 40 : 8;
    later = count / most > later ? count / most : later;
    return nth % (nth > 8 ? later : step()) == 0;
}

/* A query that can not be answered for good, and a mark that can not be made, lose the device. */
static bool loses_device(acu_driver_call call)
{
    return call == ACU_CALL_EventQuery || call == ACU_CALL_StreamQuery;
}

static void fail_call(acu_driver_call call, uint64_t nth, bool on)
{
    acu_driver_fault fault = {
        .size = sizeof fault, .call = call, .nth = nth, .from_then_on = on};
    what = acu_driver_call_name(call);
    place = nth;
    from_then_on = on;
    lost_context = on && loses_device(call);
    assert_works(acu_driver_fail(&fault));
    scenario();
    acu_driver_fail_clear();
    runs++;
    check_run();
}

static void fail_call_both_ways(acu_driver_call call, uint64_t nth)
{
    for (uint64_t i = 0; i < test_times(); i++) {
        fail_call(call, nth, false);
        fail_call(call, nth, true);
    }
}

static void driver_calls(void)
{
    static uint64_t counts[ACU_CALL_COUNT];
    begin();
    acu_driver_count_calls(true);
    scenario();
    check_run();
    for (int call = 0; call < ACU_CALL_COUNT; call++)
        counts[call] = acu_driver_calls((acu_driver_call)call);
    acu_driver_count_calls(false);
    int kinds = 0;
    runs = 0;
    for (int call = 0; call < ACU_CALL_COUNT; call++) {
        kinds += counts[call] > 0;
        for (uint64_t nth = 1; nth <= counts[call]; nth++) {
            if (is_tried(call, nth, counts[call]))
                fail_call_both_ways((acu_driver_call)call, nth);
        }
    }
    print_message("%d entry points were made to fail, %u times\n", kinds, runs);
    assert_true(kinds > (batches ? 15 : inside ? 30 : 35));
    end();
}

static void allocations(void)
{
    begin();
    acu_debug_fail_alloc(0, false);
    scenario();
    uint64_t count = acu_debug_alloc_count();
    check_run();
    assert_true(count > 60);
    runs = 0;
    what = "allocation";
    for (uint64_t nth = 1; nth <= count; nth += step())
        for (uint64_t i = 0; i < 2 * test_times(); i++) {
            place = nth;
            from_then_on = i % 2;
            acu_debug_fail_alloc(nth, from_then_on);
            scenario();
            acu_debug_fail_alloc(0, false);
            runs++;
            check_run();
        }
    print_message("%llu allocations were made to fail, %u times\n", (unsigned long long)count,
                  runs);
    end();
}

static void sweep_both(bool stays_open, bool hand_over)
{
    inside = stays_open;
    handed = hand_over;
    allocations();
    driver_calls();
}

static void whole(void **state)
{
    (void)state;
    sweep_both(false, false);
}

static void whole_handed_over(void **state)
{
    (void)state;
    sweep_both(false, true);
}

static void in_open_devices(void **state)
{
    (void)state;
    sweep_both(true, false);
}

static void in_open_devices_handed_over(void **state)
{
    (void)state;
    sweep_both(true, true);
}

static void sweep_batches(bool stays_open, bool hand_over)
{
    batches = true;
    atomic_store(&acui_batch_timeless, true);
    sweep_both(stays_open, hand_over);
    atomic_store(&acui_batch_timeless, false);
    atomic_store(&acui_dispatch_patience, ACU_US(100));
    batches = false;
}

static void what_is_batched(void **state)
{
    (void)state;
    sweep_batches(false, false);
    sweep_batches(true, true);
}

/* Only the waits are different there. */
static void waits_one_by_one(void **state)
{
    (void)state;
    inside = handed = false;
    alone = true;
    begin();
    acu_driver_count_calls(true);
    scenario();
    check_run();
    uint64_t count = acu_driver_calls(ACU_CALL_StreamSynchronize);
    acu_driver_count_calls(false);
    assert_true(count > 20);
    for (uint64_t nth = 1; nth <= count; nth += test_thin() * (test_on_gpu() ? 8 : 1))
        fail_call_both_ways(ACU_CALL_StreamSynchronize, nth);
    end();
    alone = false;
}

/* A GPU takes a third of a second to make a context: so contexts are retained here for all runs,
 * which then only find them. */
static const acu_driver_table *holder;
static int held_contexts;

static int hold_contexts(void **state)
{
    (void)state;
    acu_driver_options options = {.size = sizeof options, .allow_software = true};
    CUcontext context;
    if (!test_on_gpu() || acu_driver_open(&options, &holder) != ACU_OK)
        return 0;
    for (int i = 0; i < 2 && i < acu_driver_info_of()->devices; i++, held_contexts++)
        assert_int_equal(holder->DevicePrimaryCtxRetain(&context, i), 0);
    return 0;
}

static int let_go(void **state)
{
    (void)state;
    while (held_contexts)
        assert_int_equal(holder->DevicePrimaryCtxRelease(--held_contexts), 0);
    return 0;
}

/* The argument says which tests to run: `direct` or `handed_over` (two halves, to be run on two
 * cores), or a pattern; without one, all. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "direct") == 0)
        cmocka_set_skip_filter("*handed_over");
    else if (argc > 1 && strcmp(argv[1], "handed_over") == 0)
        cmocka_set_test_filter("*handed_over");
    else if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    signal(SIGALRM, hangs);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole), cmocka_unit_test(whole_handed_over),
        cmocka_unit_test(in_open_devices), cmocka_unit_test(in_open_devices_handed_over),
        cmocka_unit_test(what_is_batched),
        cmocka_unit_test(waits_one_by_one)};
    return cmocka_run_group_tests(tests, hold_contexts, let_go);
}
