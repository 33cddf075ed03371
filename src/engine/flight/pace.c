/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many tasks of a signature may be issued as one; and threads that keep submitting. */
#include "engine/flight/flight.h"

#include "base/local.h"

/* ---- threads that keep submitting ---- */

#define SOON ACU_US(20) /* at most, between two tasks of a streak */

static ACUI_LOCAL struct {
    uint64_t last;
    uint32_t count;
} streak;

void acui_streak_issued(uint64_t now)
{
    streak.count = now < streak.last + SOON ? streak.count + 1 : 0;
    streak.last = now;
}

void acui_streak_end(void)
{
    streak.count = 0;
}

uint32_t acui_streak_now(void)
{
    return streak.count;
}

/* ---- how many of a signature ---- */

/*
 * How long one task of a signature takes while the device is busy with such tasks, as far as that
 * shows. Upper bound: the time since the device was last seen to end anything, divided by the
 * number of tasks that were found over. Lower bound: the same, up to the look before. Between these
 * bounds the value rises slowly, in case it was luck.
 *
 * Each device has a table. Each signature is in one of the few slots that its hash says, which
 * share a line of the processor's cache. A slot holds the signature's hash, but for the lowest
 * bits, which are the time, in units. Written with the device's flight lock held; relaxed: these
 * are guesses.
 */
enum { UNIT = 16, TIME_BITS = 0xFFFF, RISE = 32 };

static uint64_t word_at(const _Atomic(uint64_t) *slot)
{
    return atomic_load_explicit(slot, memory_order_relaxed);
}

static _Atomic(uint64_t) *set_of(const acu_device *device, uint64_t signature)
{
    return device->engine->paces[(signature >> 20) % ACUI_PACE_SETS];
}

/* NULL: nothing is known of this signature. */
static _Atomic(uint64_t) *slot_of(_Atomic(uint64_t) *set, uint64_t signature)
{
    for (size_t i = 0; i < ACUI_PACE_PLACES; i++)
        if (((word_at(&set[i]) ^ signature) & ~(uint64_t)TIME_BITS) == 0)
            return &set[i];
    return NULL;
}

/* Room for a new signature: the one in the set that came first leaves. */
static _Atomic(uint64_t) *make_slot(_Atomic(uint64_t) *set)
{
    for (size_t i = ACUI_PACE_PLACES - 1; i > 0; i--)
        atomic_store_explicit(&set[i], word_at(&set[i - 1]), memory_order_relaxed);
    return &set[0];
}

/* In units; 0: it is not known. */
static uint64_t time_of(_Atomic(uint64_t) *set, uint64_t signature)
{
    const _Atomic(uint64_t) *slot = slot_of(set, signature);
    return slot ? word_at(slot) & TIME_BITS : 0;
}

unsigned acui_batch_most(const acu_device *device, uint64_t signature)
{
    uint64_t time = time_of(set_of(device, signature), signature);
    unsigned n = ACUI_BATCH_MOST;
    while (n > 1 && (!time || n * time * UNIT > ACUI_BATCH_TIME))
        n /= 2;
    return n;
}

_Atomic(bool) acui_batch_timeless;

static void learn(_Atomic(uint64_t) *set, uint64_t signature, uint64_t least, uint64_t most)
{
    uint64_t was = time_of(set, signature), now = was + was / RISE + 1;
    if (!was || now > most / UNIT)
        now = most / UNIT + 1;
    if (now < least / UNIT)
        now = least / UNIT;
    if (now > TIME_BITS)
        now = TIME_BITS;
    if (now == was)
        return;
    _Atomic(uint64_t) *slot = slot_of(set, signature);
    atomic_store_explicit(slot ? slot : make_slot(set), (signature & ~(uint64_t)TIME_BITS) | now,
                          memory_order_relaxed);
}

void acui_batch_learn(const acui_task *first, const acui_task *end, uint64_t looked,
                         uint64_t now)
{
    if (acui_batch_is_timeless())
        return;
    uint64_t over_at = acui_flight_of(first->device)->ended_at;
    uint64_t start = first->flight.issued_at > over_at ? first->flight.issued_at : over_at;
    uint64_t least = looked > start ? looked - start : 0;
    while (first != end) {
        unsigned count = 0;
        const acui_task *task = first;
        for (; task != end && task->signature == first->signature; task = task->next_listed)
            count++;
        if (first->signature)
            learn(set_of(first->device, first->signature), first->signature, least / count,
                  (now - start) / count);
        least = 0; /* when the others began is not known */
        first = task;
    }
}
