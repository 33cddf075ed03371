/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How acuda waits for long work: it foresees lengths that come again, and for other work a thread
 * waits in the driver.
 */
#include "engine/issue/issue.h"
#include "support/support.h"

#include "engine/flight/flight.h"
#include "op/call.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- lengths that were seen ---- */

static bool doubt;
static acui_engine nowhere;
static acu_device none = {.engine = &nowhere}; /* of streams that exist here only */
static acu_device *known_of = &none;       /* whose lengths are learned and asked for */

static acui_flight *flight(void)
{
    return acui_flight_of(known_of);
}

/* What a task is expected to take that was last looked at when it had run for `looked`. */
static uint64_t next(uint64_t signature, uint64_t looked)
{
    acui_flight_lock(flight());
    uint64_t ns = acui_lengths_next(flight(), signature, looked, &doubt);
    acui_flight_unlock(flight());
    return ns;
}

static void learn_late(uint64_t signature, uint64_t ns, uint64_t slack, uint64_t late)
{
    acui_flight_lock(flight());
    acui_lengths_learn(flight(), signature, ns, slack, late);
    acui_flight_unlock(flight());
}

static void learn(uint64_t signature, uint64_t ns, uint64_t slack)
{
    learn_late(signature, ns, slack, 0);
}

/* Forms whose numbers differ by less than SETS are in different sets, so that none displaces
 * another. */
enum { SETS = 128 };
static uint64_t signature(unsigned number)
{
    return (uint64_t)number << 20 | 1;
}

static void one_length(void **state)
{
    (void)state;
    learn(signature(1), ACU_MS(5), 0);
    assert_int_equal(next(signature(1), 0), 0); /* once is not enough */
    learn(signature(1), ACU_MS(5) + ACU_US(10), 0);
    assert_int_equal(next(signature(1), 0), ACU_MS(5));
    assert_int_equal(next(signature(1), ACU_MS(6)), 0); /* it has outlasted what is known */
    assert_int_equal(next(signature(2), 0), 0);
}

static void two_in_turn(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        learn(signature(3), ACU_MS(i % 2 ? 2 : 8), 0);
    assert_int_equal(next(signature(3), 0), ACU_MS(2)); /* the shorter first */
    assert_int_equal(next(signature(3), ACU_MS(3)), ACU_MS(8));
}

static void what_varies_widely_is_not_expected(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        learn(signature(4), ACU_US(4000 + 2500 * (i * 7 % 9)), 0);
        assert_int_equal(i < 8 ? 0 : next(signature(4), 0), 0);
    }
}

/* Threads that wait in the driver wake up more or less late. Two such lengths that agree are enough
 * for a thread to be there in time when the work comes again, and to see its length sharply. */
static void what_only_the_driver_reports_is_expected(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        learn(signature(11), ACU_US(686 + 40 + 37 * i % 60), ACUI_LATE);
        if (i > 0)
            assert_in_range(next(signature(11), 0), ACU_US(560), ACU_US(686));
    }
    learn_late(signature(11), ACU_US(686), 0, ACU_US(100));
    assert_int_equal(next(signature(11), 0), ACU_US(686));
}

/* After long work, threads poll for short work again. */
static void spinning_comes_back(void **state)
{
    (void)state;
    uint64_t spin = ACUI_SPIN_MOST;
    for (int i = 0; i < 10; i++)
        spin = acui_spin_after(spin, ACU_MS(1), true);
    assert_int_equal(spin, ACUI_SPIN_LEAST);
    assert_int_equal(acui_spin_after(spin, ACU_US(3), false), spin); /* says nothing */
    assert_int_equal(acui_spin_after(spin, ACU_US(12), false), ACUI_SPIN_MOST);
    assert_int_equal(acui_spin_after(spin, ACU_US(20) + ACUI_LATE, true), ACUI_SPIN_MOST);
    /* If threads wake up late, the work may have been short: so polling is tried now and then. */
    assert_int_equal(acui_spin_after(spin, ACU_US(200), true), ACUI_SPIN_MOST);
    assert_int_equal(acui_spin_after(ACUI_SPIN_MOST, ACU_US(200), true), ACUI_SPIN_MOST / 2);
}

/* Over at the first look, for an unknown time: so the next task may take less. Looks come sooner,
 * until the end is seen. */
