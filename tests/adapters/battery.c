/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The tests of an adapter, whatever its loop: completions and callbacks arrive in the loop's
 * thread, exactly once, in batches, along with other events; the adapter can be stopped at any
 * time.
 */
#include "adapters/battery.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { N = 64, MOST = 256 };

static const loop_kind *kind;

/* What the adapter under test has delivered. */
static struct {
    void *adapter;
    acu_queue *queue;
    acu_device *device;
    pthread_t thread;
    size_t count, batches, callbacks, releases;
    unsigned seen[MOST]; /* by tag */
    acu_status status[MOST];
    size_t again;        /* submissions that the batch function still makes */
    bool stop_in_batch, stop_in_callback, elsewhere;
    int pipe[2];
    size_t readable, idles;
} t;

static acu_op *work(void)
{
    return acu_zeros(ACU_F32, ACU_SHAPE(N));
}

static void submit_tagged(uint64_t tag)
{
    acu_submit_options options = {.size = sizeof options, .queue = t.queue, .tag = tag};
    assert_works(acu_submit(t.device, work(), &options, NULL));
}

static void stop(void)
{
    kind->stop(t.adapter);
    t.adapter = NULL;
}

static void completed(void *user, const acu_completion *done, size_t count)
{
    assert_ptr_equal(user, &t);
    assert_non_null(t.adapter); /* else it was stopped */
    t.elsewhere |= !pthread_equal(pthread_self(), t.thread);
    t.batches++;
    for (size_t i = 0; i < count; i++) {
        assert_true(done[i].tag < MOST);
        assert_int_not_equal(acu_future_poll(done[i].future), ACU_NOT_READY);
        t.seen[done[i].tag]++;
        t.status[done[i].tag] = done[i].status;
        t.count++;
    }
    if (t.again) {
        t.again--;
        submit_tagged(0);
    }
    if (t.stop_in_batch)
        stop();
}

static void called(void *user, acu_future *future, acu_status status)
{
    assert_ptr_equal(user, &t);
    t.elsewhere |= !pthread_equal(pthread_self(), t.thread);
    t.callbacks += status == ACU_OK && acu_future_poll(future) == ACU_OK;
    if (t.stop_in_callback)
        stop();
}

static void released(void *user)
{
    assert_ptr_equal(user, &t);
    t.releases++;
}

void battery_readable(void)
{
    char byte;
    assert_int_equal(read(t.pipe[0], &byte, 1), 1);
    t.readable++;
}

void battery_idle(void)
{
    t.idles++;
}

/* ---- the scene ---- */

static void start(uint64_t busy_poll)
{
    acu_loop_options options = {.size = sizeof options,
                                .fn = completed,
                                .user = {&t, released},
                                .busy_poll = busy_poll};
    assert_int_equal(kind->start(t.queue, &options, &t.adapter), ACU_OK);
}

static int set_up(void **state)
{
    (void)state;
    const char *why = kind->open();
    if (why) {
        fprintf(stderr, "%s is not available here, its tests are skipped: %s\n", kind->name, why);
        skip();
    }
    memset(&t, 0, sizeof t);
    t.thread = pthread_self();
    t.device = test_open();
    assert_works(acu_queue_create(NULL, &t.queue));
    return 0;
}

static void tear_down(void)
{
    if (t.adapter)
        stop();
    for (int i = 0; i < 3; i++) /* lets the loop close what was stopped */
        kind->turn(NULL, false);
    acu_queue_release(t.queue);
    test_close(t.device);
    kind->close();
    assert_false(t.elsewhere);
    test_leaks_none();
}

static void turn(bool block)
{
    kind->turn(t.adapter, block);
}

static void submitted(void)
{
    if (kind->submitted)
        kind->submitted(t.adapter);
}

static void turn_until(size_t count)
{
    while (t.count < count)
        turn(true);
    assert_int_equal(t.count, count);
}

