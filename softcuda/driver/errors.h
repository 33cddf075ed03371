/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sentence that says what went wrong last in the process (softcuda_last_error_text). */
#ifndef SOFTCUDA_DRIVER_ERRORS_H
#define SOFTCUDA_DRIVER_ERRORS_H

__attribute__((format(printf, 1, 2))) void sd_error_say(const char *format, ...);

#endif