static void what_was_missed_is_in_doubt(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        learn(signature(5), ACU_MS(5), 0);
    assert_int_equal(next(signature(5), 0), ACU_MS(5));
    assert_false(doubt);
    learn_late(signature(5), ACU_MS(5), ACU_MS(5), ACU_US(10));
    assert_in_range(next(signature(5), 0), ACU_MS(5) - ACU_US(150), ACU_MS(5) - ACU_US(50));
    assert_true(doubt);
    for (int i = 0; i < 8; i++)
        learn(signature(5), ACU_MS(5), 0);
    assert_int_equal(next(signature(5), 0), ACU_MS(5));
    assert_false(doubt);
    /* However late a timer wakes the thread up: the length did not grow. */
    for (int i = 0; i < 8; i++) {
        learn_late(signature(13), ACU_MS(5) + ACU_US(400), ACU_MS(5), ACU_US(460));
        learn(signature(13), ACU_MS(5) + ACU_US(50), ACUI_LATE);
    }
    assert_in_range(next(signature(13), 0), ACU_MS(4), ACU_MS(5));
}

/* ... but if it was looked at in vain at the time that was planned, it does take longer. */
static void what_takes_longer_is_learned(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        learn(signature(7), ACU_MS(5), 0);
    for (int i = 0; i < 8; i++)
        learn_late(signature(7), ACU_MS(9), ACUI_LATE, ACU_MS(4) + ACU_US(30));
    assert_in_range(next(signature(7), 0), ACU_MS(9) - ACU_US(100), ACU_MS(9));
}

/* A length that was not seen sharply is replaced by one that was. */
static void a_rough_length_is_no_length_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++)
        learn(signature(9), ACU_US(600 + 10 * i), ACU_US(90));
    learn(signature(9), ACU_US(610), 0);
    assert_int_equal(next(signature(9), 0), ACU_US(610));
    assert_int_equal(next(signature(9), ACU_US(640)), 0);
}

/* Looking at the time of each known length costs a wake-up. */
static void what_never_comes_again_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        learn(signature(10), ACU_MS(i % 2 ? 2 : 8), 0);
    for (int i = 0; i < ACUI_LENGTHS; i++)
        learn(signature(10), ACU_MS(8), 0);
    assert_int_equal(next(signature(10), 0), ACU_MS(8));
    assert_int_equal(next(signature(10), ACU_MS(9)), 0);
}

/* Where nothing is expected, such short work is polled for all the same, since a sleep would take
 * longer. */
static void short_work_is_polled_for(void **state)
{
    (void)state;
    enum { SHORT = 41, LONG };
    uint64_t now = ACU_MS(1000);
    for (int i = 0; i < 8; i++) {
        learn(signature(SHORT), ACU_US(i == 7 ? 50 : 140), 0);
        learn(signature(LONG), ACU_MS(5), 0);
    }
    assert_int_equal(acui_lengths_short(flight(), signature(LONG)), 0);
    assert_int_equal(next(signature(SHORT), 0), 0);
    acui_task task = {.signature = signature(SHORT), .flight.issued_at = now};
    acu_stream stream = {.device = &none, .engine.first_task = &task};
    acui_flight_lock(flight());
    for (now += ACU_US(10); now < task.flight.issued_at + ACU_US(120); now += ACU_US(10))
        assert_int_equal(acui_flight_next_look(&stream, now, 0), now);
    acui_flight_unlock(flight());
    assert_in_range(acui_lengths_short(flight(), signature(SHORT)), ACU_US(120),
                    ACU_US(200));
    learn(signature(SHORT), ACU_US(400), 0); /* now the work may take that long */
    assert_int_equal(acui_lengths_short(flight(), signature(SHORT)), 0);
}

/* All of these signatures fall into the same set. A fifth one displaces one of them. */
static void some_forms_may_come_in_turn(void **state)
{
    (void)state;
    enum { FORMS = 4 };
    for (int turn = 0; turn < 3; turn++)
        for (unsigned i = 0; i < FORMS; i++)
            learn(signature(50 + i * SETS), ACU_MS(3 + i), 0);
    for (unsigned i = 0; i < FORMS; i++)
        assert_int_equal(next(signature(50 + i * SETS), 0), ACU_MS(3 + i));
    learn(signature(50), ACU_MS(3), 0);
    for (int turn = 0; turn < 2; turn++)
        learn(signature(50 + FORMS * SETS), ACU_MS(9), 0);
    assert_int_equal(next(signature(50 + FORMS * SETS), 0), ACU_MS(9));
    assert_int_equal(next(signature(50), 0), ACU_MS(3));
    assert_int_equal(next(signature(50 + SETS), 0), 0); /* the one that was seen longest ago */
}

/* A submission that does not end before the gate opens, so that the test can ask when to look at
 * it. */
