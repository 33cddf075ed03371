/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies of pageable memory (acu_buffer_wrap_pageable), and between devices without access.
 *
 * The driver would make such a copy wait on the calling thread; so it never gets to see such
 * memory. Once all that comes before a copy is over, helper threads of acuda's move it in chunks:
 * from the program's memory into pinned memory of acuda's and from there to the device, or the
 * other way, with the device and several threads at work at the same time. What comes later waits
 * on the host until the copy is over. acu_explain says "staged copy" of it, acu_counters_read
 * counts such copies and their bytes.
 *
 * The device writes to acuda's memory only. The program's is its own again once the wrapping
 * buffer's release is called, after the last use. When a copy *to* pageable memory has lost
 * everybody who could want it (its future's handles were released, and nobody has a tensor of the
 * buffer, the buffer or an operation in flight that reads it) the chunks that are left are not
 * written any more. A submission that had no future in the first place is carried out whole. One
 * that is cancelled or passes its deadline stops between two chunks, unless others use its op; what
 * it was to write counts as not computed then.
 *
 * Copies between devices that were found to have no direct access to one another
 * (acu_device_open_peer) take the same way, from one device to the other, and count as staged.
 *
 * Memory that is copied often is better page-locked (acu_buffer_wrap_host) or made so
 * (acu_buffer_create_pinned): then the device moves it alone.
 */
#ifndef ACUDA_STAGING_H
#define ACUDA_STAGING_H

#include <acuda/base.h>
#include <acuda/status.h>

ACU_BEGIN

/* Zero-initialise, set `size`, change what you need; 0 means the default. */
typedef struct acu_staging_options {
    size_t size;        /* sizeof(acu_staging_options) */
    unsigned threads;   /* helpers of the process; default: half of the cores
                         * it may use, 1 to 8; at most
                         * 64. One core copies some 8 GB/s, so several are
                         *     needed to keep up with a GPU */
    size_t chunk_bytes; /* moved at a time, 4 KiB to 64 MiB in steps of 4 KiB; default: 2 MiB */
    unsigned chunks;    /* pinned ones of each helper on each device, 2 to 8; default: 3 */
} acu_staging_options;

/*
 * For copies that begin from now on, in the whole process; NULL: the defaults. Threads are started
 * when there is work for them, pinned memory (threads times chunks times chunk_bytes for each
 * device) is made when they first work, and kept until the device is closed. Never blocks; no
 * driver call.
 * Errors: INVALID (what is out of range).
 */
ACU_API acu_status acu_staging_set(const acu_staging_options *options);
/* What holds now. */
ACU_API void acu_staging_get(acu_staging_options *options);

ACU_END
#endif
