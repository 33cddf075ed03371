/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submissions that are put into the queue of a device and issued by its thread, small ones as one
 * graph: with the results, failures and order that each would have had alone; and only those that
 * may be issued so.
 *
 * The thread is awake throughout (test_wake_thread). It is held up while they are submitted, so
 * that it can choose from all of them: before it takes any, or by the lock of the stream on which
 * it is about to issue the first.
 */
#include "support/support.h"
#include "support/batch.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char test_batch_ptx[];

enum { N = 32, MANY = 40 };

typedef struct bed {
    acu_device *device;
    acu_kernel *step;
    acu_tensor *z[MANY]; /* ACU_U32 [N] */
    uint32_t want[MANY];
} bed;

static void make(bed *b)
{
    b->step = test_kernel(b->device, test_batch_ptx, "step");
    for (uint32_t i = 0; i < MANY; i++) {
        b->want[i] = i;
        assert_works(acu_sync(b->device, acu_full(ACU_SHAPE(N), acu_u32(i)), &b->z[i]));
    }
}

static bed begin_on(bool runtime_thread)
{
    bed b = {.device = NULL};
    acu_open_options options = test_options(0);
    options.runtime_thread = runtime_thread;
    atomic_store(&acui_batch_timeless, true);
    assert_works(acu_open(&options, &b.device));
    if (!acu_driver_has(ACU_CALL_GraphInstantiateWithFlags)) {
        test_close(b.device);
        skip();
    }
    make(&b);
    return b;
}

static bed begin_handed(bool runtime_thread)
{
    bed b = begin_on(runtime_thread);
    assert_true(test_wake_thread(b.device));
    return b;
}

static bed begin(void)
{
    return begin_handed(false);
}

static void check(const bed *b)
{
    uint32_t got[N];
    for (int i = 0; i < MANY; i++) {
        assert_works(acu_read_sync(b->z[i], got, sizeof got));
        for (int k = 0; k < N; k++)
            assert_int_equal(got[k], b->want[i]);
    }
}

static void end(bed *b)
{
    check(b);
    for (int i = 0; i < MANY; i++)
        acu_tensor_release(b->z[i]);
    acu_kernel_release(b->step);
    test_close(b->device);
    atomic_store(&acui_batch_timeless, false);
    atomic_store(&acui_dispatch_patience, ACU_US(100));
    test_leaks_none();
}

static void forget_all(bed *b)
{
    for (int i = 0; i < MANY; i++)
        acu_tensor_release(b->z[i]);
    acu_kernel_release(b->step);
}

/* Driver objects stay counted where a context has taken them along. */
static void leaves_no_handles(void)
{
    char text[1024];
    atomic_store(&acui_dispatch_patience, ACU_US(100));
    atomic_store(&acui_batch_timeless, false);
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("handles are left:\n%s", text);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static const acu_config config = {.grid = {1, 1, 1}, .block = {N, 1, 1}};

static acu_op *step_of(const bed *b, acu_arg z, uint32_t c)
{
    return acu_launch(b->step, config, z, acu_u32(c));
}

static acu_op *step(bed *b, int i, uint32_t c)
{
    b->want[i] = 3 * b->want[i] + c;
    return step_of(b, acu_inout(b->z[i]), c);
}

static uint64_t batched(const bed *b)
{
    acu_graph_cache_statistics counts = {.size = sizeof counts};
    assert_works(acu_graph_cache_stats(b->device, &counts));
    return counts.together;
}

/* ---- teaching it that they are short, whatever the clock says ---- */

static void teach_all(const bed *b, uint32_t steps)
{
    const acui_dims dims = {.grid = {1, 1, 1}, .block = {N, 1, 1}};
    test_teach(b->device, test_form_of(b->step, dims, steps), 1, 0, 1000);
}

/* ---- holding the thread up ---- */

static uint32_t count_queued(const bed *b)
{
    return atomic_load(&acui_dispatch_of(b->device)->count);
}

/* It takes nothing until let_go. */
/* The device's thread takes nothing from now on. It is started anew: one that runs may have looked
 * whether it is paused, and be about to take what comes next. */
static void hold(const bed *b)
{
    bool woken = test_thread_is_woken(b->device);
    teach_all(b, 1);
    acui_dispatch_stop();
    atomic_store(&acui_dispatch_paused, true);
    if (woken)
        assert_true(test_wake_thread(b->device));
}

/* Once as many are queued: a runtime thread may still be planning them. */
static void let_go(const bed *b, uint32_t queued)
{
    while (count_queued(b) < queued)
        sched_yield();
    assert_int_equal(count_queued(b), queued);
    atomic_store(&acui_dispatch_paused, false);
}

/* Until all are over, with `status`. */
static void wait_for(acu_future **futures, int count, acu_status status)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(acu_future_wait(futures[i], ACU_FOREVER), status);
        acu_future_release(futures[i]);
    }
}

/* One step, or several, on each tensor; each a submission. */
static void go(bed *b, uint32_t c, uint32_t steps)
{
    acu_future *futures[MANY];
    bool alone = steps > ACUI_BATCH_NODES;
    hold(b);
    teach_all(b, steps);
    for (int i = 0; i < MANY; i++) {
        acu_op *ops[ACUI_BATCH_NODES + 1];
        for (uint32_t k = 0; k < steps; k++)
            ops[k] = step(b, i, c + k);
        assert_works(acu_submit(b->device, acu_op_zip(ops, steps, ACU_SITE), NULL, &futures[i]));
    }
    let_go(b, alone ? ACUI_DISPATCH_BATCHES : MANY);
    wait_for(futures, MANY, ACU_OK);
    assert_works(acu_graph_cache_wait(b->device));
}

/* Their signatures were seen, and have their graphs. */
static void warm(bed *b, uint32_t steps)
{
    for (uint32_t i = 0; i < 3; i++)
        go(b, i, steps);
}

/* ---- tests ---- */