typedef struct gated {
    acu_device *device;
    acu_stream *stream;
    acu_future *future;
    uint64_t signature, begin;
} gated;

/* All of one signature. */
static void gated_submit(gated *g)
{
    acu_submit_options options = {.size = sizeof options, .stream = g->stream};
    test_gate_close(g->device, acu_stream_raw(g->stream));
    assert_works(acu_submit(g->device, acu_zeros(ACU_I32, ACU_SHAPE(7, 3)), &options, &g->future));
}

static gated gated_new(void)
{
    gated g = {.device = test_open()};
    assert_works(acu_stream_create(g.device, 0, &g.stream));
    known_of = g.device;
    gated_submit(&g);
    acui_flight_lock(flight());
    g.signature = acui_task_signature(g.stream->engine.first_task);
    g.begin = g.stream->engine.first_task->flight.issued_at + ACU_MS(1);
    acui_flight_unlock(flight());
    return g;
}

static void gated_end(gated *g)
{
    test_gate_open();
    assert_works(acu_future_wait(g->future, ACU_FOREVER));
    acu_future_release(g->future);
    acu_stream_release(g->stream);
    known_of = &none;
    test_close(g->device);
    test_leaks_none();
}

/* Looks come earlier by as much as threads wake up late, within bounds, and only as long as they
 * do. */
static void looks_are_as_early_as_threads_wake_up_late(void **state)
{
    (void)state;
    gated g = gated_new();
    uint64_t end = g.begin - ACU_MS(1) + ACU_MS(20), next[3];
    for (int i = 0; i < 30; i++)
        learn(g.signature, ACU_MS(20), 0);
    for (int turn = 0; turn < 3; turn++) {
        /* Held until the figure is used: the reactor wakes up too, and reports how late. */
        acui_flight_lock(flight());
        for (int i = 0; i < 1000; i++)
            acui_flight_woke(turn == 1 ? ACU_MS(3) : 0);
        next[turn] = acui_flight_next_look(g.stream, g.begin, 0);
        acui_flight_unlock(flight());
    }
    assert_in_range(end - next[0], 1, ACU_US(30));
    assert_in_range(end - next[1], ACU_US(100), ACU_US(300));
    assert_int_equal(next[2], next[0]);
    gated_end(&g);
}

/* A fault may end the work at any time, and is to be reported within 100 ms. */
static void a_foreseen_end_is_not_slept_for(void **state)
{
    (void)state;
    gated g = gated_new();
    for (int i = 0; i < 150; i++) /* other tests have other lengths of this signature */
        learn(g.signature, ACU_SECONDS(10), 0);
    acui_flight_lock(flight());
    uint64_t next = acui_flight_next_look(g.stream, g.begin, 0);
    uint64_t last = acui_flight_next_look(g.stream, g.begin + ACU_SECONDS(10) - ACU_MS(100), 0);
    acui_flight_unlock(flight());
    assert_in_range(next, g.begin + ACU_MS(10), g.begin + ACU_MS(90));
    assert_in_range(last, g.begin, g.begin + ACU_SECONDS(10));
    gated_end(&g);
}

static void note(void *user, acu_future *future, acu_status status)
{
    (void)future;
    atomic_store((_Atomic(int) *)user, status);
}

#define LIMIT ACU_SECONDS(60) /* what takes longer does not come */

/* What `note` got. */
static int await_note(_Atomic(int) *status)
{
    for (uint64_t end = acu_now() + LIMIT; atomic_load(status) == ACU_NOT_READY;) {
        assert_true(acu_now() < end);
        sched_yield();
    }
    return atomic_load(status);
}

/* Nobody looks but the reactor, which would have nothing to do for hours. */
static void case_fault(void **state)
{
    (void)state;
    gated g = gated_new();
    _Atomic(int) status = ACU_NOT_READY;
    test_gate_open();
    assert_works(acu_future_wait(g.future, ACU_FOREVER));
    acu_future_release(g.future);
    for (int i = 0; i < 150; i++)
        learn(g.signature, ACU_SECONDS(10000), 0);
    gated_submit(&g);
    assert_works(acu_future_when_complete(g.future, NULL, 0, note, ACU_USER(&status)));
    test_threads_rest();
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventQuery, .nth = 1,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    assert_works(acu_driver_fail(&fault));
    assert_int_equal(await_note(&status), ACU_ERR_DEVICE_LOST);
    acu_driver_fail_clear();
    test_gate_open();
    acu_future_release(g.future);
    acu_stream_release(g.stream);
    test_close(g.device);
}

static void a_fault_in_foreseen_work_is_told(void **state)
{
    (void)state;
    test_in_process("fault");
}

