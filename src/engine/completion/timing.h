/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * When to look at the device: the rules, and all numbers in them.
 *
 * Who looks: a thread that waits (wait.c, queue.c); the reactor (reactor.c), if somebody is to be
 * told and no such thread looks; a helper in the driver (blocked.c). Whenever one of the first two
 * has looked in vain, it asks due.c when the next look pays (next_look). The answer is the first of
 * these that applies to the first task of the stream:
 *
 *   1. its form's lengths vary between known bounds,     between.c: from shortly before the lower
 *      and no end is foreseen that is to be tried        bound on, look at intervals
 *   2. an end is foreseen, and not passed yet            lengths.c: shortly before it; then poll.
 *                                                        In doubt also at 1/8, 1/4, 1/2 of it
 *   3. it has run for less than the thread's `spin`;     now: poll
 *      or its form is never longer than ACUI_LONG,
 *      and it has run for little more than that
 *   4. nobody can cancel the wait (acu_sync)             this thread itself waits in the driver
 *   5. a helper is free                                  it waits in the driver, and wakes those
 *                                                        that sleep meanwhile
 *   6. otherwise                                         after 1/8 of the time that it has run
 *
 * "Shortly before" is by as much as threads wake up late here (`wake_up`), ACUI_LEAD, and twice
 * what the length varies by. A thread that waits polls for ACUI_ASK_AFTER before it asks at all,
 * and does not sleep for less than ACUI_PAUSE. The reactor never blocks in the driver (4), and asks
 * the driver at most once in ACUI_LOOK_GAP. Where devices write flags, these are what is looked at;
 * the driver is then asked only for bad news, once in ACUI_ASK (device.h).
 *
 * An example: a thread waits for a kernel of 400 us, on a machine where timers wake a thread 20 us
 * late, and the driver 50 us late. Times are in us, and count from the submission.
 *
 *   the kernel               what the thread does              late   what is known then
 *   never seen before        polls to 50, helper waits         50     370, guessed, seen once
 *   seen once                polls to 25, helper waits         50     370, guessed, seen twice
 *   foreseen from a guess    sleeps to 260, polls to 400       0      400, spread 10
 *   foreseen                 sleeps to 388, polls to 400       0      400, spread 5; then less
 *   foreseen, but takes 600  sleeps to 388, polls to 424,      50     400, foreseen again, as one
 *                            helper waits                             error is forgiven; patience 2
 *   600 again                the same                          50     400, foreseen when it has
 *                                                                     come again; patience 4. Later
 *                                                                     after 3, 7, 15 and 31 times
 *   foreseen, but takes 250  sleeps to 388                     138    338, guessed; doubt 4
 *   400 again                looks at 46, 124 and 226 too,     0      400, spread 10; doubt 3
 *                            then polls to 400
 *   350 to 450, at random    as if foreseen, if one of up to   0-50   lengths with their spreads;
 *                            four known lengths fits; else            patience goes up and down
 *                            as if never seen
 *   900 to 1100, at random   looks from 890 on, every 60       0-60   bounds, about 900 and 1110;
 *                                                                     lengths are tried in one of
 *                                                                     eight tasks
 *
 * How sharply an end is seen: `slack` is the time between the last look in vain and the one that
 * found it over. Up to ACUI_SHARP it is seen sharply; up to ACUI_BLIND roughly, like ends that a
 * thread in the driver has seen; beyond that blindly. What an end changes:
 *
 *   of a form (lengths.c)
 *     length.score     a new length has 1. It came again: +1, up to ACUI_SCORE_TOP. A new one takes
 *                      the weakest one's place: the others -1, but not below 1. Once in
 *                      ACUI_SELDOM tasks: all -1; at 0 it is forgotten. It counts as known from
 *                      ACUI_LENGTH_FEW on
 *     length.ns        sharply: halfway to the new one, or the new one in place of a guess.
 *                      Roughly: a guess, which a shorter one replaces. Blindly: a guess as well, of
 *                      ACUI_SOONER less if the end was just missed, else of the middle between the
 *                      two looks; it also replaces a longer length that is near
 *     length.spread    new: ACUI_FIRST_SPREAD, ACUI_ROUGH, or by how much a blind guess is less.
 *                      Sharply: halfway to how far it was off
 *     patience         begins at 1. Foreseen, and none of the known lengths came: doubled, up to
 *                      ACUI_PATIENCE_MOST. Foreseen, and came: less by 1 and a quarter, down to 1
 *     left             none of the known lengths came: patience (before it is doubled), less by 1
 *                      if one was foreseen. A known one came: -1. At 0 the next one is foreseen; up
 *                      to ACUI_LEFT_HOPE it is polled for only by who is awake then anyway; beyond
 *                      that the form counts as unknown
 *     doubt            an end before which nobody had looked for 3/4 of the time: ACUI_DOUBT.
 *                      Sharply: -1
 *     believed         nobody was there, as a thread overslept, but a known length fits: +1, and it
 *                      counts as having come; at most ACUI_BLINDLY times. All else: 0
 *   of its bounds (between.c), if there was a look in the last 1/8
 *     low, high        extended to the new length; else 1/ACUI_BOUNDS_CLOSER closer to it
 *     score            far beyond: halved; else +1, up to ACUI_SCORE_TOP. From ACUI_BOUNDS_FEW on
 *                      the bounds are used
 *     doubt            -1
 *   of its bounds, if there was none
 *     doubt            at least 1
 *     low, score       if it ended about at the lower bound or before, and no end was foreseen: low
 *                      is less by 1/ACUI_BOUNDS_PARTS, or becomes the length if that is below half
 *                      of it; the score is less by a quarter. The second time in a row the doubt is
 *                      ACUI_DOUBT
 *   of all work
 *     spin (wait.c)    polling was enough: ACUI_SPIN_MOST. The driver had to be waited for: halved,
 *                      down to ACUI_SPIN_LEAST; ACUI_SPIN_MOST if that wait was short
 *     wake_up (due.c)  a thread woke up later than that: +3 steps, up to ACUI_WAKE_MOST; less late:
 *                      -1 step, of 0.5 us and a 64th of it. So three out of four are less late
 */