static void go_as_one(bool runtime_thread)
{
    bed b = begin_handed(runtime_thread);
    for (uint32_t steps = 1; steps <= 3; steps += 2) {
        uint64_t before = batched(&b);
        uint32_t c = 0;
        do /* until graphs are there for as many as go to one stream */
            go(&b, c++, steps);
        while (batched(&b) < before + ACUI_BATCH_MOST);
        check(&b);
    }
    end(&b);
}

static void many_go_as_one(void **state)
{
    (void)state;
    go_as_one(false);
}

static void many_go_as_one_that_are_handed_over(void **state)
{
    (void)state;
    go_as_one(true);
}

static void larger_ones_go_alone(void **state)
{
    (void)state;
    bed b = begin();
    for (uint32_t steps = ACUI_BATCH_NODES; steps <= ACUI_BATCH_NODES + 1; steps++) {
        warm(&b, steps);
        uint64_t before = batched(&b);
        go(&b, 7, steps);
        if (steps > ACUI_BATCH_NODES)
            assert_int_equal(batched(&b), before);
        else
            assert_true(batched(&b) > before);
    }
    end(&b);
}

static acui_engine no_engine;
static acu_device none = {.engine = &no_engine};

static void how_many_depends_on_how_long(void **state)
{
    (void)state;
    const uint64_t signature = UINT64_C(0x1234567812340001), other = signature + (1 << 16);
    assert_int_equal(acui_batch_most(&none, signature), 1); /* not known */
    test_teach(&none, signature, 1, 0, ACU_US(90));
    assert_int_equal(acui_batch_most(&none, signature), 1);
    test_teach(&none, signature, 1, 0, ACU_US(40));
    assert_int_equal(acui_batch_most(&none, signature), 2);
    test_teach(&none, signature, 2, 0, ACU_US(40));
    assert_int_equal(acui_batch_most(&none, signature), 4);
    test_teach(&none, signature, ACUI_BATCH_MOST, 0, ACU_US(90));
    assert_int_equal(acui_batch_most(&none, signature), ACUI_BATCH_MOST);
    test_teach(&none, signature, 1, 0, ACU_MS(5)); /* found late: says little */
    assert_int_equal(acui_batch_most(&none, signature), ACUI_BATCH_MOST);
    test_teach(&none, signature, 16, ACU_US(140), ACU_MS(5)); /* not over after 140 us */
    assert_int_equal(acui_batch_most(&none, signature), 8);
    test_teach(&none, signature, 1, ACU_US(101), ACU_US(102));
    assert_int_equal(acui_batch_most(&none, signature), 1);
    test_teach(&none, other, 1, 0, ACU_US(3)); /* in the same place, if there were just one */
    assert_int_equal(acui_batch_most(&none, signature), 1);
    assert_int_equal(acui_batch_most(&none, other), ACUI_BATCH_MOST);
}

static void some_forms_may_come_in_turn(void **state)
{
    (void)state;
    enum { FORMS = 8 };
    const uint64_t signature = UINT64_C(0x2345678923450001), apart = UINT64_C(1) << 32;
    for (int turn = 0; turn < 2; turn++)
        for (uint64_t i = 0; i <= FORMS; i++)
            test_teach(&none, signature + i * apart, 1, 0, ACU_US(i % 2 ? 3 : 40));
    for (uint64_t i = 1; i <= FORMS; i++)
        assert_int_equal(acui_batch_most(&none, signature + i * apart),
                         i % 2 ? ACUI_BATCH_MOST : 2);
    /* Nine are more than there is room for. */
    assert_int_equal(acui_batch_most(&none, signature), 1);
}

static void what_depends_on_each_other_stays_in_order(void **state)
{
    (void)state;
    bed b = begin();
    warm(&b, 1);
    acu_future *futures[MANY];
    hold(&b);
    for (int i = 0; i < MANY; i++)
        futures[i] = test_submit(b.device, step(&b, i % 3, (uint32_t)i));
    let_go(&b, 3);
    wait_for(futures, MANY, ACU_OK);
    end(&b);
}

/* One step on each tensor, and one behind each of these. */
static void what_comes_behind_goes_as_one_too(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[2 * MANY];
    uint64_t before;
    do { /* until there are graphs for both at a time */
        before = batched(&b);
        hold(&b);
        for (int i = 0; i < 2 * MANY; i++)
            futures[i] = test_submit(b.device, step(&b, i % MANY, (uint32_t)i));
        let_go(&b, MANY);
        wait_for(futures, 2 * MANY, ACU_OK);
        assert_works(acu_graph_cache_wait(b.device));
    } while (batched(&b) < before + MANY + ACUI_BATCH_MOST);
    check(&b);
    end(&b);
}

static void a_chosen_stream_is_used(void **state)
{
    (void)state;
    bed b = begin();
    warm(&b, 1);
    acu_stream *stream;
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *futures[MANY];
    uint64_t before = batched(&b);
    hold(&b);
    for (int i = 0; i < MANY; i++)
        assert_works(acu_submit(b.device, step(&b, i, 3), &options, &futures[i]));
    let_go(&b, 0);
    wait_for(futures, MANY, ACU_OK);
    assert_int_equal(batched(&b), before);
    acu_stream_release(stream);
    end(&b);
}

static void go_with_failures(bed *b, acu_tensor *short_one, acu_tensor *other)
{
    acu_future *futures[MANY], *cancelled = NULL;
    hold(b);
    for (int i = 0; i < MANY; i++) {
        futures[i] = test_submit(b->device, step(b, i, 9));
        if (i == 3)
            assert_true(acu_submit(b->device, acu_copy(b->z[0], short_one), NULL, NULL) != ACU_OK);
    }
    cancelled = test_submit(b->device, step_of(b, acu_out(other), 1));
    assert_works(acu_future_cancel(cancelled));
    let_go(b, MANY + 1);
    wait_for(futures, MANY, ACU_OK);
    wait_for(&cancelled, 1, ACU_ERR_CANCELLED);
    assert_works(acu_graph_cache_wait(b->device));
    check(b);
}

