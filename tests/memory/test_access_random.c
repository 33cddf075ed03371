/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The list of accesses against a model that keeps, for each byte, the point that wrote it last and
 * the points that have read it since: random accesses by points that are issued, complete and fail
 * at random.
 */
#include "support/support.h"

#include "base/alloc.h"
#include "memory/access.h"

static const acu_device none; /* its ordinal is 0 */
enum { HOME = 1 };

#include <stdio.h>

#define FEW_BYTES 24
#define BYTES 400 /* at most: short accesses to so many make a list that is indexed */
#define POINTS 192
#define STREAMS 3
#define NOBODY (-1)

typedef struct set {
    uint64_t bits[(POINTS + 63) / 64];
} set;

static void set_add(set *s, int i)
{
    s->bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool set_has(const set *s, int i)
{
    return s->bits[i / 64] >> i % 64 & 1;
}

static void set_join(set *s, const set *other)
{
    for (size_t i = 0; i < sizeof s->bits / sizeof *s->bits; i++)
        s->bits[i] |= other->bits[i];
}

typedef struct world {
    test_random random;
    acui_accesses accesses;
    acu_stream *streams[STREAMS];
    uint64_t bytes;
    acui_point *points[POINTS];
    set behind[POINTS]; /* all points that a point comes behind, directly or not */
    int count;
    int writer[BYTES];
    set readers[BYTES]; /* since the last write */
    bool tight;         /* no memory for entries in two pieces */
    bool windows;       /* some accesses are of columns of a matrix */
    char wrong[96];     /* "", or the first thing that was wrong; reported once the lock is free */
} world;

typedef struct told {
    world *w;
    set any, data;
} told;

static int index_of(const world *w, const acui_point *point)
{
    for (int i = 0; i < w->count; i++)
        if (w->points[i] == point)
            return i;
    fail_msg("a point that is none of ours");
    return NOBODY;
}

static void tell(void *context, acui_point *before, const acui_extent *extent, bool data)
{
    (void)extent;
    told *t = context;
    int i = index_of(t->w, before);
    set_add(&t->any, i);
    if (data)
        set_add(&t->data, i);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Its reference count never reaches 0, since it is no real stream. */
static acu_stream *fake_stream(void)
{
    acu_stream *stream = acui_object_new(ACU_OBJECT_STREAM, sizeof *stream);
    assert_non_null(stream);
    return stream;
}

static bool is_over(const world *w, int i)
{
    const acui_point *p = w->points[i];
    return p->state == ACUI_POINT_OVER ||
           (p->state == ACUI_POINT_ISSUED && acui_stream_passed(p->stream, p->number));
}

/* The states of points follow the engine's rules: a point is issued after all points that it comes
 * behind, and over after all of these are. */
static bool all_behind(const world *w, int i, bool over)
{
    for (int k = 0; k < w->count; k++) {
        if (!set_has(&w->behind[i], k))
            continue;
        if (over ? w->points[k]->state != ACUI_POINT_OVER && !is_over(w, k)
                 : w->points[k]->state == ACUI_POINT_PENDING)
            return false;
    }
    return true;
}

static void move_point(world *w, int i)
{
    acui_point *p = w->points[i];
    if (p->state == ACUI_POINT_PENDING && test_below(&w->random, 4) == 0 &&
        all_behind(w, i, true)) {
        p->state = ACUI_POINT_OVER; /* failed, or work of the host */
        p->fault = test_below(&w->random, 2) == 0 ? acui_fault_no_memory() : NULL;
    } else if (p->state == ACUI_POINT_PENDING && all_behind(w, i, false)) {
        p->stream = w->streams[test_below(&w->random, STREAMS)];
        p->number = ++p->stream->issued;
        p->state = ACUI_POINT_ISSUED;
        p->fault = test_below(&w->random, 8) == 0 ? acui_fault_no_memory() : NULL;
    } else if (p->state == ACUI_POINT_ISSUED && all_behind(w, i, true)) {
        /* All points that are on the stream before it have to be over as well. */
        for (int k = 0; k < w->count; k++)
            if (w->points[k]->state == ACUI_POINT_ISSUED && w->points[k]->stream == p->stream &&
                w->points[k]->number <= p->number && !all_behind(w, k, true))
                return;
        if (p->number > p->stream->done)
            p->stream->done = p->number;
        if (test_below(&w->random, 2)) {
            p->state = ACUI_POINT_OVER;
            p->stream = NULL;
        }
    }
}

/* ---- one access ------------------------------------------------------------------------------ */

/* `i` implies `k` if it comes behind it, or if both are on one stream in that order. */
static void imply(const world *w, set *implied, int i)
{
    set_add(implied, i);
    set_join(implied, &w->behind[i]);
    const acui_point *p = w->points[i];
    for (int k = 0; p->state == ACUI_POINT_ISSUED && k < w->count; k++)
        if (w->points[k]->state == ACUI_POINT_ISSUED && w->points[k]->stream == p->stream &&
            w->points[k]->number <= p->number) {
            set_add(implied, k);
            set_join(implied, &w->behind[k]);
        }
}

static void complain(world *w, int point, const char *what)
{
    if (!w->wrong[0])
        snprintf(w->wrong, sizeof w->wrong, "point %d %s", point, what);
}

static void check_told(world *w, const told *t, const set *order, const set *data)
{
    set implied = {{0}};
    for (int i = 0; i < w->count; i++)
        if (set_has(&t->any, i))
            imply(w, &implied, i);
    for (int i = 0; i < w->count; i++) {
        bool failed = is_over(w, i) && w->points[i]->fault;
        if (set_has(order, i) && !is_over(w, i) && !set_has(&implied, i))
            complain(w, i, "is not told, and not implied");
        if (set_has(data, i) && (!is_over(w, i) || failed) && !set_has(&t->data, i))
            complain(w, i, "wrote what is read, and is not told so");
        if (w->tight || w->windows)
            continue;
        if (set_has(&t->data, i) && !set_has(data, i))
            complain(w, i, "is told as a writer of what is read; it is overwritten");
        if (set_has(&t->any, i) && !set_has(order, i))
            complain(w, i, "is told, and has nothing to do with it");
    }
}

static bool touches(const acui_extent *extent, uint64_t byte)
{
    return !extent->pitch || (byte - extent->begin) % extent->pitch < extent->width;
}

static void enter(world *w, int i, acui_extent extent, acu_access access)
{
    uint64_t begin = extent.begin, end = extent.end;
    set order = {{0}}, data = {{0}};
    for (uint64_t b = begin; b < end; b++) {
        if (!touches(&extent, b))
            continue;
        if (w->writer[b] != NOBODY && w->writer[b] != i) {
            set_add(&order, w->writer[b]);
            if (access != ACU_WRITE)
                set_add(&data, w->writer[b]);
        }
        if (access != ACU_READ)
            set_join(&order, &w->readers[b]);
    }
    order.bits[i / 64] &= ~(UINT64_C(1) << i % 64);
    told t = {.w = w};
    assert_true(acui_accesses_reserve(&w->accesses));
    if (w->tight)
        acu_debug_fail_alloc(1, true);
    assert_true(
        acui_accesses_enter(&w->accesses, w->bytes, w->points[i], extent, access, tell, &t));
    acu_debug_fail_alloc(0, false);
    check_told(w, &t, &order, &data);
    for (int k = 0; k < w->count; k++)
        if (set_has(&t.any, k))
            imply(w, &w->behind[i], k);
    for (uint64_t b = begin; b < end; b++) {
        if (!touches(&extent, b)) {
            continue;
        } else if (access == ACU_READ) {
            if (w->writer[b] != i)
                set_add(&w->readers[b], i);
        } else {
            w->writer[b] = i;
            w->readers[b] = (set){{0}};
        }
    }
}

/* ---- a history ------------------------------------------------------------------------------- */

/* Some columns, in some rows, of a matrix with rows of 4, 6 or 8 bytes. */
static acui_extent random_windows(world *w)
{
    uint64_t pitch = 4 + 2 * test_below(&w->random, 3), width = 1 + test_below(&w->random, 3);
    uint64_t begin = test_below(&w->random, w->bytes - width + 1);
    uint64_t rows = test_below(&w->random, (w->bytes - width - begin) / pitch + 1) % 8;
    return (acui_extent){.begin = begin,
                         .end = begin + rows * pitch + width,
                         .pitch = (uint32_t)pitch,
                         .width = (uint32_t)width};
}

static void new_point(world *w)
{
    int i = w->count++;
    w->points[i] = acui_point_new(&none);
    assert_non_null(w->points[i]);
    acui_order_lock(HOME);
    size_t accesses = 1 + test_below(&w->random, 3);
    for (size_t a = 0; a < accesses; a++) {
        static const acu_access kinds[] = {ACU_READ, ACU_READ, ACU_WRITE, ACU_UPDATE};
        bool few = w->bytes == FEW_BYTES;
        uint64_t begin = test_below(&w->random, w->bytes), end = begin + 1;
        end += few ? test_below(&w->random, w->bytes - begin) : test_below(&w->random, 4);
        end = end < w->bytes ? end : w->bytes;
        if (test_below(&w->random, few ? 6 : 200) == 0) {
            begin = 0;
            end = w->bytes;
        }
        acui_extent extent = acui_extent_range(begin, end);
        if (w->windows && test_below(&w->random, 3))
            extent = random_windows(w);
        enter(w, i, extent, kinds[test_below(&w->random, 4)]);
    }
    acui_order_unlock(HOME);
}

static void play(uint64_t seed, uint64_t bytes, bool tight, bool windows)
{
    world *w = calloc(1, sizeof *w);
    w->random.state = seed;
    w->bytes = bytes;
    w->tight = tight;
    w->windows = windows;
    for (int b = 0; b < BYTES; b++)
        w->writer[b] = NOBODY;
    for (int s = 0; s < STREAMS; s++)
        w->streams[s] = fake_stream();
    uint64_t speed = 1 + test_below(&w->random, 8);
    while (w->count < POINTS) {
        new_point(w);
        acui_order_lock(HOME);
        for (uint64_t n = 0; n < speed; n++)
            move_point(w, (int)test_below(&w->random, (uint64_t)w->count));
        acui_order_unlock(HOME);
        if (w->wrong[0])
            fail_msg("seed %llu, after %d points: %s", (unsigned long long)seed, w->count,
                     w->wrong);
    }
    acui_order_lock(HOME);
    acui_accesses_clear(&w->accesses);
    acui_order_unlock(HOME);
    for (int i = 0; i < POINTS; i++)
        acui_point_release(w->points[i]);
    for (int s = 0; s < STREAMS; s++) {
        assert_int_equal(acui_object_refs(w->streams[s]), 1);
        acui_object_free(w->streams[s]);
    }
    free(w);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void orders_as_the_model_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++)
        play(seed, FEW_BYTES, false, false);
    for (uint64_t seed = 301; seed <= 350; seed++)
        play(seed, BYTES, false, false);
}

static void without_memory_orders_too_much_but_never_too_little(void **state)
{
    (void)state;
    for (uint64_t seed = 1001; seed <= 1150; seed++)
        play(seed, seed % 4 ? FEW_BYTES : BYTES, true, false);
}

static void with_windows_orders_too_much_but_never_too_little(void **state)
{
    (void)state;
    for (uint64_t seed = 2001; seed <= 2200; seed++)
        play(seed, seed % 3 ? FEW_BYTES : BYTES, seed % 4 == 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_as_the_model_says),
        cmocka_unit_test(without_memory_orders_too_much_but_never_too_little),
        cmocka_unit_test(with_windows_orders_too_much_but_never_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