static void assert_seen_once(size_t tags)
{
    for (size_t i = 0; i < tags; i++) {
        assert_int_equal(t.seen[i], 1);
        assert_int_equal(t.status[i], ACU_OK);
    }
}

/* A submission that stays in flight until test_gate_open. */
static acu_stream *hold(uint64_t tag, acu_future **future)
{
    acu_stream *stream;
    assert_works(acu_stream_create(t.device, 0, &stream));
    test_gate_close(t.device, acu_stream_raw(stream));
    acu_submit_options options = {
        .size = sizeof options, .queue = t.queue, .tag = tag, .stream = stream};
    assert_works(acu_submit(t.device, work(), &options, future));
    return stream;
}

static size_t take_by_hand(void)
{
    acu_completion done[MOST];
    size_t count, all = 0;
    do { /* completions that were put back may not arrive in one batch with the rest */
        assert_works(acu_queue_take(t.queue, done, MOST, &count));
        for (size_t i = 0; i < count; i++)
            acu_future_release(done[i].future);
        all += count;
    } while (count > 0);
    return all;
}

/* ---- delivering ---- */

static void completions_come_in_the_loop(void **state)
{
    set_up(state);
    start(0);
    turn(false);
    assert_int_equal(t.count, 0);
    for (uint64_t i = 0; i < 20; i++)
        submit_tagged(i);
    turn_until(20);
    assert_seen_once(20);
    assert_int_equal(acu_queue_pending(t.queue), 0);
    stop();
    turn(false);
    tear_down();
    assert_int_equal(t.releases, 1);
}

static void callbacks_come_in_the_loop(void **state)
{
    set_up(state);
    acu_loop_options options = {.size = sizeof options};
    assert_int_equal(kind->start(t.queue, &options, &t.adapter), ACU_OK);
    for (int i = 0; i < 10; i++) {
        acu_future *future;
        assert_works(acu_submit(t.device, work(), NULL, &future));
        assert_works(acu_future_when_complete(future, t.queue, 0, called, ACU_USER(&t, released)));
        acu_future_release(future);
    }
    submit_tagged(1); /* nobody receives this one: it is dropped */
    while (t.callbacks < 10 || acu_queue_pending(t.queue))
        turn(true);
    assert_int_equal(t.callbacks, 10);
    assert_int_equal(t.releases, 10);
    assert_int_equal(t.count, 0);
    tear_down();
}

static void a_turn_delivers_a_batch(void **state)
{
    set_up(state);
    start(0);
    for (uint64_t i = 0; i < 2 * ACU_LOOP_BATCH + 10; i++)
        submit_tagged(i);
    assert_works(acu_device_wait(t.device, ACU_FOREVER));
    for (size_t batch = 1; batch <= 3; batch++) {
        while (t.batches < batch)
            turn(true);
        assert_int_equal(t.batches, batch);
        assert_int_equal(t.count, batch < 3 ? batch * ACU_LOOP_BATCH : 2 * ACU_LOOP_BATCH + 10);
    }
    assert_seen_once(2 * ACU_LOOP_BATCH + 10);
    tear_down();
}

static void callbacks_submit_again(void **state)
{
    set_up(state);
    start(0);
    t.again = 99;
    submit_tagged(0);
    turn_until(100);
    assert_int_equal(t.seen[0], 100);
    tear_down();
}

static void failures_are_delivered(void **state)
{
    set_up(state);
    start(0);
    acu_future *future;
    acu_stream *stream = hold(3, &future);
    assert_works(acu_future_cancel(future));
    turn_until(1);
    assert_int_equal(t.status[3], ACU_ERR_CANCELLED);
    test_gate_open();
    acu_future_release(future);
    acu_stream_release(stream);
    tear_down();
}

/* ---- beside others ---- */

