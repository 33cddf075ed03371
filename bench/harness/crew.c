/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A crew of threads (crew.h), which waits between two barriers. */
#include "crew.h"

static void *work(void *user)
{
    crew_hand *hand = user;
    crew *c = hand->crew;
    for (;;) {
        pthread_barrier_wait(&c->start);
        if (!c->fn)
            return NULL;
        if (c->raw)
            bench_enter(c->b);
        c->fn(c->user, hand->index);
        if (c->raw)
            bench_leave(c->b);
        pthread_barrier_wait(&c->end);
    }
}

void crew_hire(crew *c, const bench *b, int count)
{
    *c = (crew){.b = b, .count = count};
    pthread_barrier_init(&c->start, NULL, (unsigned)count + 1);
    pthread_barrier_init(&c->end, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        c->hands[i] = (crew_hand){.crew = c, .index = i};
        if (pthread_create(&c->hands[i].thread, NULL, work, &c->hands[i]) != 0)
            bench_die("no thread");
    }
}

double crew_run(crew *c, crew_fn fn, void *user, bool raw)
{
    c->fn = fn;
    c->user = user;
    c->raw = raw;
    double start = bench_now_us();
    pthread_barrier_wait(&c->start);
    pthread_barrier_wait(&c->end);
    return bench_now_us() - start;
}

void crew_dismiss(crew *c)
{
    c->fn = NULL;
    pthread_barrier_wait(&c->start);
    for (int i = 0; i < c->count; i++)
        pthread_join(c->hands[i].thread, NULL);
    pthread_barrier_destroy(&c->start);
    pthread_barrier_destroy(&c->end);
}
