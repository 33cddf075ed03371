/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies of pageable memory (acu_buffer_wrap_pageable), and between devices without access to each
 * other.
 *
 * The driver would wait on the calling thread for such a copy, so it is never given pageable
 * memory. Once everything before a copy is over, acuda's helper threads move the data in chunks:
 * from the program's memory into acuda's pinned memory and from there to the device, or the other
 * way, with the device and several threads working at the same time. What comes later waits on the
 * host until the copy is over. acu_explain calls it a "staged copy"; acu_process_stats counts such
 * copies and their bytes.
 *
 * The device writes only to acuda's memory. The program may use its own memory again once the
 * wrapping buffer's release is called, after the last use. When nobody can want the result of a
 * copy *to* pageable memory any more (its future's handles were released, and nobody has the
 * buffer, a tensor of it, or an operation in flight that reads it), the remaining chunks are not
 * written. A submission that never had a future is carried out whole. A submission that is
 * cancelled or passes its timeout stops between two chunks, unless others use its op; what it was
 * to write then counts as not computed.
 *
 * Copies between devices that turned out to have no direct access to each other
 * (acu_device_open_peer) go the same way, from one device to the other, and count as staged.
 *
 * For memory that is copied often, page-locking it (acu_buffer_wrap_host) or allocating it
 * page-locked (acu_buffer_create_pinned) is better: then the device moves the data alone.
 */
#ifndef ACUDA_STAGING_H
#define ACUDA_STAGING_H

#include <acuda/base.h>
#include <acuda/status.h>

ACU_BEGIN

/* Zero-initialise, set `size`, change what you need; 0 means the default. */
typedef struct acu_staging_options {
    size_t size;        /* sizeof(acu_staging_options) */
    unsigned threads;   /* helper threads of the process; default: half of the cores it may use, 1
                         * to 8; at most 64. One core copies some 8 GB/s, so it takes several to
                         * keep up with a GPU */
    size_t chunk_bytes; /* bytes moved at a time, 4 KiB to 64 MiB in steps of 4 KiB; default: 2
                         * MiB */
    unsigned chunks;    /* pinned chunks of each helper for each device, 2 to 8; default: 3 */
} acu_staging_options;

/*
 * Applies to copies that begin from now on, in the whole process; NULL: the defaults. Threads are
 * started when there is work for them. Pinned memory (threads times chunks times chunk_bytes for
 * each device) is allocated when they first work, and kept until the device is closed. Never
 * blocks; no driver call.
 * Errors: INVALID (a value out of range).
 */
ACU_API acu_status acu_staging_set(const acu_staging_options *options);
/* The current values, of which as many bytes are written as options->size says, which the caller
 * sets. Errors: INVALID (no size). */
ACU_API acu_status acu_staging_get(acu_staging_options *options);

ACU_END
#endif
