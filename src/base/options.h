/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading option structs, which begin with their size so that they can grow. */
#ifndef ACUI_BASE_OPTIONS_H
#define ACUI_BASE_OPTIONS_H

#include <acuda/status.h>

/*
 * Copy the program's `options` into `known`, of which this library knows `known_bytes`. Fields that
 * an older program does not have are zero. NULL gives all zeros. Errors: INVALID (no size; `known`
 * is zero), NOT_SUPPORTED (a newer program sets fields that this library does not know; the known
 * ones are copied).
 */
acu_status acui_options_read(void *known, size_t known_bytes, const void *options,
                             const char *function);

/* Copy `known` into the program's struct `out`, which begins with its size as well, as far as that
 * reaches; its size becomes what it has got. Errors: INVALID (NULL, or no size). */
acu_status acui_struct_check(const void *out, const char *function); /* whether that will work */
acu_status acui_struct_write(void *out, const void *known, size_t known_bytes,
                             const char *function);

#endif
