/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether all threads sleep: a seeded run relies on that when nothing else happens. */
#include "driver/asleep.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two threads that hand a turn to each other: one of them is always awake. */
typedef struct pair {
    sem_t turn[2];
    _Atomic(bool) stop;
} pair;

typedef struct player {
    pair *both;
    int number;
} player;

static void take(sem_t *turn)
{
    while (sem_wait(turn) != 0)
        continue;
}

static void *play(void *context)
{
    player *p = context;
    bool stop;
    do {
        take(&p->both->turn[p->number]);
        stop = p->both->stop;
        sem_post(&p->both->turn[!p->number]);
    } while (!stop);
    return NULL;
}

static void threads_that_take_turns_are_not_asleep(void **state)
{
    enum { LOOKS = 3000 };
    (void)state;
    static pair both;
    player players[2] = {{&both, 0}, {&both, 1}};
    pthread_t threads[2];
    int asleep = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sem_init(&both.turn[i], 0, 0), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    }
    sem_post(&both.turn[0]);
    for (int i = 0; i < LOOKS; i++)
        asleep += sd_threads_sleep();
    both.stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(asleep, 0);
}

static void *wait_for_turn(void *turn)
{
    take(turn);
    return NULL;
}

/* Threads that wait count as asleep, as soon as they have begun to wait. */
static void threads_that_wait_are_asleep(void **state)
{
    (void)state;
    sem_t turn;
    pthread_t threads[3];
    assert_int_equal(sem_init(&turn, 0, 0), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_turn, &turn), 0);
    while (!sd_threads_sleep())
        continue;
    for (int i = 0; i < 3; i++)
        sem_post(&turn);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    sem_destroy(&turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_take_turns_are_not_asleep),
        cmocka_unit_test(threads_that_wait_are_asleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
