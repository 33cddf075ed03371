/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The program's host memory, page-locked while it is wrapped. The same range may be wrapped more
 * than once; it is unlocked with the last. What the program locked itself remains the program's
 * business.
 */
#ifndef ACUI_MEMORY_PAGES_H
#define ACUI_MEMORY_PAGES_H

#include "device/device.h"

typedef struct acui_pages acui_pages;

/* Lock the range; *pages may become NULL, if the program locked it itself. The device is entered.
 * Errors: BUSY (it overlaps a wrapped range, but is not the same; or the program locked only part
 * of it), DRIVER. */
acu_status acui_pages_lock(acu_device *device, void *memory, size_t bytes, acui_pages **pages);
/* NULL is fine. */
void acui_pages_unlock(acui_pages *pages);

#endif