/* Submissions whose planning fails, or that are cancelled in time, are not part of it. */
static void each_fails_alone(void **state)
{
    (void)state;
    bed b = begin();
    acu_tensor *short_one = NULL, *other;
    assert_works(acu_sync(b.device, acu_full(ACU_SHAPE(N), acu_f32(0)), &short_one));
    assert_works(acu_sync(b.device, acu_full(ACU_SHAPE(N), acu_u32(0)), &other));
    do
        go_with_failures(&b, short_one, other);
    while (batched(&b) == 0);
    acu_tensor_release(short_one);
    acu_tensor_release(other);
    end(&b);
}

/* ---- memory of their own ---- */

static acu_op *fresh_step(const bed *b, uint32_t c)
{
    return step_of(b, acu_inout(acu_full(ACU_SHAPE(N), acu_u32(c))), c);
}

static void results_of_their_own_too(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[MANY];
    atomic_store(&acui_batch_timeless, false); /* it learns how long they take */
    for (int round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < MANY; i++)
            futures[i] = test_submit(b.device, fresh_step(&b, i));
        for (uint32_t i = 0; i < MANY; i++) {
            uint32_t got[N];
            assert_works(acu_future_wait(futures[i], ACU_FOREVER));
            acu_tensor *z = acu_future_tensor(futures[i], 0);
            assert_works(acu_read_sync(z, got, sizeof got));
            assert_int_equal(got[N - 1], 4 * i);
            acu_future_release(futures[i]);
        }
        assert_works(acu_graph_cache_wait(b.device));
    }
    end(&b);
}

/* ---- what takes long ---- */

static acu_future *last_of_all;

/* While this runs, the submissions that came before it are on the device. */
static acu_op *look(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    while (acu_future_poll(last_of_all) == ACU_NOT_READY)
        continue;
    return acu_op_take(&values[0], ACU_SITE);
}

static void a_callback_holds_none_of_them_up(void **state)
{
    (void)state;
    bed b = begin_on(true);
    acu_future *futures[4], *then;
    teach_all(&b, 1);
    for (int i = 0; i < 4; i++)
        futures[i] = test_submit(b.device, step(&b, i, 2));
    last_of_all = futures[3];
    then = test_submit(b.device, acu_then(acu_scalar(acu_u8(1)), look, NULL));
    wait_for(&then, 1, ACU_OK);
    wait_for(futures, 4, ACU_OK);
    end(&b);
}

/* ---- a driver that refuses ---- */

static void survive(acu_driver_call call, unsigned result)
{
    bed b = begin();
    warm(&b, 1);
    acu_driver_fault fault = {.size = sizeof fault, .call = call, .nth = 1, .result = result};
    assert_works(acu_driver_fail(&fault));
    go(&b, 4, 1);
    assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    go(&b, 8, 1);
    end(&b);
}

static void what_the_driver_refuses_goes_alone(void **state)
{
    (void)state;
    survive(ACU_CALL_GraphLaunch, ACU_CUDA_ERROR_INVALID_VALUE);
    survive(ACU_CALL_GraphExecKernelNodeSetParams, ACU_CUDA_ERROR_INVALID_VALUE);
}

static void a_loss_reaches_all(void **state)
{
    (void)state;
    test_software_only();
    bed b = begin();
    warm(&b, 1);
    acu_future *futures[MANY];
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_GraphLaunch,
                              .nth = 1,
                              .from_then_on = true,
                              .result = ACU_CUDA_ERROR_LAUNCH_FAILED};
    assert_works(acu_driver_fail(&fault));
    hold(&b);
    for (int i = 0; i < MANY; i++)
        futures[i] = test_submit(b.device, step(&b, i, 9));
    let_go(&b, MANY);
    wait_for(futures, MANY, ACU_ERR_DEVICE_LOST);
    acu_driver_fail_clear();
    forget_all(&b);
    acu_close(b.device);
    leaves_no_handles();
}

/* ---- several threads, while it issues ---- */

/* Returns once the thread waits for the lock of the stream that the next task is to go to. */
static acu_stream *hold_while_it_issues(const bed *b)
{
    teach_all(b, 1);
    acui_dispatch_drain(b->device, ACU_FOREVER); /* what it did before is over */
    acui_dispatch *queue = acui_dispatch_of(b->device);
    acu_stream *stream = atomic_load(&queue->stream);
    assert_non_null(stream);
    acui_lock_take(&stream->issue);
    return stream;
}

static void let_it_issue(acu_stream *stream)
{
    acui_lock_give(&stream->issue);
}

enum { CREW = 3, EACH = 4 };

typedef struct hand {
    bed *b;
    int first;
    uint32_t c;
    acu_future *futures[EACH];
    pthread_t thread;
} hand;

static void *submit_some(void *user)
{
    hand *h = user;
    for (int i = 0; i < EACH; i++)
        h->futures[i] = test_submit(h->b->device, step(h->b, h->first + i, h->c));
    return NULL;
}

/* Each thread submits some, which are queued when the device's thread goes on. */
static void go_threads(bed *b)
{
    static uint32_t c; /* never parameters that a graph has already */
    hand crew[CREW];
    acu_stream *held = hold_while_it_issues(b);
    c++;
    for (int i = 0; i < CREW; i++) {
        crew[i] = (hand){.b = b, .first = i * EACH, .c = c};
        assert_int_equal(pthread_create(&crew[i].thread, NULL, submit_some, &crew[i]), 0);
    }
    for (int i = 0; i < CREW; i++)
        pthread_join(crew[i].thread, NULL);
    let_it_issue(held);
    for (int i = 0; i < CREW; i++)
        wait_for(crew[i].futures, EACH, ACU_OK);
    assert_works(acu_graph_cache_wait(b->device));
}

static void what_threads_submit_goes_as_one(void **state)
{
    (void)state;
    bed b = begin();
    do { /* until graphs are there for as many as it finds at once */
        go_threads(&b);
        check(&b);
    } while (batched(&b) == 0);
    end(&b);
}