/* How late a thread notices the end of work that takes `length`, if it looks whenever
 * acui_flight_next_look says; the length is learned. */
static uint64_t lateness(const gated *g, uint64_t length)
{
    uint64_t begin = g->begin - ACU_MS(1), now = begin, looked = begin, end = begin + length;
    acui_flight_lock(flight());
    acui_looked(g->stream, 0);
    while (now < end) {
        looked = now;
        acui_looked(g->stream, now);
        g->stream->engine.relied = false;
        uint64_t next = acui_flight_next_look(g->stream, now, 0);
        bool told = g->stream->engine.relied && end + ACUI_LATE < next; /* by one in the driver */
        now = told ? end + ACUI_LATE : next > now ? next : now + ACU_US(1);
        if (told)
            looked = end;
    }
    uint64_t planned = g->stream->engine.planned;
    acui_lengths_learn(flight(), g->signature, now - begin, now - looked,
                       planned && planned <= now ? now - planned + 1 : 0);
    g->stream->engine.planned = 0;
    acui_flight_unlock(flight());
    return now - end;
}

/* Work of 20 ms that takes 1 ms every other time. */
static void what_became_much_shorter_is_found_soon(void **state)
{
    (void)state;
    gated g = gated_new();
    for (int i = 0; i < 30; i++)
        learn(g.signature, ACU_MS(20), 0);
    for (int i = 0; i < 8; i++) {
        lateness(&g, ACU_MS(1));
        lateness(&g, ACU_MS(20));
    }
    assert_in_range(lateness(&g, ACU_MS(1)), 0, ACU_US(150));
    assert_in_range(lateness(&g, ACU_MS(20)), 0, ACU_US(200));
    gated_end(&g);
}

/* The results of some waits. */
typedef struct outcome {
    uint64_t late, most_late; /* in ns: the sum, and the maximum */
    uint64_t spun;            /* time spent polling, in us */
    uint64_t looks, blocked;  /* woken up by a timer, by a thread in the driver */
} outcome;

/* How late timers and the driver wake a thread up. */
#define TIMER_LATE ACU_US(40)
#define DRIVER_LATE ACU_US(250)

static unsigned drawn = 1; /* the last number drawn at random */

static uint64_t between(uint64_t least, uint64_t most)
{
    drawn = drawn * 1103515245u + 12345u;
    return least + (most - least) / 1000 * ((drawn >> 16 & 0xffff) % 1000);
}

/* Work of a signature of its own, which began at a time that only the test knows. A thread that
 * waits in the driver counts as there already. */
typedef struct simulated {
    acui_task task;
    acu_stream stream;
    uint64_t told;    /* how late threads say that they wake up */
    uint64_t held_up; /* how long the thread that polls at the next end is kept from its core */
} simulated;

static void simulate(simulated *work, unsigned number)
{
    *work = (simulated){
        .task = {.signature = signature(number), .flight.issued_at = ACU_MS(1000), .number = 1},
        .stream = {.device = &none, .engine.waited_for = 1}};
    work->stream.engine.first_task = &work->task;
    drawn = 1;
}

static void wait_once(simulated *work, uint64_t length, outcome *o)
{
    acu_stream *stream = &work->stream;
    uint64_t begin = work->task.flight.issued_at, now = begin + ACU_US(10), looked = begin;
    uint64_t end = begin + length;
    bool blocked = false;
    acui_looked(stream, 0);
    acui_flight_lock(flight());
    for (int i = 0; i < 300; i++) /* whatever real threads have reported */
        acui_flight_woke(work->told);
    while (now < end) {
        looked = now;
        acui_looked(stream, now);
        stream->engine.relied = false;
        uint64_t next = acui_flight_next_look(stream, now, 0);
        blocked = stream->engine.relied && end + DRIVER_LATE < next;
        if (blocked)
            break;
        o->looks += next > now;
        o->spun += next <= now;
        bool spins = next <= now;
        now = spins ? now + ACU_US(1) : next + TIMER_LATE;
        if (spins && now >= end)
            now += work->held_up;
    }
    work->held_up = 0;
    if (blocked)
        now = end + DRIVER_LATE;
    uint64_t planned = stream->engine.planned;
    acui_lengths_learn(flight(), work->task.signature, now - begin,
                       blocked ? ACUI_LATE : now - looked,
                       planned && planned <= now ? now - planned + 1 : 0);
    stream->engine.planned = 0;
    acui_flight_unlock(flight());
    o->late += now - end;
    o->most_late = now - end > o->most_late ? now - end : o->most_late;
    o->blocked += blocked;
}

