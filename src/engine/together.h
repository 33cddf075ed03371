/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Together: a thread that issues what others hand over to it may put small tasks aside while there
 * are more to come, and issue those of one form as one executable graph under one mark. On an H100
 * sixteen kernels launched so take the driver 1.9 us each, one by one 4.8.
 *
 * Each stays a submission of its own, with its own outcome; but all are told to be over when the
 * last of them is. So only such tasks go together as are known to be short, that wait for nothing
 * on the device, and whose submissions left the choice of a stream to acuda.
 *
 * While the device has enough to do, the thread waits a little for more of them.
 *
 * How many of a form: as many as are over within LIMIT, as far as it is known how long one takes.
 */
#ifndef ACUI_ENGINE_TOGETHER_H
#define ACUI_ENGINE_TOGETHER_H

#include "engine/engine.h"

enum {
    ACUI_TOGETHER = 16, /* tasks at most; a power of two, as is how many are issued at once: so a
                         * form has few graphs */
    ACUI_TOGETHER_NODES = 8, /* in each: larger ones gain little */
};

/* What one thread has put aside. */
typedef struct acui_together {
    acui_task *tasks[ACUI_TOGETHER];
    size_t count;
    acu_stream *stream; /* of all of them */
    uint64_t since, flushed_at; /* when the first was put there, and others were issued; ns */
    acu_device *device; /* that the thread holds; NULL: none. On it, with the last mark: */
    struct acui_lot { acu_stream *stream; uint64_t number; } issued[2]; /* the last lots */
    unsigned lots;
} acui_together;

/* From here on this thread's tasks may be put there; NULL: no more. Nothing is left in the one it
 * had. */
void acui_together_use(acui_together *together);
/* Laid out, and about to get a stream: the one of what was put aside, if it may go with that; else
 * NULL. */
acu_stream *acui_together_stream(acui_task *task);
/* Ready: it is put aside, if it may be; then *others are to be run. */
bool acui_together_put(acui_task *task, acui_task **others);
/* Issue what this thread has put aside; tasks to be run. */
acui_task *acui_together_flush(void);
void acui_together_pause(void); /* the same, and they are: this thread may be busy for a while */
/* Whether it had better wait for more: the device is busy with others. */
bool acui_together_may_grow(void);
void acui_together_hold(acu_device *device); /* this thread has it from now on; NULL: none */

/* How many of the form may go together; 1: it is not known to be short. */
unsigned acui_together_most(uint64_t form);
/* Tasks from `first` on, before `end`, are over by `now`; the first was not at `looked`. Flight
 * lock held. */
void acui_together_learn(const acui_task *first, const acui_task *end, uint64_t looked,
                         uint64_t now);

#endif
