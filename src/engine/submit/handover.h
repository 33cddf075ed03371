/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handing work over to one thread, without a lock and without the system where nobody sleeps.
 *
 * A ring of a fixed number of places. Who gives takes the next place by one compare-and-exchange,
 * which fixes the order of all threads, fills it and opens it; the one who takes goes through the
 * places in order. A place counts from 1 and is never used again, so that "everything up to place
 * p" can be asked for. A giver that is interrupted between taking its place and opening it holds up
 * what comes behind, but no other giver.
 *
 * Free of CUDA and of the rest of acuda: tests/models runs this very code through every
 * interleaving of a few threads.
 */
#ifndef ACUI_ENGINE_HANDOVER_H
#define ACUI_ENGINE_HANDOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef ACUI_HANDOVER_PLACES /* a model has fewer */
#define ACUI_HANDOVER_PLACES 1024
#endif

/* What is handed over: the ring copies it, and knows nothing of it. */
typedef struct acui_handed {
    struct acu_op *op;
    struct acu_device *device;
    struct acu_future *future;
    struct acui_handed_more *more; /* what few submissions have */
} acui_handed;

typedef struct acui_cell {
    /* 2r: free for round r of the ring; 2r + 1: filled in it. So zero is an empty ring. */
    _Alignas(64) _Atomic(uint64_t) turn;
    acui_handed what;
} acui_cell;

/* "Everything up to `count` is done", and waiting for that. */
typedef struct acui_passage {
    _Atomic(uint64_t) count;
    _Atomic(uint32_t) epoch, waiting; /* a word to sleep on; how many do */
} acui_passage;

/* All zero: empty, ready for use. */
typedef struct acui_handover {
    _Alignas(64) _Atomic(uint64_t) given; /* places taken by givers */
    _Alignas(64) _Atomic(uint32_t) asleep; /* 1: the taker sleeps, or is about to */
    _Atomic(uint32_t) ended;
    uint64_t taken; /* the taker's own */
    acui_cell cells[ACUI_HANDOVER_PLACES];
} acui_handover;

/* ---- any thread ---- */

/* The next place, to be opened by this thread; 0 if the ring is full. */
uint64_t acui_handover_place(acui_handover *queue);
/* Fill the place and open it; wakes the taker if it sleeps. */
void acui_handover_open(acui_handover *queue, uint64_t place, const acui_handed *what);
/* The last place that is taken; who has given before this call, or knows of one who has, sees it.
 * seq_cst: who has stored that the taker is stopped sees it, or who takes the place sees that. */
static inline uint64_t acui_handover_given(acui_handover *queue)
{
    return atomic_load_explicit(&queue->given, memory_order_seq_cst);
}
/* The taker need not sleep any more: acui_handover_sleep returns at once from now on. */
void acui_handover_end(acui_handover *queue);

/* ---- the taker, one thread ---- */

/* The next one, in order of places; false if the next place is not open yet. Its place is
 * queue->taken then. */
bool acui_handover_take(acui_handover *queue, acui_handed *what);
bool acui_handover_ready(acui_handover *queue); /* something can be taken */
/* Until something can be taken, or the end; the system is entered. */
void acui_handover_sleep(acui_handover *queue);
bool acui_handover_ended(acui_handover *queue);
void acui_handover_begin(acui_handover *queue); /* before a new taker: it has not ended */

/* ---- passages ---- */

/* By one thread, counting up. */
void acui_passage_set(acui_passage *passage, uint64_t count);
static inline bool acui_passage_reached(acui_passage *passage, uint64_t count)
{
    return atomic_load_explicit(&passage->count, memory_order_acquire) >= count;
}
/* Any thread: sleep until `count` is reached, or `deadline` (of acui_now); false if it was not. */
bool acui_passage_await(acui_passage *passage, uint64_t count, uint64_t deadline);

#endif
