/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Seeded runs. With SOFTCUDA_SEED one number decides which stream goes on when, how long works are
 * held back, and how long after its end a work is seen to be over.
 *
 * The works of all streams run one at a time, and they run while the program is in a call of the
 * driver: time is counted in calls, not in seconds. A call that waits runs works until what it
 * waits for is there. So the same calls in the same order give the same run, however fast the
 * machine is. All choices are functions of the seed, the stream's number and the work's place.
 *
 * Two things are not decided by calls. A work that does not end, since it waits for the program or
 * for another stream, is left adrift, and others run beside it. And while the program makes no call
 * at all, as it waits for a host function, a thread makes steps on its own. Both are when all
 * threads of the process have been asleep for a while; or, as some may spin, after a long while.
 */
#ifndef SOFTCUDA_DRIVER_SCHEDULE_H
#define SOFTCUDA_DRIVER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct sd_stream;
struct sd_mark;
struct sd_work;

/* Before the first stream is made. False: there is no memory. */
bool sd_schedule_init(uint64_t seed);

/* Whether runs are seeded. Constant once the driver is started. */
bool sd_seeded(void);

/* The program calls the driver: a moment for works to run. With no lock held. */
void sd_schedule_call(const char *name);

/* Run works until the mark is reached, and seen to be. With no lock held. */
void sd_schedule_wait(const struct sd_mark *mark);

/* Run one work, or wait a moment where there is none. With no lock held. */
void sd_schedule_pass(void);

/* The stream has work; its schedule is handed over. */
void sd_schedule_add(struct sd_stream *stream);

/*
 * The work was run in the turn of that number, and is out of its stream now. It is taken over, with
 * the reference of `after`, which says where it was.
 */
void sd_schedule_ended(struct sd_work *work, uint64_t turn);

#endif
