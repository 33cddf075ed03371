/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading option structs, which begin with their size so that they can grow. */
#ifndef ACUI_BASE_OPTIONS_H
#define ACUI_BASE_OPTIONS_H

#include <acuda/status.h>

/*
 * Copy the program's `options` into `known`, whose `known_bytes` this library knows: what an older
 * program does not have is zero. NULL gives all zero. Errors: INVALID (no size: `known` is zero),
 * NOT_SUPPORTED (a newer program sets what this library does not know: the rest is there).
 */
acu_status acui_options_read(void *known, size_t known_bytes, const void *options,
                             const char *function);

#endif
