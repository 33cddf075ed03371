/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handing work over to one thread, without a lock, and without a system call while nobody sleeps.
 * Each runtime thread (engine/submit/runtime.c) has such a ring.
 *
 * A ring has a fixed number of places, several givers and one taker. A giver claims the next place
 * by one compare-and-exchange on `given`, which fixes the order across all threads; it fills the
 * place, and opens it. The taker goes through the places in order. Places count from 1, and a
 * number is never used again, so that a thread can ask for "everything up to place p". A giver that
 * is interrupted between claiming and opening its place holds up the taker, but no other giver.
 *
 * Knows nothing of CUDA or of the rest of acuda: tests/models runs this very code through every
 * interleaving of a few threads.
 */
#ifndef ACUI_BASE_HANDOVER_H
#define ACUI_BASE_HANDOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef ACUI_HANDOVER_PLACES /* a model has fewer */
#define ACUI_HANDOVER_PLACES 1024
#endif

/* What is handed over: the ring copies it, and knows nothing about it. */
typedef struct acui_handed {
    struct acu_op *op;
    struct acu_device *device;
    struct acu_future *future;
    struct acui_handed_more *more; /* what few submissions need */
} acui_handed;

typedef struct acui_cell {
    /* 2r: free for round r of the ring; 2r + 1: filled in round r. So all zero is an empty ring. */
    _Alignas(64) _Atomic(uint64_t) turn;
    acui_handed what;
} acui_cell;

/* "Everything up to `count` is done", and waiting for that. */
typedef struct acui_passage {
    _Atomic(uint64_t) count;
    _Atomic(uint32_t) epoch, waiting; /* a word to sleep on; how many threads do */
} acui_passage;

/* All zero: empty, ready for use. */
typedef struct acui_handover {
    _Alignas(64) _Atomic(uint64_t) given; /* places that givers have claimed */
    _Alignas(64) _Atomic(uint32_t) asleep; /* 1: the taker sleeps, or is about to */
    _Atomic(uint32_t) ended;
    uint64_t taken; /* places taken; only the taker's */
    acui_cell cells[ACUI_HANDOVER_PLACES];
} acui_handover;

/* ---- any thread ---- */

/* Claim the next place, which this thread then opens; 0 if the ring is full. */
uint64_t acui_handover_claim(acui_handover *queue);
/* Fill the place and open it. Wakes the taker if it sleeps. */
void acui_handover_open(acui_handover *queue, uint64_t place, const acui_handed *what);
/* The last place that is claimed. Includes this thread's own, and others of which it knows.
 * seq_cst, with the claim: one thread stores that the taker is stopped and then loads this; another
 * claims a place and then loads whether the taker is stopped. At least one of them sees the other's
 * store. */
static inline uint64_t acui_handover_given(acui_handover *queue)
{
    return atomic_load_explicit(&queue->given, memory_order_seq_cst);
}
/* The taker need not sleep any more: from now on acui_handover_sleep returns at once. */
void acui_handover_end(acui_handover *queue);

/* ---- the taker, one thread ---- */

/* Take the next submission, in order of places; false if that place is not open yet. Afterwards
 * queue->taken is its place. */
bool acui_handover_take(acui_handover *queue, acui_handed *what);
bool acui_handover_ready(acui_handover *queue); /* something can be taken */
/* Sleep, in the system, until something can be taken, or until the end. */
void acui_handover_sleep(acui_handover *queue);
bool acui_handover_ended(acui_handover *queue);
void acui_handover_begin(acui_handover *queue); /* before a new taker starts: clear the end */

/* ---- passages ---- */

/* By one thread only, with counts that never fall. */
void acui_passage_set(acui_passage *passage, uint64_t count);
static inline bool acui_passage_reached(acui_passage *passage, uint64_t count)
{
    return atomic_load_explicit(&passage->count, memory_order_acquire) >= count;
}
/* Any thread: sleep until `count` is reached; false if it was not by `deadline` (of acui_now). */
bool acui_passage_await(acui_passage *passage, uint64_t count, uint64_t deadline);

#endif