static outcome wait_often(simulated *work, uint64_t least, uint64_t most, int times)
{
    outcome o = {0};
    for (int i = 0; i < times; i++)
        wait_once(work, between(least, most), &o);
    return o;
}

/* Each known length costs one look at most, and none is far from the next. */
static void what_varies_a_little_is_expected(void **state)
{
    (void)state;
    simulated work;
    simulate(&work, 52);
    wait_often(&work, ACU_US(900), ACU_US(1100), 200);
    outcome o = wait_often(&work, ACU_US(900), ACU_US(1100), 1000);
    assert_in_range(o.late / 1000, 0, ACU_US(150)); /* by the driver it would be 250 */
    assert_in_range(o.looks, 500, 4000);
    assert_in_range(o.spun, 0, 150 * 1000);
}

/* A question that is repeated without a look in between gets the same answer, so that the reactor
 * finds the look due. */
static void a_look_that_is_due_stays_due(void **state)
{
    (void)state;
    enum { TWO = 51 };
    uint64_t begin = ACU_MS(1000), next[4];
    static const uint64_t at[] = {ACU_US(100), ACU_MS(4), ACU_US(7000), ACU_MS(5)};
    for (unsigned i = 0; i < 8; i++)
        learn(signature(TWO), ACU_MS(i % 2 ? 4 : 8), 0);
    acui_task task = {.signature = signature(TWO), .flight.issued_at = begin};
    acu_stream stream = {.device = &none, .engine.first_task = &task};
    acui_flight_lock(flight());
    for (int i = 0; i < 4; i++) {
        if (i == 0 || i == 3)
            acui_looked(&stream, begin + at[i]);
        next[i] = acui_flight_next_look(&stream, begin + at[i], 0);
    }
    acui_flight_unlock(flight());
    assert_in_range(next[0], begin + ACU_US(3500), begin + ACU_US(4000));
    assert_int_equal(next[1], next[0]);
    assert_int_equal(next[2], next[0]);
    assert_in_range(next[3], begin + ACU_US(7500), begin + ACU_US(8000));
}

/* The same where a fault may end it at any time. */
static void looks_for_a_fault_stay_due(void **state)
{
    (void)state;
    enum { LONG = 80 };
    uint64_t begin = ACU_MS(1000);
    for (int i = 0; i < 8; i++)
        learn(signature(LONG), ACU_SECONDS(1), 0);
    acui_task task = {.signature = signature(LONG), .flight.issued_at = begin};
    acu_stream stream = {.device = &none, .engine.first_task = &task};
    acui_flight_lock(flight());
    acui_looked(&stream, begin + ACU_MS(1));
    uint64_t first = acui_flight_next_look(&stream, begin + ACU_MS(1), 0);
    uint64_t again = acui_flight_next_look(&stream, first + ACU_MS(1), 0);
    acui_looked(&stream, first);
    uint64_t then = acui_flight_next_look(&stream, first, 0);
    acui_flight_unlock(flight());
    assert_in_range(first, begin + ACU_MS(10), begin + ACU_MS(90));
    assert_int_equal(again, first);
    assert_int_equal(then - first, first - begin - ACU_MS(1));
}

/* Work that takes the same time except now and then is foreseen all the same, since a thread in the
 * driver is too late to find out how long it takes. */
static void what_is_late_now_and_then_is_foreseen(void **state)
{
    (void)state;
    simulated work;
    outcome o = {0};
    simulate(&work, 53);
    for (int i = 0; i < 1000; i++) {
        bool late = i % 40 == 0;
        if (i == 300)
            o = (outcome){0};
        wait_once(&work, ACU_MS(5) + (late ? between(ACU_US(300), ACU_MS(3)) : 0), &o);
    }
    assert_in_range(o.late / 700, 0, ACU_US(100));
}

/* Waits for work that takes the same time each time, except that in one of `every` something
 * happens: the thread that polls is kept from its core, or the work takes longer. */
typedef struct mishap {
    uint64_t least, most; /* ns */
    bool longer;
    int every;
} mishap;

static outcome with_mishaps(unsigned number, uint64_t length, const mishap *m)
{
    simulated work;
    outcome o = {0};
    simulate(&work, number);
    work.told = TIMER_LATE;
    for (int i = 0; i < 4000; i++) {
        uint64_t more = i % m->every ? 0 : between(m->least, m->most);
        work.held_up = m->longer ? 0 : more;
        wait_once(&work, length + (m->longer ? more : 0) + between(0, ACU_US(3)), &o);
    }
    return o;
}

