/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sleeping until some submission completes: then threads that wait look again. None sleeps through
 * it. */
#ifndef ACUI_BASE_DONE_H
#define ACUI_BASE_DONE_H

#include <stdint.h>

/* A number that changes with each completion: read it before looking, and pass it to the sleep. */
uint32_t acui_done_count(void);
/* Sleep until the number is no longer `seen`, or `deadline` (of acui_now). Also returns for no
 * reason: the caller looks again. */
void acui_done_sleep(uint32_t seen, uint64_t deadline);
void acui_done_announce(void);

#endif
