/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Machine code: cubins, which are ELF files, and fat binaries, which hold several. */
#ifndef ACUI_KERNEL_BINARY_H
#define ACUI_KERNEL_BINARY_H

#include <acuda/status.h>

/* It begins as one of the two do, or as what points to one in a program: that is refused. */
bool acui_is_binary(const void *data, size_t bytes);
/* It is all there. Errors: PTX, `what` named. */
acu_status acui_binary_check(const void *data, size_t bytes, const char *what);
/* The architecture that a checked cubin is for, 90 for sm_90; 0: not known, or several. */
unsigned acui_binary_sm(const void *data);

#endif
