/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Seeded runs. With SOFTCUDA_SEED one number decides which stream goes on and when, how long works
 * are held back, and for how long after its end a work is not yet seen to be over.
 *
 * The works of all streams run one at a time, and only while the program is in a call of the
 * driver: time is counted in calls, not in seconds. A call that waits runs works until what it
 * waits for has happened. So the same calls in the same order give the same run, however fast the
 * machine is. All choices are functions of the seed, the stream's number and the work's place.
 *
 * Two things are not decided by calls. A work that does not end, because it waits for the program
 * or for another stream, is left adrift, and others run beside it. And while the program makes no
 * call at all, because it waits for a host function, a thread makes steps on its own. Both happen
 * once all threads of the process have been asleep for a while or, since some may spin, after a
 * long while.
 */
#ifndef SOFTCUDA_DRIVER_SCHEDULE_H
#define SOFTCUDA_DRIVER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct sd_stream;
struct sd_mark;
struct sd_work;

/* Start, before the first stream is made. False: no memory. */
bool sd_schedule_init(uint64_t seed);

/* Whether runs are seeded. Constant once the driver is started. */
bool sd_seeded(void);

/* The program calls the driver, which gives works a moment to run. No lock may be held. */
void sd_schedule_call(const char *name);

/* Run works until the mark is reached and seen to be. No lock may be held. */
void sd_schedule_wait(const struct sd_mark *mark);

/* Run one work, or wait a moment if there is none. No lock may be held. */
void sd_schedule_pass(void);

/* The stream has work; takes over its schedule. */
void sd_schedule_add(struct sd_stream *stream);

/*
 * The work ran in that turn, and is out of its stream now. Takes over the work, and the reference
 * of `after`, which says where it was.
 */
void sd_schedule_ended(struct sd_work *work, uint64_t turn);

#endif