static void other_events(uint64_t busy_poll)
{
    start(busy_poll);
    assert_int_equal(pipe(t.pipe), 0);
    kind->watch(t.pipe[0]);
    acu_stream *stream = hold(0, NULL);
    submitted();
    for (size_t i = 1; i <= 5; i++) { /* while the work is held up */
        assert_int_equal(write(t.pipe[1], "x", 1), 1);
        while (t.readable < i)
            turn(true);
        assert_int_equal(t.count, 0);
    }
    test_gate_open();
    turn_until(1);
    assert_int_equal(t.readable, 5);
    kind->unwatch();
    close(t.pipe[0]);
    close(t.pipe[1]);
    acu_stream_release(stream);
    tear_down();
}

static void other_events_go_on_while_work_is_pending(void **state)
{
    set_up(state);
    other_events(0);
}

static void other_events_go_on_while_it_looks_without_pause(void **state)
{
    set_up(state);
    other_events(ACU_SECONDS(3600));
}

static void the_least_urgent_have_turns_while_it_looks_without_pause(void **state)
{
    set_up(state);
    if (kind->idle) {
        start(ACU_SECONDS(3600));
        acu_stream *stream = hold(0, NULL);
        submitted();
        kind->idle(true);
        while (t.idles < 5)
            turn(true);
        kind->idle(false);
        test_gate_open();
        turn_until(1);
        acu_stream_release(stream);
    }
    tear_down();
}

static void looking_without_pause_finds_all(void **state)
{
    set_up(state);
    start(ACU_SECONDS(3600));
    t.again = 20;
    for (uint64_t i = 0; i < 30; i++)
        submit_tagged(i);
    submitted();
    turn_until(50);
    for (uint64_t i = 1; i < 30; i++)
        assert_int_equal(t.seen[i], 1);
    tear_down();
}

/* ---- asleep or not ---- */

/* A second thread watches the loop's thread, and does something once that is asleep, or is not. */
typedef struct watcher {
    pthread_t thread;
    pid_t watched;
    clockid_t clock; /* of the watched thread's processor time */
    bool asleep;     /* whether to wait until it sleeps, or until it has used 5 ms */
    bool seen;
    void (*then)(void);
} watcher;

static uint64_t cpu_time(const watcher *w)
{
    struct timespec now;
    assert_int_equal(clock_gettime(w->clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_sleeping(const watcher *w)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)w->watched);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state == 'S';
}

static void *look_at_loop(void *user)
{
    watcher *w = user;
    uint64_t start = cpu_time(w), last = start, now;
    for (int still = 0; still < 5; last = now) {
        poll(NULL, 0, 1);
        now = cpu_time(w);
        if (w->asleep)
            still = now == last && is_sleeping(w) ? still + 1 : 0;
        else
            still = now - start > ACU_MS(5) ? 5 : 0;
    }
    w->seen = true;
    w->then();
    return NULL;
}

static watcher *look_from_outside(bool asleep, void (*then)(void))
{
    static watcher w;
    w = (watcher){.watched = gettid(), .asleep = asleep, .then = then};
    assert_int_equal(pthread_getcpuclockid(pthread_self(), &w.clock), 0);
    assert_int_equal(pthread_create(&w.thread, NULL, look_at_loop, &w), 0);
    return &w;
}

static void await_watcher(watcher *w)
{
    pthread_join(w->thread, NULL);
    assert_true(w->seen);
}

static void write_pipe(void)
{
    assert_int_equal(write(t.pipe[1], "x", 1), 1);
}

static void it_looks_without_pause(void **state)
{
    set_up(state);
    if (!kind->own_wait) {
        start(ACU_SECONDS(3600));
        acu_stream *stream = hold(0, NULL);
        submitted();
        watcher *w = look_from_outside(false, test_gate_open);
        turn_until(1);
        await_watcher(w);
        acu_stream_release(stream);
    }
    tear_down();
}

static void it_sleeps_when_it_has_looked_for_long_enough(void **state)
{
    set_up(state);
    start(ACU_US(200));
    acu_stream *stream = hold(0, NULL);
    submitted();
    watcher *w = look_from_outside(true, test_gate_open);
    turn_until(1);
    await_watcher(w);
    acu_stream_release(stream);
    tear_down();
}

