/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measuring in a process of its own: the program runs itself again, and reads what that prints. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* The first line that this program prints when it is started with these arguments (the last one
 * NULL), cut to `bytes`. False: the process could not be made, failed, or printed nothing. Waits
 * for its end. */
bool bench_child(const char *const *arguments, char *line, size_t bytes);

#endif
