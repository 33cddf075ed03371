/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Machine code: cubins, which are ELF files, and fat binaries, which hold several of them. */
#ifndef ACUI_KERNEL_BINARY_H
#define ACUI_KERNEL_BINARY_H

#include <acuda/status.h>

/* Whether it begins like one of the two, or like the wrapper that points to a fat binary inside a
 * program. A wrapper is then refused by the check. */
bool acui_is_binary(const void *data, size_t bytes);
/* Check that the image is complete. Errors: PTX, which names `what`. */
acu_status acui_binary_check(const void *data, size_t bytes, const char *what);
/* The architecture that a checked cubin is for, 90 for sm_90; 0: not known, or several. */
unsigned acui_binary_sm(const void *data);

#endif