static void one_behind_the_other(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[EACH];
    for (int round = 0; round < 6; round++) {
        acu_stream *held = hold_while_it_issues(&b);
        for (int i = 0; i < EACH; i++)
            futures[i] = test_submit(b.device, step(&b, i / 3, (uint32_t)i));
        let_it_issue(held);
        wait_for(futures, EACH, ACU_OK);
    }
    end(&b);
}

static void what_is_cancelled_while_queued_is_not_done(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[EACH], *cancelled[EACH];
    for (int round = 0; round < 4; round++) {
        acu_stream *held = hold_while_it_issues(&b);
        for (int i = 0; i < EACH; i++) { /* it is about to issue the first of them */
            futures[i] = test_submit(b.device, step(&b, i, 3));
            cancelled[i] = test_submit(b.device, step_of(&b, acu_inout(b.z[EACH + i]), 1));
        }
        for (int i = 0; i < EACH; i++)
            assert_works(acu_future_cancel(cancelled[i]));
        let_it_issue(held);
        wait_for(futures, EACH, ACU_OK);
        wait_for(cancelled, EACH, ACU_ERR_CANCELLED);
        for (int i = EACH; i < 2 * EACH; i++) { /* their contents are not known now */
            acu_tensor_release(b.z[i]);
            assert_works(acu_sync(b.device, acu_full(ACU_SHAPE(N), acu_u32(b.want[i])), &b.z[i]));
        }
        check(&b);
    }
    end(&b);
}

/* Checks by raw driver calls, which do not wait for acuda's work. */
static void is_there(const bed *b, int i)
{
    uint32_t got[N];
    test_get(b->device, got, acu_tensor_address(b->z[i]), sizeof got);
    for (int k = 0; k < N; k++)
        assert_int_equal(got[k], b->want[i]);
}

/* Its work is on the program's stream when acu_submit returns. */
static void a_thread_that_names_a_stream_comes_behind_it(void **state)
{
    (void)state;
    bed b = begin();
    acu_stream *stream;
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    for (int i = 0; i < MANY; i++) {
        acu_future *first = test_submit(b.device, step(&b, i, 2)), *second = NULL;
        assert_works(acu_submit(b.device, step(&b, i, 3), &options, &second));
        assert_works(acu_stream_wait(stream, ACU_FOREVER));
        is_there(&b, i); /* even if nobody has been told of it yet */
        wait_for(&first, 1, ACU_OK);
        wait_for(&second, 1, ACU_OK);
    }
    acu_stream_release(stream);
    end(&b);
}

static acu_status stand_at_the_gate(void *user, CUstream stream, const acu_val *values,
                                    size_t count)
{
    (void)stream;
    return test_pass_host_gate(user, values, count);
}

/* acu_submit does not wait for functions of the program that the device's thread is running,
 * however long they take. */
static void a_thread_that_names_a_stream_waits_for_no_function(void **state)
{
    (void)state;
    bed b = begin();
    acu_stream *stream;
    acu_future *futures[3];
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    uint64_t second = atomic_exchange(&acui_dispatch_drain_most, ACU_FOREVER);
    test_host_gate_close();
    acu_stream *held = hold_while_it_issues(&b);
    futures[0] = test_submit(b.device, step(&b, 0, 2));
    while (count_queued(&b) > 0)
        sched_yield();
    futures[1] = test_submit(b.device, acu_foreign(stand_at_the_gate, NULL, acu_inout(b.z[0])));
    let_it_issue(held);
    test_host_gate_await();
    assert_works(acu_submit(b.device, step(&b, 1, 3), &options, &futures[2]));
    wait_for(&futures[2], 1, ACU_OK);
    test_host_gate_open();
    wait_for(futures, 2, ACU_OK);
    atomic_store(&acui_dispatch_drain_most, second);
    acu_stream_release(stream);
    end(&b);
}

static void the_thread_survives(acu_driver_call call)
{
    bed b = begin();
    for (int i = 0; i < 8; i++)
        go_threads(&b);
    acu_driver_fault fault = {
        .size = sizeof fault, .call = call, .nth = 1, .result = ACU_CUDA_ERROR_INVALID_VALUE};
    assert_works(acu_driver_fail(&fault));
    go_threads(&b);
    assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    go_threads(&b);
    end(&b);
}

static void the_thread_survives_refusals(void **state)
{
    (void)state;
    the_thread_survives(ACU_CALL_GraphLaunch);
    the_thread_survives(ACU_CALL_GraphExecKernelNodeSetParams);
}

static void a_loss_ends_the_threads_work(void **state)
{
    (void)state;
    test_software_only();
    bed b = begin();
    for (int i = 0; i < 8; i++)
        go_threads(&b);
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_GraphLaunch,
                              .nth = 1,
                              .from_then_on = true,
                              .result = ACU_CUDA_ERROR_LAUNCH_FAILED};
    assert_works(acu_driver_fail(&fault));
    acu_future *futures[EACH];
    acu_stream *held = hold_while_it_issues(&b);
    for (int i = 0; i < EACH; i++)
        futures[i] = test_submit(b.device, step(&b, i, 9));
    let_it_issue(held);
    wait_for(futures, EACH, ACU_ERR_DEVICE_LOST);
    acu_driver_fail_clear();
    for (int i = 0; i < MANY; i++)
        acu_tensor_release(b.z[i]);
    acu_kernel_release(b.step);
    acu_close(b.device);
}

static void it_sleeps_when_there_is_nothing_to_do(void **state)
{
    (void)state;
    bed b = begin();
    atomic_store(&acui_dispatch_patience, 0);
    while (test_queue_is_open(b.device))
        sched_yield();
    acu_future *future = test_submit(b.device, step(&b, 0, 1)); /* by itself */
    wait_for(&future, 1, ACU_OK);
    test_threads_rest();
    assert_true(test_wake_thread(b.device)); /* it can be woken again */
    go_threads(&b);
    end(&b);
}