/* A thread may be kept from its core for a moment, which on some hosts happens often. Its last look
 * came before the end, and the next one long after it: that agrees with the known length. */
static void a_thread_that_is_kept_from_looking_trusts_the_length(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {ACU_US(230), ACU_US(500), ACU_MS(1), ACU_MS(5)};
    static const mishap shortly = {ACU_US(26), ACU_US(95), false, 10};
    static const mishap longer = {ACU_US(110), ACU_US(900), false, 10};
    for (unsigned i = 0; i < 4; i++) {
        assert_in_range(with_mishaps(60 + i, lengths[i], &shortly).blocked, 0, 10);
        assert_in_range(with_mishaps(64 + i, lengths[i], &longer).blocked, 0, 10);
    }
}

/* ... and if the work takes longer once, only that end may be noticed late. */
static void what_takes_longer_once_is_foreseen_the_next_time(void **state)
{
    (void)state;
    enum { TIMES = 40 };
    static const uint64_t lengths[] = {ACU_US(230), ACU_US(500), ACU_MS(1), ACU_MS(5)};
    static const mishap m = {ACU_US(20), ACU_US(200), true, 4000 / TIMES};
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(with_mishaps(68 + i, lengths[i], &m).blocked, 0, TIMES + 2);
}

/* The first such end is noticed late, later ones no later than those of unknown work. */
static void what_varied_and_is_shorter_now_is_found_soon(void **state)
{
    (void)state;
    simulated work;
    simulate(&work, 54);
    wait_often(&work, ACU_US(4500), ACU_US(5500), 60);
    wait_often(&work, ACU_US(600), ACU_US(650), 3);
    outcome o = wait_often(&work, ACU_US(600), ACU_US(650), 20);
    assert_in_range(o.most_late, 0, ACU_US(700));
}

/* Timers would have to wake a thread up often there, for little gain. */
static void what_varies_widely_or_takes_long_is_left_to_the_driver(void **state)
{
    (void)state;
    simulated work;
    simulate(&work, 55);
    wait_often(&work, ACU_MS(2), ACU_MS(10), 60);
    outcome wide = wait_often(&work, ACU_MS(2), ACU_MS(10), 200);
    assert_in_range(wide.blocked, 100, 200);
    wait_often(&work, ACU_MS(45), ACU_MS(55), 60);
    outcome longer = wait_often(&work, ACU_MS(45), ACU_MS(55), 200);
    assert_in_range(longer.blocked, 100, 200);
}

/* ---- signatures ---- */

/* The signature of the work on the stream, while that waits at the gate. */
static uint64_t form_of(const gated *g, acu_op *op)
{
    acu_future *future;
    acu_submit_options options = {.size = sizeof options, .stream = g->stream};
    test_gate_close(g->device, acu_stream_raw(g->stream));
    assert_works(acu_submit(g->device, op, &options, &future));
    acui_flight_lock(flight());
    uint64_t signature = acui_task_signature(g->stream->engine.first_task);
    acui_flight_unlock(flight());
    test_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    return signature;
}

/* The same number of bytes takes another time over the bus than within a device. */
static void copies_differ_by_their_way(void **state)
{
    (void)state;
    gated g = gated_new();
    acu_tensor *host, *x, *y;
    test_gate_open();
    assert_works(acu_future_wait(g.future, ACU_FOREVER));
    assert_works(acu_tensor_alloc_pinned(g.device, ACU_U8, ACU_SHAPE(4096), &host));
    assert_works(acu_tensor_alloc(g.device, ACU_U8, ACU_SHAPE(4096), &x));
    assert_works(acu_tensor_alloc(g.device, ACU_U8, ACU_SHAPE(4096), &y));
    memset(acu_tensor_host(host), 1, 4096);
    uint64_t up = form_of(&g, acu_copy(x, host)), down = form_of(&g, acu_copy(host, x));
    uint64_t across = form_of(&g, acu_copy(y, x));
    assert_true(up != down && up != across && down != across);
    assert_true(form_of(&g, acu_copy(x, host)) == up);
    assert_true(form_of(&g, acu_copy(y, host)) == up);
    acu_tensor_release(host);
    acu_tensor_release(x);
    acu_tensor_release(y);
    gated_end(&g);
}

/* ---- a thread that waits in the driver ---- */

enum { N = 16, WAITERS = 4 };

/* Work on a stream of its own, that does not end before the gate opens; calls are counted. */
typedef struct held {
    acu_device *device;
    acu_stream *stream;
    acu_future *future;
} held;