static void it_sleeps_when_nothing_is_pending(void **state)
{
    set_up(state);
    start(ACU_SECONDS(3600));
    submit_tagged(0);
    submitted();
    turn_until(1);
    assert_int_equal(acu_queue_pending(t.queue), 0);
    assert_int_equal(pipe(t.pipe), 0);
    kind->watch(t.pipe[0]);
    watcher *w = look_from_outside(true, write_pipe);
    while (!t.readable)
        turn(true);
    await_watcher(w);
    kind->unwatch();
    close(t.pipe[0]);
    close(t.pipe[1]);
    assert_int_equal(t.batches, 1);
    tear_down();
}

/* ---- stopping ---- */

static void stopping_with_work_pending(void **state)
{
    set_up(state);
    start(0);
    acu_stream *stream = hold(0, NULL);
    turn(false);
    stop();
    for (int i = 0; i < 3; i++)
        turn(false);
    assert_int_equal(t.releases, 1);
    test_gate_open();
    assert_works(acu_device_wait(t.device, ACU_FOREVER));
    turn(false);
    assert_int_equal(t.count, 0);
    start(0); /* the queue still has it */
    turn_until(1);
    assert_seen_once(1);
    acu_stream_release(stream);
    tear_down();
    assert_int_equal(t.releases, 2);
}

static void stopping_in_a_batch(void **state)
{
    set_up(state);
    start(ACU_MS(1));
    t.stop_in_batch = true;
    for (uint64_t i = 0; i < ACU_LOOP_BATCH + 8; i++)
        submit_tagged(i);
    assert_works(acu_device_wait(t.device, ACU_FOREVER));
    while (t.adapter)
        turn(true);
    for (int i = 0; i < 3; i++)
        turn(false);
    assert_int_equal(t.batches, 1);
    assert_int_equal(t.releases, 1);
    assert_int_equal(t.count + take_by_hand(), ACU_LOOP_BATCH + 8);
    tear_down();
}

static void stopping_in_a_callback_loses_nothing(void **state)
{
    set_up(state);
    start(0);
    t.stop_in_callback = true;
    acu_future *future;
    acu_submit_options options = {.size = sizeof options, .queue = t.queue, .tag = 0};
    assert_works(acu_submit(t.device, work(), &options, &future));
    assert_works(acu_future_when_complete(future, t.queue, 0, called, ACU_USER(&t)));
    options.tag = 1;
    assert_works(acu_submit(t.device, work(), &options, NULL));
    acu_future_release(future);
    assert_works(acu_device_wait(t.device, ACU_FOREVER));
    while (t.adapter)
        turn(true);
    assert_int_equal(t.callbacks, 1);
    assert_int_equal(t.count + take_by_hand(), 2);
    assert_int_equal(acu_queue_pending(t.queue), 0);
    tear_down();
}

static void stopping_in_a_callback_keeps_the_others(void **state)
{
    enum { EACH = 8 };
    set_up(state);
    start(0);
    t.stop_in_callback = true;
    for (uint64_t i = 0; i < EACH; i++) {
        acu_future *future;
        assert_works(acu_submit(t.device, work(), NULL, &future));
        assert_works(acu_future_when_complete(future, t.queue, 0, called, ACU_USER(&t)));
        acu_future_release(future);
        submit_tagged(i);
    }
    assert_works(acu_device_wait(t.device, ACU_FOREVER));
    while (t.adapter)
        turn(true);
    for (int i = 0; i < 3; i++)
        turn(false);
    assert_int_equal(t.callbacks, 1);
    assert_int_equal(t.count, 0);
    assert_int_equal(acu_queue_pending(t.queue), 2 * EACH - 1);
    t.stop_in_callback = false;
    start(0);
    while (acu_queue_pending(t.queue))
        turn(true);
    assert_int_equal(t.callbacks, EACH);
    assert_int_equal(t.count, EACH);
    assert_seen_once(EACH);
    tear_down();
}

