/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads for work that takes long and blocks: loading modules, compiling, page-locking memory.
 * There are as many as there is work for, up to a few; they are started when first needed, and
 * ended by the last close.
 */
#ifndef ACUI_DEVICE_LOADER_H
#define ACUI_DEVICE_LOADER_H

#include "device/device.h"

typedef struct acui_job {
    struct acui_job *next;
    acu_device *device; /* retained by the job */
    /* Runs on a thread of the loader; frees the job and releases the device. */
    void (*run)(struct acui_job *job);
} acui_job;

/* Queue the job; on failure it remains the caller's. Errors: NO_MEMORY, FULL. Never
 * blocks. */
acu_status acui_loader_give(acui_job *job);
/* Wait until the device has no job; false at the deadline (of acui_now). Blocks. */
bool acui_loader_await(const acu_device *device, uint64_t deadline);
/* Wait until `over` returns true; it is called again whenever acui_loader_changed is called.
 * Blocks. */
bool acui_loader_wait_until(bool (*over)(void *context), void *context, uint64_t deadline);
void acui_loader_changed(void);

/* Have the last close call `fn`, once no thread is left; one function in all. */
void acui_loader_at_end(void (*fn)(void));
bool acui_loader_busy(void); /* a thread is running, or a job is waiting */
void acui_loader_stop(void); /* finishes all jobs; blocks until the threads are gone */

#endif
