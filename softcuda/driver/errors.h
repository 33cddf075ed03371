/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sentence that says what went wrong last in the process (softcuda_last_error_text). */
#ifndef SOFTCUDA_DRIVER_ERRORS_H
#define SOFTCUDA_DRIVER_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * If SOFTCUDA_REPORT is set, also write each sentence to that file, or to stderr if it is called
 * that, for programs that do not ask. May be called again. False: `why` says why not.
 */
bool sd_report_open(char *why, size_t bytes);

__attribute__((format(printf, 1, 2))) void sd_error_say(const char *format, ...);

#endif