#ifndef ACUI_ENGINE_TIMING_H
#define ACUI_ENGINE_TIMING_H

#include <acuda/status.h>

/* ---- threads that wait ---- */
#define ACUI_ASK_AFTER ACU_US(3) /* how long to poll before due.c is asked: that takes a lock */
#define ACUI_ASK_GAP ACU_US(1)   /* and then so often: it takes longer than a look at a flag */
#define ACUI_FRESH ACU_US(3)     /* no kernel is over sooner */
#define ACUI_PAUSE ACU_US(20)    /* shorter sleeps are not worth it: waking up takes as long */

/* How long to poll for work of unknown length: a thread that waits for a future (it varies between
 * these), for a queue, and the reactor. */
#define ACUI_SPIN_LEAST ACU_US(6)
#define ACUI_SPIN_MOST ACU_US(50)
#define ACUI_SPIN_QUEUE ACU_US(50)
#define ACUI_SPIN_REACTOR ACU_US(100)

/* Naps, where nobody will wake the thread up: this part of how long the work has run so far. */
enum { ACUI_NAP_PART = 8 };
#define ACUI_NAP_LEAST ACU_US(20)
#define ACUI_NAP_MOST ACU_MS(1)
#define ACUI_HELD_MOST ACU_MS(20) /* for work that is held back: its coming is announced */

/* ---- how late threads wake up ---- */
#define ACUI_LEAD ACU_US(10)      /* to be there in time, on top of what is known */
#define ACUI_WAKE_MOST ACU_US(200) /* the most lateness that is made up for by waking up early */
#define ACUI_LATE ACU_US(80)      /* about what a thread in the driver takes to wake up */
#define ACUI_DOUBTFUL ACU_US(400) /* it takes more or less long: a shorter wait there than this may
                                   * have been for short work */
