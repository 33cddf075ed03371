/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * When to look at the device: the rules, and all numbers in them.
 *
 * Who looks: a thread that waits (wait.c, queue.c); the reactor (reactor.c), if somebody is to be
 * told and no such thread looks; a helper in the driver (blocked.c). Whenever one of the first two
 * has looked in vain, it asks due.c when the next look pays (next_look). The answer is the first of
 * these that applies to the first task of the stream:
 *
 *   1. its end is expected (lengths.c)                   shortly before it; then poll
 *   2. it has run for less than the thread's `spin`;     now: poll
 *      or its signature never took longer than
 *      ACUI_LONG, and it has run for little more
 *   3. nobody can cancel the wait (acu_sync)             this thread itself waits in the driver
 *   4. a helper is free                                  it waits in the driver, and wakes those
 *                                                        that sleep meanwhile
 *   5. otherwise                                         after 1/8 of the time that it has run
 *
 * "Shortly before" is by as much as threads wake up late here (`wake_up`), and ACUI_LEAD. A thread
 * that waits polls for ACUI_ASK_AFTER before it asks at all, and does not sleep for less than
 * ACUI_PAUSE. The reactor never blocks in the driver (3), and asks the driver at most once in
 * ACUI_LOOK_GAP. Where devices write flags, these are what is looked at; the driver is then asked
 * only for bad news, once in ACUI_ASK (device.h).
 *
 * An end is expected at the shortest of the signature's last ACUI_LENGTHS lengths that the task had
 * not outlasted when it was last looked at: so each of them costs one wake-up at most. That is only
 * trusted if half of the lengths that are left, and ACUI_LENGTH_FEW, are near it: what lies between
 * known lengths is noticed at the next one. After an end that was missed, since lengths may have
 * become shorter, a helper waits in the driver as well, for as many tasks as lengths are known.
 *
 * An example: a thread waits for a kernel of 400 us, on a machine where timers wake a thread 20 us
 * late, and the driver 50 us late. Times are in us, and count from the submission.
 *
 *   the kernel               what the thread does              late   what is learned
 *   never seen before        polls to 50, helper waits         50     400, roughly
 *   seen once                polls to 25, helper waits         50     400, roughly
 *   expected, roughly        sleeps to 320, polls to 400       0      400, in place of these too
 *   expected                 sleeps to 370, polls to 400       0      400; and so on
 *   takes 600 this time      sleeps to 370, polls to 412,      50     600
 *                            helper waits
 *   400 again                sleeps to 370, polls to 400       0      400
 *   takes 250 this time      sleeps to 370                     120    370 at most; it was missed
 *   400 again                sleeps to 310, polls to 400       0      400
 *   250 again                sleeps; helper wakes it           50     250, roughly
 *   350 to 450, at random    sleeps to shortly before the      0      each of them
 *                            shortest of the last eight,
 *                            then polls
 *   2,000 to 10,000,         helper waits                      50     each of them; they do not
 *   at random                                                         agree
 *
 * `spin` (wait.c): if polling was enough, it is ACUI_SPIN_MOST. If the driver had to be waited for,
 * it is halved, down to ACUI_SPIN_LEAST; ACUI_SPIN_MOST if that wait was short. `wake_up` (due.c):
 * if a thread woke up later than that, it rises by 3 steps, up to ACUI_WAKE_MOST; if less late, it
 * falls by one step, of 0.5 us and a 64th of it. So three out of four threads are less late.
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
enum { ACUI_LENGTH_FEW = 2 }; /* how many must agree before an end is expected */
#define ACUI_LEARNED ACU_US(40)     /* shorter work is polled for, whatever its signature */
#define ACUI_SHARP ACU_US(25)       /* an end is seen sharply if it may be sooner by this at most */
#define ACUI_ROUGH ACU_US(100)      /* a length that was not seen sharply is wrong by this at most,
                                     * mostly */
#define ACUI_SOONER ACU_US(50)      /* how much sooner to look after a look that came too late */
#define ACUI_WIDTH_MOST ACU_US(500) /* lengths that differ by more do not agree: what lies between
                                     * them would be noticed that late */

/* What timers and kernels vary by: a task has outlasted a length if it takes longer by this. */
static inline uint64_t acui_vary(uint64_t ns)
{
    return ns / 256 + ACU_US(10);
}

#endif