static held hold(void)
{
    held h = {.device = test_open()};
    assert_works(acu_stream_create(h.device, 0, &h.stream));
    acu_submit_options options = {.size = sizeof options, .stream = h.stream};
    test_gate_close(h.device, acu_stream_raw(h.stream));
    assert_works(acu_submit(h.device, acu_full(ACU_SHAPE(N), acu_i32(1)), &options, &h.future));
    acu_driver_count_calls(true);
    return h;
}

static void let_go(held *h)
{
    acu_driver_count_calls(false);
    acu_future_release(h->future);
    acu_stream_release(h->stream);
    test_close(h->device);
    test_leaks_none();
}

/* Waits until threads have waited in the driver that often. */
static void await_blocked(uint64_t times)
{
    while (acu_driver_calls(ACU_CALL_EventSynchronize) < times)
        sched_yield();
}

static void *wait_for(void *future)
{
    return acu_future_wait(future, ACU_FOREVER) == ACU_OK ? NULL : future;
}

/* The gate opens once a thread blocks in the driver. None would if all of them polled. */
static void unknown_work_is_waited_for_in_the_driver(void **state)
{
    (void)state;
    held h = hold();
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for, h.future), 0);
    await_blocked(1);
    assert_int_equal(acu_future_poll(h.future), ACU_NOT_READY);
    test_gate_open();
    for (int i = 0; i < WAITERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(acu_driver_calls(ACU_CALL_EventSynchronize), 1); /* one for all of them */
    let_go(&h);
}

/* A thread that waits with a deadline, or whose work is given up, does not wait for the device. */
static void blocked_threads_hold_nobody_up(void **state)
{
    (void)state;
    held h = hold();
    pthread_t waiter;
    void *failed;
    assert_int_equal(pthread_create(&waiter, NULL, wait_for, h.future), 0);
    await_blocked(1);
    assert_int_equal(acu_future_wait(h.future, ACU_MS(1)), ACU_TIMEOUT);
    assert_works(acu_future_cancel(h.future));
    pthread_join(waiter, &failed); /* while the gate is closed */
    assert_non_null(failed);
    test_gate_open();
    let_go(&h);
}

/* How many threads of the process have that name. Threads that a driver starts may inherit the name
 * of the thread that caused it, and stay. */
static int threads_named(const char *name)
{
    char path[300], line[64];
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(line, sizeof line, file))
            n += strncmp(line, name, strlen(name)) == 0;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return n;
}

static void *sync_copy_of(void *tensor)
{
    acu_tensor *t = tensor;
    return acu_sync(NULL, acu_dup(t), NULL) == ACU_OK ? NULL : tensor;
}

/* Nobody can cancel the work that acu_sync waits for, so the wait needs no thread of acuda's; and
 * since nobody else knows the stream, it needs no second stream. */
static void a_wait_that_nobody_can_cancel_blocks_in_the_driver(void **state)
{
    (void)state;
    held h = hold();
    pthread_t thread;
    void *failed;
    test_threads_rest(); /* one that was joined may still be there for a moment */
    int before = threads_named("acuda-blocked");
    acu_tensor *x = acu_future_tensor(h.future, 0);
    assert_int_equal(pthread_create(&thread, NULL, sync_copy_of, x), 0);
    await_blocked(1);
    assert_int_equal(threads_named("acuda-blocked"), before);
    assert_int_equal(acu_driver_calls(ACU_CALL_StreamCreateWithPriority), 0);
    test_gate_open();
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(acu_driver_calls(ACU_CALL_EventSynchronize), 1);
    let_go(&h);
}

/* ... but if that thread can not block in the driver, it waits in another way. */
static void a_thread_that_can_not_block_waits_otherwise(void **state)
{
    (void)state;
    held h = hold();
    pthread_t thread;
    void *failed;
    test_threads_rest(); /* one that was joined may still be there for a moment */
    int before = threads_named("acuda-blocked");
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventSynchronize,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    acu_tensor *x = acu_future_tensor(h.future, 0);
    assert_int_equal(pthread_create(&thread, NULL, sync_copy_of, x), 0);
    await_blocked(2);
    assert_true(threads_named("acuda-blocked") > before);
    test_gate_open();
    pthread_join(thread, &failed);
    assert_null(failed);
    acu_driver_fail_clear();
    let_go(&h);
}