#define ACUI_BLOCK_AGAIN ACU_MS(100) /* until the next try, where the driver lets nobody wait */

/* ---- the reactor ---- */
#define ACUI_LOOK_GAP ACU_US(20)  /* between two questions to the driver: they slow down threads
                                   * that submit */
#define ACUI_LAZY ACU_MS(5)       /* between looks that nobody waits for */
#define ACUI_TENDED ACU_MS(50)    /* after the time at which somebody else was going to look */
#define ACUI_FAULT_GAP ACU_MS(50) /* between looks at what is foreseen: a fault may end it at any
                                   * time */
#define ACUI_IDLE ACU_MS(100)     /* after that long a stream with nothing on it is let go */
#define ACUI_LONG ACU_US(150)     /* shorter work is not worth going to sleep for */
#define ACUI_SHORT_GAP ACU_US(50) /* if more short work comes within this, it pays to stay awake */
#define ACUI_LOOK_MOST ACU_US(4)  /* of a thread that takes from a queue: the time that it looks in
                                   * one call; with many streams, the next call goes on */

/* ---- lengths that come again ---- */
enum {
    ACUI_LENGTHS = 4,         /* that are known of a form, at most */
    ACUI_LENGTH_FEW = 2,      /* how often a length must have been seen before it is foreseen */
    ACUI_SCORE_TOP = 15,      /* the highest score of a length, and of bounds */
    ACUI_PATIENCE_MOST = 32,  /* how many tasks must take a known length before one is foreseen
                               * again, after wrong predictions */
    ACUI_PATIENCE_WRONG = 3,  /* from this patience on, predictions are mostly wrong: where bounds
                               * are known, one in ACUI_SELDOM is tried */
    ACUI_LEFT_HOPE = 4,       /* while more such tasks than this are to come, a form counts as
                               * unknown */
    ACUI_DOUBT = 4,           /* for how many tasks to look before the end as well, after one whose
                               * end was missed; of bounds, after two (after one: for one) */
    ACUI_SELDOM = 8,          /* a length that comes less often than once in so many tasks is
                               * forgotten: most looks at that time would be in vain */
    ACUI_BLINDLY = 4,         /* how often in a row a length is believed without having been seen */
};
#define ACUI_LEARNED ACU_US(40) /* shorter work is polled for, whatever its form */
#define ACUI_SHARP ACU_US(25)   /* an end is seen sharply if it may be sooner by this at most */
#define ACUI_BLIND ACU_US(100)  /* if it may be sooner by more, nobody was there */
#define ACUI_ROUGH ACU_US(60)   /* the error of a length that only a thread in the driver saw */
#define ACUI_SOONER ACU_US(50)  /* how much sooner to look after a look that came too late */
#define ACUI_FIRST_SPREAD ACU_US(10)
#define ACUI_SPREAD_MOST ACU_US(100) /* the most time that a thread polls because lengths vary */

/* What timers and kernels vary by: lengths that differ by less are the same. */
static inline uint64_t acui_vary(uint64_t ns)
{
    return ns / 128 + ACU_US(20);
}

/* ---- bounds of lengths that vary ---- */
#define ACUI_BOUNDS_LEAST ACU_US(500) /* for shorter work, several timers cost too much */
#define ACUI_BOUNDS_MOST ACU_MS(10)   /* for longer work, it matters little that a wait in the
                                       * driver ends late */
#define ACUI_BOUNDS_GAP ACU_US(40)    /* between looks, at least */
enum {
    ACUI_BOUNDS_FEW = 6,     /* from this score on, the next length is expected between them */
    ACUI_BOUNDS_WIDEST = 3,  /* they are apart by at most a third of the upper one */
    ACUI_BOUNDS_NARROW = 16, /* if they are closer than a 16th of the lower one, lengths.c foresees
                              * a length or two instead */
    ACUI_BOUNDS_CLOSER = 32, /* each length brings them closer, by a 32nd of its distance */
    ACUI_BOUNDS_PARTS = 24,  /* looks are a 24th of the lower one apart: 2 % late on average */
};

#endif