static void submit_ahead(acu_device *device, int times)
{
    for (int i = 0; i < times; i++)
        acui_dispatch_found(acui_dispatch_of(device), device, true);
}

/* As many as that count for nothing. */
static void submit_slowly(acu_device *device)
{
    for (int i = 0; i < 2 * ACUI_DISPATCH_WAKE; i++)
        acui_dispatch_found(acui_dispatch_of(device), device, false);
}

static void find_busy(acu_device *device, int times)
{
    submit_slowly(device);
    submit_ahead(device, times);
}

static void it_is_woken_if_a_program_submits_ahead(void **state)
{
    (void)state;
    acu_device *device = test_open();
    atomic_store(&acui_dispatch_cores, 3);
    atomic_store(&acui_dispatch_patience, ACU_MS(600000));
    find_busy(device, ACUI_DISPATCH_WAKE - 1);
    find_busy(device, ACUI_DISPATCH_WAKE - 1); /* it did not, in between */
    assert_false(test_thread_is_woken(device));
    submit_ahead(device, 1);
    assert_true(test_thread_is_woken(device));
    atomic_store(&acui_dispatch_patience, ACU_US(100));
    atomic_store(&acui_dispatch_cores, 0);
    test_close(device);
    test_leaks_none();
}

/* The device keeps up with it. */
static void a_thread_that_keeps_submitting_submits_ahead(void **state)
{
    (void)state;
    acu_device *device = test_open();
    uint64_t now = acui_now(); /* of all: this thread may be held up at any place */
    acui_streak_end();
    assert_false(acui_dispatch_is_ahead(device));
    for (int i = 0; i < 32; i++)
        acui_streak_issued(now);
    assert_true(acui_dispatch_is_ahead(device));
    acui_streak_issued(now + ACU_MS(1)); /* after a pause */
    assert_false(acui_dispatch_is_ahead(device));
    for (int i = 0; i < 32; i++)
        acui_streak_issued(now + ACU_MS(1));
    assert_true(acui_dispatch_is_ahead(device));
    acui_streak_end(); /* it had to wait */
    assert_false(acui_dispatch_is_ahead(device));
    test_close(device);
    test_leaks_none();
}

/* Each takes a core from the threads that plan, and even the first is of no use with fewer than
 * three cores. */
static void threads_are_woken_as_far_as_there_are_cores(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    atomic_store(&acui_dispatch_patience, ACU_MS(600000));
    atomic_store(&acui_dispatch_cores, 2);
    find_busy(devices[0], ACUI_DISPATCH_WAKE);
    assert_false(test_thread_is_woken(devices[0]));
    atomic_store(&acui_dispatch_cores, 3);
    find_busy(devices[0], ACUI_DISPATCH_WAKE);
    assert_true(test_thread_is_woken(devices[0]));
    while (!test_queue_is_open(devices[0])) /* it is there */
        sched_yield();
    find_busy(devices[1], ACUI_DISPATCH_WAKE);
    assert_false(test_thread_is_woken(devices[1]));
    atomic_store(&acui_dispatch_cores, 4);
    find_busy(devices[1], ACUI_DISPATCH_WAKE);
    assert_true(test_thread_is_woken(devices[1]));
    atomic_store(&acui_dispatch_patience, 0);
    while (test_thread_is_woken(devices[0]) || test_thread_is_woken(devices[1]))
        sched_yield();
    atomic_store(&acui_dispatch_patience, ACU_MS(600000));
    atomic_store(&acui_dispatch_cores, 3); /* the place of the first is free again */
    find_busy(devices[1], ACUI_DISPATCH_WAKE);
    assert_true(test_thread_is_woken(devices[1]));
    atomic_store(&acui_dispatch_cores, 0);
    atomic_store(&acui_dispatch_patience, ACU_US(100));
    test_close(devices[1]);
    test_close(devices[0]);
    test_leaks_none();
}

/* ---- what else may happen while tasks are queued ---- */

/* The thread is about to issue the first of them, and has not seen the others. */
static acu_stream *queue_some(bed *b, acu_future *futures[EACH], uint32_t c)
{
    acu_stream *held = hold_while_it_issues(b);
    for (int i = 0; i < EACH; i++) {
        futures[i] = test_submit(b->device, step(b, i, c));
        while (i == 0 && count_queued(b) > 0)
            sched_yield();
    }
    return held;
}

/* The submitting thread goes on while the device's thread is busy, with more tasks than can be
 * issued as one. */
static void it_has_several_batches(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[MANY];
    for (uint32_t round = 0; round < 3; round++) {
        acu_stream *held = hold_while_it_issues(&b);
        for (int i = 0; i < MANY; i++)
            futures[i] = test_submit(b.device, step(&b, i, round));
        assert_true(count_queued(&b) >= MANY - ACUI_BATCH_MOST);
        let_it_issue(held);
        wait_for(futures, MANY, ACU_OK);
        check(&b);
    }
    end(&b);
}

enum { LARGE = 10 }; /* nodes: more than a task of a batch has */

static acu_future *submit_large(bed *b, int i, uint32_t c)
{
    acu_op *ops[LARGE];
    for (uint32_t k = 0; k < LARGE; k++)
        ops[k] = step(b, i, c + k);
    return test_submit(b->device, acu_op_zip(ops, LARGE, ACU_SITE));
}

/* The thread issues one while the next one is planned. */
static void large_ones_are_issued_by_it(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *first[EACH], *large[EACH], *behind[EACH];
    for (uint32_t round = 0; round < 4; round++) {
        acu_stream *held = queue_some(&b, first, round);
        uint32_t before = count_queued(&b);
        for (int i = 0; i < EACH; i++) /* behind nothing, and behind what is queued */
            large[i] = submit_large(&b, EACH + i, round);
        assert_int_equal(count_queued(&b), before + EACH);
        for (int i = 0; i < EACH; i++)
            behind[i] = submit_large(&b, i % 2 ? i : EACH + i, 7);
        assert_int_equal(acu_future_poll(large[0]), ACU_NOT_READY);
        let_it_issue(held);
        wait_for(first, EACH, ACU_OK);
        wait_for(large, EACH, ACU_OK);
        wait_for(behind, EACH, ACU_OK);
        check(&b);
    }
    end(&b);
}

