/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether the process waits: a seeded run may go on by itself then. */
#ifndef SOFTCUDA_DRIVER_ASLEEP_H
#define SOFTCUDA_DRIVER_ASLEEP_H

#include <stdbool.h>

/* Whether all threads of the process but the caller sleep, at the same time. True where that cannot
 * be told. */
bool sd_threads_sleep(void);

#endif
