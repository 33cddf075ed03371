/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries of the toolkit, which are neither needed to build nor linked: opened when they are first
 * wanted, never closed once they are right. */
#ifndef ACUI_DRIVER_VENDOR_H
#define ACUI_DRIVER_VENDOR_H

#include <acuda/base.h>

/* By name or path; NULL: there is none, or it can not be opened. Blocks. */
void *acui_vendor_open(const char *name);
void acui_vendor_close(void *library); /* one that is not right after all */
/* Where it is: its file, without links; "" if nobody knows. */
void acui_vendor_path(void *library, char *path, size_t bytes);
/* The symbol into the pointer to a function at `field`; false: it has none. */
bool acui_vendor_symbol(void *library, const char *symbol, void *field);

#endif