/* If the driver does not let threads wait, they do not try again and again. */
static void a_thread_that_can_not_block_does_not_insist(void **state)
{
    (void)state;
    held h = hold();
    pthread_t thread;
    void *failed;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventSynchronize, .nth = 1,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    assert_int_equal(pthread_create(&thread, NULL, wait_for, h.future), 0);
    await_blocked(1);
    while (acu_driver_calls(ACU_CALL_EventQuery) < 200)
        sched_yield();
    assert_in_range(acu_driver_calls(ACU_CALL_EventSynchronize), 1, 50);
    test_gate_open();
    pthread_join(thread, &failed);
    assert_null(failed);
    acu_driver_fail_clear();
    let_go(&h);
}

/* ... and what somebody is to be told of is looked at again and again. */
static void who_can_not_block_is_told_all_the_same(void **state)
{
    (void)state;
    held h = hold();
    _Atomic(int) status = ACU_NOT_READY;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventSynchronize, .nth = 1,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    assert_works(acu_future_when_complete(h.future, NULL, 0, note, ACU_USER(&status)));
    await_blocked(1);
    while (acu_driver_calls(ACU_CALL_EventQuery) < 200)
        sched_yield();
    assert_in_range(acu_driver_calls(ACU_CALL_EventSynchronize), 1, 50);
    test_gate_open();
    assert_int_equal(await_note(&status), ACU_OK);
    acu_driver_fail_clear();
    let_go(&h);
}

/* ---- signatures ---- */

static bool key_of_call(void *user, acui_call_key *of)
{
    *of = (acui_call_key){.data = user, .bytes = sizeof(int), .what = 1};
    return true;
}

/* One line of a program may call a library for many shapes: each has lengths of its own. */
static void calls_of_a_library_have_signatures(void **state)
{
    (void)state;
    static const acui_own_call own = {.key = key_of_call};
    int shapes[] = {5, 6, 5};
    uint64_t signatures[3];
    for (int i = 0; i < 3; i++) {
        acu_op op = {.u.call.own = &own, .user.data = &shapes[i]};
        acui_node node = {.kind = ACUI_NODE_FOREIGN, .site = ACU_SITE, .u.call.op = &op};
        acui_node *nodes[] = {&node};
        acui_task task = {.nodes = nodes, .count = 1};
        signatures[i] = acui_task_signature(&task);
    }
    assert_true(signatures[0] == signatures[2]);
    assert_true(signatures[0] != signatures[1]);
}

int main(int count, char **arguments)
{
    static const test_case cases[] = {{"fault", case_fault}};
    if (count > 1)
        return test_run_case(cases, 1, arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_length),
        cmocka_unit_test(calls_of_a_library_have_signatures),
        cmocka_unit_test(two_in_turn),
        cmocka_unit_test(what_varies_widely_is_not_expected),
        cmocka_unit_test(what_only_the_driver_reports_is_expected),
        cmocka_unit_test(spinning_comes_back),
        cmocka_unit_test(what_was_missed_is_in_doubt),
        cmocka_unit_test(what_takes_longer_is_learned),
        cmocka_unit_test(a_rough_length_is_no_length_of_its_own),
        cmocka_unit_test(what_never_comes_again_is_forgotten),
        cmocka_unit_test(looks_are_as_early_as_threads_wake_up_late),
        cmocka_unit_test(what_became_much_shorter_is_found_soon),
        cmocka_unit_test(what_varies_a_little_is_expected),
        cmocka_unit_test(a_look_that_is_due_stays_due),
        cmocka_unit_test(looks_for_a_fault_stay_due),
        cmocka_unit_test(what_is_late_now_and_then_is_foreseen),
        cmocka_unit_test(a_thread_that_is_kept_from_looking_trusts_the_length),
        cmocka_unit_test(what_takes_longer_once_is_foreseen_the_next_time),
        cmocka_unit_test(what_varied_and_is_shorter_now_is_found_soon),
        cmocka_unit_test(what_varies_widely_or_takes_long_is_left_to_the_driver),
        cmocka_unit_test(some_forms_may_come_in_turn),
        cmocka_unit_test(short_work_is_polled_for),
        cmocka_unit_test(a_foreseen_end_is_not_slept_for),
        cmocka_unit_test(a_fault_in_foreseen_work_is_told),
        cmocka_unit_test(copies_differ_by_their_way),
        cmocka_unit_test(unknown_work_is_waited_for_in_the_driver),
        cmocka_unit_test(blocked_threads_hold_nobody_up),
        cmocka_unit_test(a_wait_that_nobody_can_cancel_blocks_in_the_driver),
        cmocka_unit_test(a_thread_that_can_not_block_waits_otherwise),
        cmocka_unit_test(a_thread_that_can_not_block_does_not_insist),
        cmocka_unit_test(who_can_not_block_is_told_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
