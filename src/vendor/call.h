/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations that call a library: foreign calls of acuda's own (op/call.h), which wait until the
 * library is loaded, get a handle for the time of the call, and can be captured into graphs.
 */
#ifndef ACUI_VENDOR_CALL_H
#define ACUI_VENDOR_CALL_H

#include "vendor/handles.h"

#include <acuda/op.h>

/* One call, while it is made. */
typedef struct acui_vendor_work {
    acu_device *device;
    CUstream stream;
    void *handle;          /* this thread's alone */
    const acu_val *values; /* of the arguments */
    const void *data;      /* the call's own */
    CUdeviceptr scratch[4];
    uint32_t scratch_count;
    struct vendor_call *call;
} acui_vendor_work;

/* Enqueue on work->stream, with the device's context current. On failure the record is set. */
typedef acu_status (*acui_vendor_fn)(acui_vendor_work *work);

/* Whether graphs can have the call: what it enqueues depends on the data, all of whose bytes
 * are set, and on the addresses of its values alone. */
typedef enum acui_vendor_repeats {
    ACUI_NOT_REPEATED, /* it does not; or the library waits, or reads results, in the call */
    ACUI_REPEATED,
    ACUI_REPEATED_THERE /* it takes host memory, or uploads: so only at the same addresses */
} acui_vendor_repeats;

typedef struct acui_vendor_call {
    acui_library *library;
    const char *name; /* of the op; static */
    acui_vendor_fn fn;
    const void *data; /* copied */
    size_t bytes;
    size_t key_bytes; /* of the data, from its beginning: which handles; 0: any */
    acui_vendor_repeats repeats;
} acui_vendor_call;

/* An op that yields its arguments (whose ops it consumes). */
acu_op *acui_vendor_op(const acui_vendor_call *call, const acu_arg *args, size_t count,
                       acu_site site);

/* Temporary memory for the call, at most four times: it is the call's until what it enqueues is
 * over; in a graph, as long as the graph. `bytes` may be 0. Errors: DEVICE_MEMORY, DRIVER. */
acu_status acui_vendor_scratch(acui_vendor_work *work, size_t bytes, void **memory);

/* The same in host memory: it is the call's as long as the op, and so as the work; in a graph, as
 * long as the graph. */
acu_status acui_vendor_host_scratch(acui_vendor_work *work, size_t bytes, void **memory);

/* Such memory with `data` in it, from the host, which is copied now. */
acu_status acui_vendor_upload(acui_vendor_work *work, const void *data, size_t bytes,
                              void **memory);

/* The address of the value's first element. */
void *acui_vendor_at(const acui_vendor_work *work, size_t value);

#endif