/* What was taken before the callback goes back ahead of what comes after it. */
static void stopping_in_a_callback_keeps_the_order(void **state)
{
    enum { FIRST = 3, ALL = 6 };
    set_up(state);
    start(0);
    t.stop_in_callback = true;
    acu_submit_options options = {.size = sizeof options};
    acu_future *futures[ALL];
    for (int i = 0; i < ALL; i++)
        assert_works(acu_submit(t.device, work(), &options, &futures[i]));
    assert_works(acu_device_wait(t.device, ACU_FOREVER));
    for (uint64_t i = 0; i < ALL; i++) {
        if (i == FIRST)
            assert_works(acu_future_when_complete(futures[i], t.queue, 0, called, ACU_USER(&t)));
        assert_works(acu_future_when_complete(futures[i], t.queue, i, NULL, ACU_USER(NULL)));
        acu_future_release(futures[i]);
    }
    while (t.adapter)
        turn(true);
    acu_completion done[MOST];
    for (size_t next = 0, count; next < ALL;) {
        assert_works(acu_queue_take(t.queue, done, MOST, &count));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(done[i].tag, next++);
            acu_future_release(done[i].future);
        }
    }
    assert_int_equal(acu_queue_pending(t.queue), 0);
    tear_down();
}

static void queues_may_go_first(void **state)
{
    set_up(state);
    start(0);
    acu_stream *stream = hold(0, NULL);
    acu_queue_release(t.queue); /* the adapter has it */
    test_gate_open();
    turn_until(1);
    acu_queue *gone = t.queue;
    t.queue = NULL;
    (void)gone;
    acu_stream_release(stream);
    tear_down();
}

static void wrong_uses_are_refused(void **state)
{
    set_up(state);
    void *adapter = NULL;
    acu_loop_options options = {.size = sizeof options, .user = {&t, released}};
    assert_int_equal(kind->start(NULL, &options, &adapter), ACU_ERR_INVALID);
    assert_int_equal(t.releases, 1);
    assert_int_equal(kind->start((acu_queue *)t.device, &options, &adapter), ACU_ERR_BAD_HANDLE);
    options.size = 1;
    assert_int_equal(kind->start(t.queue, &options, &adapter), ACU_ERR_INVALID);
    assert_int_equal(kind->start(t.queue, NULL, NULL), ACU_ERR_INVALID);
    assert_null(adapter);
    kind->stop(NULL);
    tear_down();
    assert_int_equal(t.releases, 2);
}

int battery_run(const loop_kind *loop)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_come_in_the_loop),
        cmocka_unit_test(callbacks_come_in_the_loop),
        cmocka_unit_test(a_turn_delivers_a_batch),
        cmocka_unit_test(callbacks_submit_again),
        cmocka_unit_test(failures_are_delivered),
        cmocka_unit_test(other_events_go_on_while_work_is_pending),
        cmocka_unit_test(other_events_go_on_while_it_looks_without_pause),
        cmocka_unit_test(the_least_urgent_have_turns_while_it_looks_without_pause),
        cmocka_unit_test(looking_without_pause_finds_all),
        cmocka_unit_test(it_looks_without_pause),
        cmocka_unit_test(it_sleeps_when_it_has_looked_for_long_enough),
        cmocka_unit_test(it_sleeps_when_nothing_is_pending),
        cmocka_unit_test(stopping_with_work_pending),
        cmocka_unit_test(stopping_in_a_batch),
        cmocka_unit_test(stopping_in_a_callback_loses_nothing),
        cmocka_unit_test(stopping_in_a_callback_keeps_the_others),
        cmocka_unit_test(stopping_in_a_callback_keeps_the_order),
        cmocka_unit_test(queues_may_go_first),
        cmocka_unit_test(wrong_uses_are_refused),
    };
    kind = loop;
    return cmocka_run_group_tests_name(loop->name, tests, NULL, NULL);
}