enum { CHAINS = 12 }; /* fewer than ACUI_DISPATCH_BATCHES */

static void submit_chains(bed *b, acu_future *futures[2 * CHAINS])
{
    for (int i = 0; i < 2 * CHAINS; i++)
        futures[i] = submit_large(b, i % CHAINS, (uint32_t)i);
}

/* The queue is open as if the thread was there, but nobody takes tasks: this one has to. */
static bed begin_open(void)
{
    bed b = begin_on(false);
    teach_all(&b, 1);
    acui_dispatch_open(acui_dispatch_of(b.device), acui_policy_pick(b.device->policy));
    return b;
}

static void end_open(bed *b)
{
    acui_dispatch_close(acui_dispatch_of(b->device));
    end(b);
}

static void draining_includes_what_came_behind(void **state)
{
    (void)state;
    bed b = begin_open();
    acu_future *futures[2 * CHAINS];
    submit_chains(&b, futures);
    assert_int_equal(count_queued(&b), CHAINS); /* the others wait for these */
    acui_dispatch_drain(b.device, ACU_FOREVER);
    assert_int_equal(count_queued(&b), 0);
    wait_for(futures, 2 * CHAINS, ACU_OK);
    end_open(&b);
}

/* Followers of the tasks that are issued do not keep the consumer from other tasks in the queue. */
static void the_consumer_takes_turns(void **state)
{
    (void)state;
    bed b = begin_open();
    acu_future *futures[3 * MANY];
    for (int i = 0; i < 3 * MANY; i++)
        futures[i] = submit_large(&b, 0, (uint32_t)i);
    acu_future *others[2] = {submit_large(&b, 1, 5), submit_large(&b, 2, 6)};
    assert_int_equal(count_queued(&b), 3);
    assert_true(acui_dispatch_issue(acui_dispatch_of(b.device)));
    assert_int_equal(count_queued(&b), 0);
    assert_true(test_queue_is_open(b.device));
    wait_for(others, 2, ACU_OK);
    wait_for(futures, 3 * MANY, ACU_OK);
    end_open(&b);
}

/* A thread that finds it full issues some of it; and closing issues the rest. */
static void a_full_queue_is_worked_off_by_who_adds(void **state)
{
    (void)state;
    bed b = begin_open();
    acu_future *futures[MANY];
    for (int i = 0; i < MANY; i++)
        futures[i] = test_submit(b.device, fresh_step(&b, (uint32_t)i));
    assert_int_equal(count_queued(&b), ACUI_DISPATCH_BATCHES);
    wait_for(futures, 1, ACU_OK);
    acui_dispatch_close(acui_dispatch_of(b.device));
    wait_for(futures + 1, MANY - 1, ACU_OK);
    end(&b);
}

/* It is issued at once, however much is queued. */
static void what_a_thread_waits_for_is_not_queued(void **state)
{
    (void)state;
    bed b = begin_open();
    acu_future *first = test_submit(b.device, step(&b, 0, 1));
    assert_int_equal(count_queued(&b), 1);
    assert_works(acu_sync(b.device, step(&b, 1, 2), NULL));
    assert_int_equal(count_queued(&b), 1);
    acui_dispatch_close(acui_dispatch_of(b.device));
    wait_for(&first, 1, ACU_OK);
    end(&b);
}

/* A function of the program's may take any time, so nothing is queued while the consumer runs it.
 * */
static void *submit_one(void *user)
{
    bed *b = user;
    last_of_all = test_submit(b->device, step(b, 1, 5));
    return NULL;
}

static uint32_t queued_meanwhile = 1;

static acu_status lets_others_submit(void *user, CUstream stream, const acu_val *values,
                                     size_t count)
{
    pthread_t thread;
    (void)stream, (void)values, (void)count;
    queued_meanwhile = count_queued(user);
    if (pthread_create(&thread, NULL, submit_one, user) == 0)
        pthread_join(thread, NULL);
    queued_meanwhile += count_queued(user);
    return ACU_OK;
}

static void nothing_is_queued_behind_a_function(void **state)
{
    (void)state;
    bed b = begin_open();
    acu_future *futures[3] = {test_submit(b.device, step(&b, 0, 1))};
    futures[1] = test_submit(b.device, acu_foreign(lets_others_submit, &b, acu_inout(b.z[0])));
    futures[2] = submit_large(&b, 2, 1);
    assert_int_equal(count_queued(&b), 2);
    assert_true(acui_dispatch_issue(acui_dispatch_of(b.device)));
    assert_int_equal(queued_meanwhile, 0);
    wait_for(&last_of_all, 1, ACU_OK);
    wait_for(futures, 3, ACU_OK);
    futures[0] = test_submit(b.device, step(&b, 0, 1)); /* it is open again */
    assert_int_equal(count_queued(&b), 1);
    acui_dispatch_drain(b.device, ACU_FOREVER);
    wait_for(futures, 1, ACU_OK);
    end_open(&b);
}

static void a_large_one_that_is_cancelled_while_queued_is_not_done(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *first[EACH], *cancelled, *behind;
    acu_stream *held = queue_some(&b, first, 1);
    cancelled = submit_large(&b, EACH, 1);
    behind = submit_large(&b, EACH, 2);
    assert_works(acu_future_cancel(cancelled));
    let_it_issue(held);
    wait_for(first, EACH, ACU_OK);
    wait_for(&cancelled, 1, ACU_ERR_CANCELLED);
    wait_for(&behind, 1, ACU_ERR_DEPENDENCY);
    acu_tensor_release(b.z[EACH]); /* its contents are not known now */
    assert_works(acu_sync(b.device, acu_full(ACU_SHAPE(N), acu_u32(b.want[EACH])), &b.z[EACH]));
    end(&b);
}

