/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A driver with which acuda alone can be measured. It is the software device, except that from
 * clockwork_start on the calls that submit only keep time. A launch takes as long as clockwork_next
 * said, on its stream, behind what was there. Flags are written when they are due, and a thread
 * that sleeps in the driver wakes up as late as was said. Nothing is computed. Launches without a
 * length, the default, are over at once.
 *
 * Only the calls that benchmarks with such launches make are replaced (clockwork.c lists them); all
 * others are the software device's. Any thread may call these functions.
 */
#ifndef BENCH_CLOCKWORK_H
#define BENCH_CLOCKWORK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCKWORK_API __attribute__((visibility("default")))

/* Makes acuda open this driver, wherever its library lies. To be called before anything is opened.
 * False: where it lies can not be told. */
CLOCKWORK_API bool clockwork_choose(void);
CLOCKWORK_API void clockwork_start(uint64_t late_ns);
CLOCKWORK_API void clockwork_stop(void);
CLOCKWORK_API void clockwork_next(uint64_t ns); /* how long the next launch takes */
CLOCKWORK_API uint64_t clockwork_over_at(void); /* when the last of a length is, CLOCK_MONOTONIC */
CLOCKWORK_API double clockwork_cpu_us(void);    /* that keeping time took */

#endif
