/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The bounds between which the lengths of a form lie, where each is another: such work is left
 * alone until the shortest, and from then on looked at from time to time. A timer wakes a thread up
 * sooner than the device's interrupt does, for which it is woken up a few times more.
 *
 * Between the bounds lies what was seen of late: they come a little closer each time, and give way
 * to what is beyond.
 */
#include "base/clock.h"
#include "engine/completion/flight.h"

#define LEAST ACU_US(500) /* of shorter work, a few timers take too much, ... */
#define MOST ACU_MS(10)   /* ... and of longer work, what the driver is late is little */
#define WIDEST 3          /* the bounds are at most a third of the longest apart */
#define FEW 6             /* of a score: so the next one will be between them, too */
#define TOP 15
#define DOUBT 4           /* times that one is looked at before, too, after two ended unseen; after
                           * one it is once */
#define CLOSER 32         /* the bounds come by such a part of what is between, each time */
#define PARTS 24          /* such a part of the shortest is between two looks: one is late by 2 % */
#define NARROW 16         /* between such bounds a length or two can be foreseen */
#define GAP_LEAST ACU_US(40)

/* When it ended nobody looked, and had not for long. */
static bool was_missed(uint64_t ns, uint64_t slack)
{
    return slack > ns / 8;
}

/* So it took `ns` at most: a little less than the shortest; or, if that goes on, much less. */
static void learn_little(acui_between *b, uint64_t ns)
{
    if (!b->high || ns > b->low + b->low / PARTS)
        return; /* who was woken up late learns nothing */
    b->low = ns < b->low / 2 ? ns : b->low - b->low / PARTS;
    b->score = (uint8_t)(b->score - b->score / 4);
    if (b->missed)
        b->doubt = DOUBT;
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
    uint64_t near = (b->high - b->low) / 4 + b->low / PARTS;
    bool beyond = ns + near < b->low || least > b->high + near;
    b->low = least < b->low ? least : b->low + (least - b->low) / CLOSER;
    b->high = ns > b->high ? ns : b->high - (b->high - ns) / CLOSER;
    if (b->doubt)
        b->doubt--;
    if (beyond)
        b->score /= 2;
    else if (b->score < TOP)
        b->score++;
}

uint64_t acui_between_next(const acui_between *b, uint64_t looked, uint64_t lead)
{
    uint64_t apart = b->high - b->low, gap = b->low / PARTS;
    if (b->score < FEW || b->low < LEAST || b->high > MOST || apart > b->high / WIDEST ||
        apart < b->low / NARROW)
        return 0;
    uint64_t sooner = b->doubt ? acui_look_before(b->low, looked) : b->low;
    if (sooner < b->low)
        return sooner;
    if (looked + lead < b->low)
        return b->low - lead;
    return looked < b->high + apart / 4 ? looked + (gap < GAP_LEAST ? GAP_LEAST : gap) : 0;
}