static void what_is_too_late_while_queued_is_not_done(void **state)
{
    (void)state;
    bed b = begin();
    acu_submit_options options = {.size = sizeof options, .timeout = ACU_MS(1)};
    acu_future *futures[EACH], *late[EACH];
    acu_stream *held = queue_some(&b, futures, 3);
    for (int i = 0; i < EACH; i++) {
        acu_op *op = step_of(&b, acu_inout(b.z[EACH + i]), 1);
        assert_works(acu_submit(b.device, op, &options, &late[i]));
    }
    wait_for(late, EACH, ACU_ERR_DEADLINE); /* while they are there */
    let_it_issue(held);
    wait_for(futures, EACH, ACU_OK);
    for (int i = EACH; i < 2 * EACH; i++) { /* their contents are not known now */
        assert_int_equal(acu_read_sync(b.z[i], (uint32_t[N]){0}, N * sizeof(uint32_t)),
                         ACU_ERR_DEPENDENCY);
        acu_tensor_release(b.z[i]);
        assert_works(acu_sync(b.device, acu_full(ACU_SHAPE(N), acu_u32(b.want[i])), &b.z[i]));
    }
    end(&b);
}

/* User data that is released with the last use of a submission's memory, on any thread. */
typedef struct last_use {
    bed *b;
    acu_stream *stream;
    _Atomic(int) status; /* of the submission that the release made; 1: none yet */
} last_use;

static uint32_t host_memory[N];

static void submit_at_last_use(void *user)
{
    last_use *last = user;
    acu_submit_options options = {.size = sizeof options, .stream = last->stream};
    atomic_store(&last->status,
                 acu_submit(last->b->device, acu_fill(last->b->z[0], acu_u32(7)), &options, NULL));
}

/* A submission that is given up releases its memory on the thread that was to issue it; the release
 * may submit. */
static void a_release_on_the_issuing_thread_may_submit(void **state)
{
    (void)state;
    bed b = begin();
    last_use last = {.b = &b, .status = 1};
    acu_buffer *buffer;
    acu_tensor *wrapped;
    acu_future *futures[EACH], *cancelled;
    assert_works(acu_stream_create(b.device, 0, &last.stream));
    assert_works(acu_buffer_wrap_host(b.device, host_memory, sizeof host_memory,
                                      ACU_USER(&last, submit_at_last_use), &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_U32, ACU_SHAPE(N), &wrapped));
    acu_buffer_release(buffer);
    acu_stream *held = queue_some(&b, futures, 3);
    cancelled = test_submit(b.device, step_of(&b, acu_inout(wrapped), 1));
    acu_tensor_release(wrapped);
    assert_works(acu_future_cancel(cancelled));
    assert_int_equal(atomic_load(&last.status), 1);
    let_it_issue(held);
    wait_for(futures, EACH, ACU_OK);
    wait_for(&cancelled, 1, ACU_ERR_CANCELLED);
    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    while (atomic_load(&last.status) == 1)
        sched_yield();
    assert_int_equal(atomic_load(&last.status), ACU_OK);
    b.want[0] = 7;
    assert_works(acu_stream_wait(last.stream, ACU_FOREVER));
    acu_stream_release(last.stream);
    end(&b);
}

static void a_child_gets_errors(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[EACH];
    int status = -1;
    acu_stream *held = queue_some(&b, futures, 3);
    test_before_fork();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60); /* what takes longer hangs */
        bool refused = acu_submit(b.device, step_of(&b, acu_inout(b.z[0]), 1), NULL, NULL) ==
                           ACU_ERR_FORKED &&
                       acu_future_wait(futures[0], ACU_FOREVER) == ACU_ERR_FORKED &&
                       acu_future_cancel(futures[1]) == ACU_ERR_FORKED &&
                       acu_device_wait(b.device, ACU_FOREVER) == ACU_ERR_FORKED;
        acu_future_release(futures[2]);
        forget_all(&b);
        _exit(refused && acu_close(b.device) == ACU_ERR_FORKED ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    let_it_issue(held);
    wait_for(futures, EACH, ACU_OK);
    go_threads(&b);
    end(&b);
}

static void *close_last(void *device)
{
    return acu_close(device) == ACU_OK ? device : NULL;
}

static void the_last_close_waits_for_them(void **state)
{
    (void)state;
    bed b = begin();
    acu_future *futures[EACH];
    pthread_t closer;
    void *closed = NULL;
    acu_stream *held = queue_some(&b, futures, 3);
    forget_all(&b);
    assert_int_equal(pthread_create(&closer, NULL, close_last, b.device), 0);
    for (int i = 0; i < EACH; i++)
        assert_int_equal(acu_future_poll(futures[i]), ACU_NOT_READY);
    let_it_issue(held);
    pthread_join(closer, &closed);
    assert_ptr_equal(closed, b.device);
    wait_for(futures, EACH, ACU_OK);
    leaves_no_handles();
    test_leaks_none();
}

/* The device is lost by other work. */
static void a_loss_reaches_what_is_queued(void **state)
{
    (void)state;
    test_software_only();
    bed b = begin();
    acu_future *futures[EACH];
    size_t bytes;
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_MemGetInfo,
                              .nth = 1,
                              .result = ACU_CUDA_ERROR_LAUNCH_FAILED};
    acu_stream *held = queue_some(&b, futures, 3);
    assert_works(acu_driver_fail(&fault));
    assert_int_equal(acu_device_memory(b.device, &bytes, &bytes), ACU_ERR_DEVICE_LOST);
    acu_driver_fail_clear();
    let_it_issue(held);
    wait_for(futures, EACH, ACU_ERR_DEVICE_LOST);
    forget_all(&b);
    acu_close(b.device);
    leaves_no_handles();
}

