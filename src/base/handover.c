/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ring: claiming, opening and taking places; and how the taker, and threads that wait for a
 * passage, sleep and are woken without losing a wake-up. */
#include "base/handover.h"

#include "base/clock.h"
#include "base/park.h"

static acui_cell *cell_of(acui_handover *queue, uint64_t index)
{
    return &queue->cells[index % ACUI_HANDOVER_PLACES];
}

static uint64_t free_turn(uint64_t index)
{
    return 2 * (index / ACUI_HANDOVER_PLACES);
}

/* ---- giving ---- */

uint64_t acui_handover_claim(acui_handover *queue)
{
    uint64_t index = atomic_load_explicit(&queue->given, memory_order_relaxed);
    for (;;) {
        /* Acquire, from acui_handover_take: what was in the free place has been copied out. */
        uint64_t turn = atomic_load_explicit(&cell_of(queue, index)->turn, memory_order_acquire);
        if (turn < free_turn(index))
            return 0; /* full: not taken out since the round before */
        if (turn > free_turn(index)) {
            index = atomic_load_explicit(&queue->given, memory_order_relaxed);
            continue; /* another giver was faster */
        }
        /* Release: whoever sees this place claimed also sees the places in other rings that this
         * thread has seen. So no two submissions can each have seen the other's place, and wait for
         * each other. seq_cst: against stop_one in runtime.c, which stores that the taker is
         * stopped and then loads `given` (acui_handover_given). */
        if (atomic_compare_exchange_weak_explicit(&queue->given, &index, index + 1,
                                                  memory_order_seq_cst, memory_order_relaxed))
            return index + 1;
    }
}

static void wake(acui_handover *queue)
{
    /* seq_cst here and in open, end and sleep: this thread stores its news and then loads `asleep`;
     * the taker stores `asleep` and then loads the news. One of the two sees the other's store. */
    if (atomic_load_explicit(&queue->asleep, memory_order_seq_cst) &&
        atomic_exchange_explicit(&queue->asleep, 0, memory_order_seq_cst))
        acui_unpark(&queue->asleep);
}

void acui_handover_open(acui_handover *queue, uint64_t place, const acui_handed *what)
{
    acui_cell *cell = cell_of(queue, place - 1);
    cell->what = *what;
    atomic_store_explicit(&cell->turn, free_turn(place - 1) + 1, memory_order_seq_cst);
    wake(queue);
    __builtin_prefetch(cell_of(queue, place), 1); /* the taker, on another core, wrote it last */
}

void acui_handover_end(acui_handover *queue)
{
    atomic_store_explicit(&queue->ended, 1, memory_order_seq_cst);
    wake(queue);
}

/* ---- taking ---- */

bool acui_handover_ready(acui_handover *queue)
{
    return atomic_load_explicit(&cell_of(queue, queue->taken)->turn, memory_order_seq_cst) ==
           free_turn(queue->taken) + 1;
}

bool acui_handover_ended(acui_handover *queue)
{
    return atomic_load_explicit(&queue->ended, memory_order_seq_cst);
}

void acui_handover_begin(acui_handover *queue)
{
    atomic_store_explicit(&queue->ended, 0, memory_order_seq_cst);
}

bool acui_handover_take(acui_handover *queue, acui_handed *what)
{
    if (!acui_handover_ready(queue))
        return false;
    acui_cell *cell = cell_of(queue, queue->taken);
    *what = cell->what;
    /* Release, to acui_handover_claim: copied, so the place may be filled in the next round. */
    atomic_store_explicit(&cell->turn, free_turn(queue->taken) + 2, memory_order_release);
    queue->taken++;
    return true;
}

void acui_handover_sleep(acui_handover *queue)
{
    atomic_store_explicit(&queue->asleep, 1, memory_order_seq_cst);
    while (!acui_handover_ready(queue) && !acui_handover_ended(queue) &&
           atomic_load_explicit(&queue->asleep, memory_order_relaxed))
        acui_park(&queue->asleep, 1, UINT64_MAX);
    atomic_store_explicit(&queue->asleep, 0, memory_order_relaxed);
}

/* ---- passages ---- */

void acui_passage_set(acui_passage *passage, uint64_t count)
{
    /* seq_cst, as in await: this thread stores `count` and then loads `waiting`; a waiter raises
     * `waiting` and then loads `count`. One of the two sees the other. */
    atomic_store_explicit(&passage->count, count, memory_order_seq_cst);
    if (atomic_load_explicit(&passage->waiting, memory_order_seq_cst) == 0)
        return;
    atomic_fetch_add_explicit(&passage->epoch, 1, memory_order_release);
    acui_unpark(&passage->epoch);
}

bool acui_passage_await(acui_passage *passage, uint64_t count, uint64_t deadline)
{
    if (acui_passage_reached(passage, count))
        return true;
    bool reached = false, late = false;
    atomic_fetch_add_explicit(&passage->waiting, 1, memory_order_seq_cst);
    for (;;) {
        /* Acquire, from acui_passage_set: with a raised epoch comes the count that it was raised
         * for. A count that comes later changes the epoch, and ends the sleep. */
        uint32_t epoch = atomic_load_explicit(&passage->epoch, memory_order_acquire);
        reached = atomic_load_explicit(&passage->count, memory_order_seq_cst) >= count;
        if (reached || late)
            break;
        acui_park(&passage->epoch, epoch, deadline);
        late = deadline != UINT64_MAX && acui_now() >= deadline;
    }
    atomic_fetch_sub_explicit(&passage->waiting, 1, memory_order_relaxed);
    return reached;
}
