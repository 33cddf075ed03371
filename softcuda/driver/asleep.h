/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Whether the whole process waits. A seeded run (schedule.h) may then go on by itself.
 */
#ifndef SOFTCUDA_DRIVER_ASLEEP_H
#define SOFTCUDA_DRIVER_ASLEEP_H

#include <stdbool.h>

/* Whether all threads of the process except the caller sleep at the same time. True where that can
 * not be told. */
bool sd_threads_sleep(void);

#endif
