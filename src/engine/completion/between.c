/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The bounds between which the lengths of a form lie, if each of its tasks takes a different time.
 * Such work is left alone until the shortest length, and looked at from time to time from then on.
 * A timer wakes a thread sooner than the device's interrupt does; the price is a few more wake-ups.
 * Used by lengths.c; flight lock held.
 *
 * The bounds hold recent lengths: each time they come a little closer, and they give way to what
 * lies beyond them.
 */
#include "base/clock.h"
#include "engine/completion/flight.h"

/* Whether nobody looked when it ended, nor for long before. */
static bool was_missed(uint64_t ns, uint64_t slack)
{
    return slack > ns / 8;
}

/* Nobody saw its end: it took `ns` at most. So the lower bound is set a little lower; if the task
 * was much shorter, to `ns`. */
static void learn_little(acui_between *b, uint64_t ns)
{
    if (!b->high || ns > b->low + b->low / ACUI_BOUNDS_PARTS)
        return; /* a thread that was woken up late learns nothing */
    b->low = ns < b->low / 2 ? ns : b->low - b->low / ACUI_BOUNDS_PARTS;
    b->score = (uint8_t)(b->score - b->score / 4);
    if (b->missed)
        b->doubt = ACUI_DOUBT;
    b->missed = true;
}

void acui_between_learn(acui_between *b, uint64_t ns, uint64_t slack, bool foreseen)
{
    if (was_missed(ns, slack)) {
        b->doubt = b->doubt ? b->doubt : 1;
        if (!foreseen)
            learn_little(b, ns);
        return;
    }
    uint64_t least = ns - slack;
    b->missed = false;
    if (!b->high) {
        *b = (acui_between){.low = least, .high = ns};
        return;
    }
    uint64_t near = (b->high - b->low) / 4 + b->low / ACUI_BOUNDS_PARTS;
    bool beyond = ns + near < b->low || least > b->high + near;
    b->low = least < b->low ? least : b->low + (least - b->low) / ACUI_BOUNDS_CLOSER;
    b->high = ns > b->high ? ns : b->high - (b->high - ns) / ACUI_BOUNDS_CLOSER;
    if (b->doubt)
        b->doubt--;
    if (beyond)
        b->score /= 2;
    else if (b->score < ACUI_SCORE_TOP)
        b->score++;
}

uint64_t acui_between_next(const acui_between *b, uint64_t looked, uint64_t lead)
{
    uint64_t apart = b->high - b->low, gap = b->low / ACUI_BOUNDS_PARTS;
    if (b->score < ACUI_BOUNDS_FEW || b->low < ACUI_BOUNDS_LEAST || b->high > ACUI_BOUNDS_MOST ||
        apart > b->high / ACUI_BOUNDS_WIDEST || apart < b->low / ACUI_BOUNDS_NARROW)
        return 0;
    uint64_t sooner = b->doubt ? acui_look_before(b->low, looked) : b->low;
    if (sooner < b->low)
        return sooner;
    if (looked + lead < b->low)
        return b->low - lead;
    gap = gap < ACUI_BOUNDS_GAP ? ACUI_BOUNDS_GAP : gap;
    return looked < b->high + apart / 4 ? looked + gap : 0;
}
