/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sleeping until some submission completes: then threads that wait look again. None sleeps through
 * it. A thread that is about to sleep says so first, reads the number, and looks once more:
 *
 *     acui_done_begin();
 *     uint32_t seen = acui_done_count();
 *     if (!look())
 *         acui_done_sleep(seen, deadline);
 *     acui_done_end();
 *
 * While nobody is in between, a completion writes nothing here: so threads that use different
 * devices do not meet.
 */
#ifndef ACUI_BASE_DONE_H
#define ACUI_BASE_DONE_H

#include <stdint.h>

void acui_done_begin(void);
uint32_t acui_done_count(void);
/* Sleep until the number is no longer `seen`, or `deadline` (of acui_now). Also returns for no
 * reason: the caller looks again. */
void acui_done_sleep(uint32_t seen, uint64_t deadline);
void acui_done_end(void);
/* Something is complete, which threads that wait will find from now on. */
void acui_done_announce(void);

#endif
