/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hand-over: src/base/handover.c itself, through every interleaving of small cases. */
#include "explore.h"

#include <stdio.h>
#include <string.h>

#ifndef HANDOVER_FILE
#define HANDOVER_FILE "../../src/base/handover.c"
#endif
#include HANDOVER_FILE

_Static_assert(ACUI_HANDOVER_PLACES == 2, "so few that givers meet the end of the ring");

void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline)
{
    (void)deadline; /* none here */
    explore_park(word, seen);
}

void acui_unpark(_Atomic(uint32_t) *word)
{
    explore_unpark(word);
}

uint64_t acui_now(void)
{
    return 0;
}

static acui_handover ring;
static acui_passage passed;

enum { MOST = 8 };
static uintptr_t given[MOST + 1]; /* by place */
static uintptr_t last[3];         /* that the taker got from each giver */
static int gots;

static void start(void)
{
    memset((void *)&ring, 0, sizeof ring);
    memset((void *)&passed, 0, sizeof passed);
    memset(given, 0, sizeof given);
    memset(last, 0, sizeof last);
    gots = 0;
}

/* Hand `what` over; where the ring is full, wait until the taker has come further. */
static void give(uintptr_t what)
{
    acui_handed handed = {.op = (struct acu_op *)what};
    uint64_t place;
    while (!(place = acui_handover_claim(&ring)))
        acui_passage_await(&passed, acui_handover_given(&ring) - ACUI_HANDOVER_PLACES + 1,
                           UINT64_MAX);
    if (place > MOST || given[place])
        explore_fail("place %d was given twice", (int)place);
    given[place] = what;
    acui_handover_open(&ring, place, &handed);
}

/* Values are 10 * giver + 1, 2, ... */
static void got(const acui_handed *handed)
{
    uintptr_t what = (uintptr_t)handed->op, giver = what / 10;
    gots++;
    if (giver > 2 || what == 0)
        explore_fail("got %d, which nobody gave", (int)what);
    if (given[ring.taken] != what)
        explore_fail("place %d held %d, not %d", (int)ring.taken, (int)given[ring.taken],
                     (int)what);
    if (what % 10 != last[giver] + 1)
        explore_fail("giver %d's %d came after %d", (int)giver, (int)(what % 10),
                     (int)last[giver]);
    last[giver] = what % 10;
}

static void take(int n)
{
    acui_handed handed;
    while (n > 0) {
        if (acui_handover_take(&ring, &handed)) {
            got(&handed);
            acui_passage_set(&passed, ring.taken);
            n--;
        } else {
            acui_handover_sleep(&ring);
        }
    }
}

/* ---- several givers, a ring that is too small, a taker that sleeps ---- */

static void give_two(void) { give(11), give(12); }
static void give_two_others(void) { give(21), give(22); }
static void take_four(void) { take(4); }
static void give_three(void) { give(11), give(12), give(13); }
static void take_three(void) { take(3); }

/* ---- the end: what was handed over before it is taken ---- */

static void give_and_end(void)
{
    give(11);
    give(12);
    acui_handover_end(&ring);
}

static void take_to_end(void)
{
    acui_handed handed;
    for (;;) {
        if (acui_handover_take(&ring, &handed)) {
            got(&handed);
            acui_passage_set(&passed, ring.taken);
        } else if (acui_handover_ended(&ring) && !acui_handover_ready(&ring)) {
            return;
        } else {
            acui_handover_sleep(&ring);
        }
    }
}

static void two_got(void)
{
    if (gots != 2)
        explore_fail("%d of 2 were taken", gots);
}

/* ---- waiting until the taker has come so far ---- */

static void give_and_wait(void)
{
    give(11);
    acui_passage_await(&passed, 1, UINT64_MAX);
    if (gots < 1)
        explore_fail("it had not come so far");
}

static void wait_for_two(void)
{
    acui_passage_await(&passed, 2, UINT64_MAX);
    if (gots < 2)
        explore_fail("it had not come so far");
}

static void give_one_more(void) { give(21); }
static void take_two(void) { take(2); }

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "one giver", .start = start, .threads = {give_three, take_three},
         .interruptions = 3, .delays = 2},
        {.name = "the end", .start = start, .threads = {give_and_end, take_to_end},
         .check = two_got, .interruptions = 4, .delays = 2},
        {.name = "waiting", .start = start,
         .threads = {give_and_wait, give_one_more, take_two, wait_for_two}, .interruptions = 2,
         .delays = 1},
        {.name = "two givers", .start = start, .threads = {give_two, give_two_others, take_four},
         .interruptions = 3, .delays = 0},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
