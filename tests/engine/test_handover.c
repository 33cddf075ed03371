/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The hand-over under load: several givers, a taker that sleeps whenever it finds nothing, threads
 * that wait until it has come to some place. tests/models goes through all interleavings of small
 * cases; this test is about memory order (thread sanitizer) and large numbers.
 */
#include "support/support.h"

#include "base/handover.h"

#include <pthread.h>

enum { GIVERS = 4, EACH = 5000, ALL = GIVERS * EACH };

static acui_handover ring;
static acui_passage passed;
static uint64_t plain; /* written by the taker before it announces the place: not atomic, on
                        * purpose */

typedef struct message {
    unsigned giver, number;
    uint64_t place;
} message;
static message messages[GIVERS][EACH];

static void reset(void)
{
    memset((void *)&ring, 0, sizeof ring);
    memset((void *)&passed, 0, sizeof passed);
    plain = 0;
}

static void give(message *m)
{
    uint64_t place;
    while (!(place = acui_handover_claim(&ring)))
        acui_passage_await(&passed, acui_handover_given(&ring) - ACUI_HANDOVER_PLACES + 1,
                           ACU_FOREVER);
    m->place = place;
    acui_handover_open(&ring, place, &(acui_handed){.op = (struct acu_op *)(void *)m});
}

static void *give_all(void *context)
{
    unsigned giver = *(const unsigned *)context;
    for (unsigned i = 0; i < EACH; i++) {
        messages[giver][i] = (message){.giver = giver, .number = i};
        give(&messages[giver][i]);
        assert_true(i == 0 || messages[giver][i].place > messages[giver][i - 1].place);
        if (i % 1000 == 0)
            acui_passage_await(&passed, messages[giver][i].place, ACU_FOREVER);
    }
    return NULL;
}

static void *take_all(void *context)
{
    unsigned next[GIVERS] = {0};
    acui_handed what;
    (void)context;
    for (uint64_t n = 1; n <= ALL;) {
        if (!acui_handover_take(&ring, &what)) {
            acui_handover_sleep(&ring);
            continue;
        }
        const message *m = (const message *)(const void *)what.op;
        assert_int_equal(m->place, n);
        assert_int_equal(m->number, next[m->giver]++);
        plain = n;
        acui_passage_set(&passed, n++);
    }
    return NULL;
}

static void many_givers(void **state)
{
    (void)state;
    reset();
    pthread_t taker, givers[GIVERS];
    unsigned who[GIVERS];
    assert_int_equal(pthread_create(&taker, NULL, take_all, NULL), 0);
    for (unsigned i = 0; i < GIVERS; i++) {
        who[i] = i;
        assert_int_equal(pthread_create(&givers[i], NULL, give_all, &who[i]), 0);
    }
    assert_true(acui_passage_await(&passed, ALL / 2, ACU_FOREVER));
    assert_true(acui_passage_await(&passed, ALL, ACU_FOREVER));
    assert_int_equal(plain, ALL);
    for (unsigned i = 0; i < GIVERS; i++)
        pthread_join(givers[i], NULL);
    pthread_join(taker, NULL);
    assert_false(acui_handover_ready(&ring));
}

static void *ping(void *context)
{
    acui_handed what;
    (void)context;
    for (;;) {
        if (acui_handover_take(&ring, &what))
            acui_passage_set(&passed, ring.taken);
        else if (acui_handover_ended(&ring) && !acui_handover_ready(&ring))
            return NULL;
        else
            acui_handover_sleep(&ring);
    }
}

/* Each hand-over meets a taker that is asleep, or about to be. */
static void one_by_one(void **state)
{
    (void)state;
    reset();
    pthread_t taker;
    assert_int_equal(pthread_create(&taker, NULL, ping, NULL), 0);
    for (uint64_t i = 1; i <= 3000; i++) {
        message m = {.giver = 0};
        give(&m);
        assert_true(acui_passage_await(&passed, i, ACU_FOREVER));
    }
    acui_handover_end(&ring);
    pthread_join(taker, NULL);
    /* Again after the end, with a new taker. */
    acui_handover_begin(&ring);
    message m = {.giver = 0};
    give(&m);
    assert_int_equal(pthread_create(&taker, NULL, ping, NULL), 0);
    assert_true(acui_passage_await(&passed, 3001, ACU_FOREVER));
    acui_handover_end(&ring);
    pthread_join(taker, NULL);
}

static void full_and_late(void **state)
{
    (void)state;
    reset();
    acui_handed what = {.op = NULL};
    for (uint64_t i = 1; i <= ACUI_HANDOVER_PLACES; i++) {
        assert_int_equal(acui_handover_claim(&ring), i);
        acui_handover_open(&ring, i, &what);
    }
    assert_int_equal(acui_handover_claim(&ring), 0);
    assert_int_equal(acui_handover_given(&ring), ACUI_HANDOVER_PLACES);
    assert_true(acui_handover_take(&ring, &what));
    uint64_t a = acui_handover_claim(&ring);
    assert_int_equal(a, ACUI_HANDOVER_PLACES + 1);
    assert_int_equal(acui_handover_claim(&ring), 0);
    while (acui_handover_take(&ring, &what)) { /* up to the one that is not open */
    }
    assert_int_equal(ring.taken, ACUI_HANDOVER_PLACES);
    acui_handover_open(&ring, a, &what);
    assert_true(acui_handover_take(&ring, &what));
    assert_false(acui_passage_await(&passed, 1, 1)); /* a deadline that is over */
    acui_passage_set(&passed, 1);
    assert_true(acui_passage_await(&passed, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_givers), cmocka_unit_test(one_by_one),
                                       cmocka_unit_test(full_and_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
