/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads for what takes long and blocks: loading modules, compiling, page-locking memory. As many
 * as there is work for, up to a few; they are started when first needed,
 * and ended by the last close.
 */
#ifndef ACUI_DEVICE_LOADER_H
#define ACUI_DEVICE_LOADER_H

#include "device/device.h"

typedef struct acui_job {
    struct acui_job *next;
    acu_device *device; /* retained by the job */
    /* On a thread of the loader's; frees the job and gives the device back. */
    void (*run)(struct acui_job *job);
} acui_job;

/* Have it run; it stays the caller's on failure. Errors: NO_MEMORY, WOULD_BLOCK. Never blocks. */
acu_status acui_loader_give(acui_job *job);
/* Until the device has no job; false at the deadline (of acui_now). Blocks. */
bool acui_loader_await(const acu_device *device, uint64_t deadline);
/* Until `over` says so; it is asked again whenever acui_loader_changed is called. Blocks. */
bool acui_loader_wait_until(bool (*over)(void *context), void *context, uint64_t deadline);
void acui_loader_changed(void);

/* The last close will call `fn`, once no thread is left; one function in all. */
void acui_loader_at_end(void (*fn)(void));
bool acui_loader_busy(void); /* a thread runs, or a job waits */
void acui_loader_stop(void); /* finishes what there is; blocks until the threads are gone */

#endif
