/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How processes meet by a file that all can reach: the first writes a few bytes, for which the
 * others wait.
 */
#ifndef ACUI_COMM_MEET_H
#define ACUI_COMM_MEET_H

#include <acuda/status.h>

/* Rank 0's: the file appears as a whole. Errors: IO. */
acu_status acui_meet_write(const char *path, const void *data, size_t bytes);
/* The others'. Blocks until it is there, for at most `timeout` nanoseconds (DEADLINE). */
acu_status acui_meet_read(const char *path, void *data, size_t bytes, uint64_t timeout);
void acui_meet_end(const char *path); /* rank 0's, once all have read it */

#endif