typedef struct renewal {
    acu_device *old, *fresh;
    acu_status status;
} renewal;

static void *reset(void *user)
{
    static const acu_reset_options options = {
        .size = sizeof options, .nothing_else_in_this_process_uses_the_device = true};
    renewal *r = user;
    r->status = acu_device_reset(r->old, &options, &r->fresh);
    return NULL;
}

/* Tasks that are queued when a device is reset are issued, or fail with the reason; the thread
 * leaves the old device, and serves the new one. */
static void a_reset_ends_the_threads_work(void **state)
{
    (void)state;
    test_software_only();
    bed b = begin();
    acu_future *futures[EACH];
    pthread_t thread;
    renewal r = {.old = b.device};
    int stale = 0;
    acu_stream *held = queue_some(&b, futures, 3);
    assert_int_equal(pthread_create(&thread, NULL, reset, &r), 0);
    while (!atomic_load(&r.old->refusing)) /* from here on nothing new is issued on it */
        sched_yield();
    let_it_issue(held);
    for (int i = 0; i < EACH; i++) {
        acu_status status = acu_future_wait(futures[i], ACU_FOREVER);
        assert_true(status == ACU_OK || status == ACU_ERR_STALE);
        stale += status == ACU_ERR_STALE;
        acu_future_release(futures[i]);
    }
    pthread_join(thread, NULL);
    assert_works(r.status);
    assert_true(stale > 0);
    forget_all(&b);
    test_close(r.old);
    b.device = r.fresh;
    make(&b);
    assert_true(test_wake_thread(b.device));
    go_threads(&b);
    check(&b);
    forget_all(&b);
    test_close(b.device);
    leaves_no_handles();
}

/* A single thread is enough to have it woken, but not if it waits for each submission. Its work
 * stays in flight behind a stream that is held up, since the device may be faster than this thread.
 * */
static void a_thread_with_much_in_flight_has_it_woken(void **state)
{
    (void)state;
    bed b = begin_on(false);
    acu_stream *stream;
    acu_op *ops[MANY];
    acu_future *first, *futures[2 * MANY];
    assert_works(acu_stream_create(b.device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    atomic_store(&acui_dispatch_patience, ACU_MS(600000));
    atomic_store(&acui_dispatch_cores, 64);
    atomic_store(&acui_batch_timeless, false);
    for (int i = 0; i < 3 * MANY; i++) {
        futures[0] = test_submit(b.device, step(&b, i % MANY, 1));
        wait_for(futures, 1, ACU_OK);
    }
    assert_false(test_thread_is_woken(b.device));
    test_gate_close(b.device, acu_stream_raw(stream));
    for (int i = 0; i < MANY; i++)
        ops[i] = step(&b, i, 2);
    assert_works(acu_submit(b.device, acu_op_zip(ops, MANY, ACU_SITE), &options, &first));
    for (int i = 0; i < 2 * MANY; i++)
        futures[i] = test_submit(b.device, step(&b, i % MANY, 3));
    assert_true(test_thread_is_woken(b.device));
    test_gate_open();
    wait_for(&first, 1, ACU_OK);
    wait_for(futures, 2 * MANY, ACU_OK);
    acu_stream_release(stream);
    atomic_store(&acui_dispatch_cores, 0);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_go_as_one),
        cmocka_unit_test(many_go_as_one_that_are_handed_over),
        cmocka_unit_test(larger_ones_go_alone),
        cmocka_unit_test(how_many_depends_on_how_long),
        cmocka_unit_test(some_forms_may_come_in_turn),
        cmocka_unit_test(what_depends_on_each_other_stays_in_order),
        cmocka_unit_test(what_comes_behind_goes_as_one_too),
        cmocka_unit_test(a_chosen_stream_is_used),
        cmocka_unit_test(each_fails_alone),
        cmocka_unit_test(results_of_their_own_too),
        cmocka_unit_test(a_callback_holds_none_of_them_up),
        cmocka_unit_test(what_the_driver_refuses_goes_alone),
        cmocka_unit_test(what_threads_submit_goes_as_one),
        cmocka_unit_test(one_behind_the_other),
        cmocka_unit_test(what_is_cancelled_while_queued_is_not_done),
        cmocka_unit_test(a_thread_that_names_a_stream_comes_behind_it),
        cmocka_unit_test(a_thread_that_names_a_stream_waits_for_no_function),
        cmocka_unit_test(the_thread_survives_refusals),
        cmocka_unit_test(it_sleeps_when_there_is_nothing_to_do),
        cmocka_unit_test(it_is_woken_if_a_program_submits_ahead),
        cmocka_unit_test(a_thread_that_keeps_submitting_submits_ahead),
        cmocka_unit_test(threads_are_woken_as_far_as_there_are_cores),
        cmocka_unit_test(a_thread_with_much_in_flight_has_it_woken),
        cmocka_unit_test(it_has_several_batches),
        cmocka_unit_test(large_ones_are_issued_by_it),
        cmocka_unit_test(what_a_thread_waits_for_is_not_queued),
        cmocka_unit_test(draining_includes_what_came_behind),
        cmocka_unit_test(the_consumer_takes_turns),
        cmocka_unit_test(a_full_queue_is_worked_off_by_who_adds),
        cmocka_unit_test(nothing_is_queued_behind_a_function),
        cmocka_unit_test(a_large_one_that_is_cancelled_while_queued_is_not_done),
        cmocka_unit_test(what_is_too_late_while_queued_is_not_done),
        cmocka_unit_test(a_release_on_the_issuing_thread_may_submit),
        cmocka_unit_test(a_child_gets_errors),
        cmocka_unit_test(the_last_close_waits_for_them),
        /* These tests leave driver objects behind. */
        cmocka_unit_test(a_loss_reaches_all),
        cmocka_unit_test(a_loss_ends_the_threads_work),
        cmocka_unit_test(a_loss_reaches_what_is_queued),
        cmocka_unit_test(a_reset_ends_the_threads_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
