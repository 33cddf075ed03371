/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The internals of buffers and tensors.
 *
 * The buffer of a future result exists before its memory does: handles and plans refer to it, and
 * the engine allocates the memory for the stream that first writes it. Work that is not issued yet
 * holds its buffers. Issued work does so only if the memory is not from a pool: for a pool, the
 * last accesses in the buffer's list are all it needs to know to reuse the memory in stream order.
 */
#ifndef ACUI_MEMORY_MEMORY_H
#define ACUI_MEMORY_MEMORY_H

#include "device/device.h"
#include "memory/access.h"

#include <acuda/memory.h>
#include <acuda/tensor.h>

/*
 * The driver remembers which allocation the copies and fills of a graph work on, not only its
 * address. Once memory has gone back to the driver, an equal address may belong to another
 * allocation, which such a graph does not know: unless it is set anew, its launch crashes. So code
 * that gives memory back, or lets somebody else do so, calls acui_memory_returns first, and graphs
 * compare the count.
 */
void acui_memory_returns(void);
uint64_t acui_memory_returned(void);

struct acu_buffer {
    acui_object object;
    acu_device *device; /* retained */
    acu_memory_kind kind;
    size_t bytes;
    _Atomic(CUdeviceptr) address; /* 0: not allocated yet; for host memory, the device's view of
                                   * it */
    void *host;                   /* of pinned, wrapped and pageable host memory */
    struct acu_pool *pool;    /* retained; NULL: the device's own */
    struct acui_block *block; /* acuda's own memory, from the pool */
    struct acui_pages *pages; /* wrapped host memory that acuda page-locked; counted */
    acu_user user;            /* of wrapped memory */
    bool read_only;           /* wrapped memory that was lent for reading */
    bool passed_on;           /* its memory is another buffer's by now, which has the block */
    _Atomic(uint32_t) tensors; /* tensors over it; sole ownership requires 1 */
    _Atomic(uint32_t) lent;    /* those of them that are lent to callbacks of ops in flight, which
                                * do not count there */
    acui_accesses accesses;    /* who reads and writes it; order lock */
};

struct acu_tensor {
    acui_object object;
    acu_buffer *buffer; /* retained */
    size_t offset;      /* bytes */
    uint64_t span;      /* bytes from the start of the first element to the end of the last */
    uint32_t pitch, width; /* of windows that contain all elements; 0: no gaps, or none that are
                            * known */
    bool exact;         /* the extent contains nothing else */
    bool dense;
    bool empty;         /* a dimension of 0 */
    bool repeats;       /* elements may share memory, so it must not be written */
    uint8_t element_bytes;
    acu_dtype dtype;
    acu_shape shape;
    int64_t strides[ACU_MAX_RANK]; /* in elements */
};

/* A buffer whose memory is allocated later, by acui_buffer_allocate. */
acu_status acui_buffer_planned(acu_device *device, size_t bytes, acu_buffer **buffer);
/* A buffer from a pool of page-locked memory, with a host address. Its memory, and so its device
 * address, may come later; whatever touches it is ordered behind that. Never blocks. */
acu_status acui_buffer_soon(struct acu_pool *pool, size_t bytes, acu_buffer **buffer);
/* Have its memory come from this pool, of the same device and kind. Called before it has any. */
void acui_buffer_set_pool(acu_buffer *buffer, struct acu_pool *pool);
/*
 * Allocate memory for a planned buffer, in the order of `stream`: the caller has entered the device
 * and holds the stream's issue lock. If there is none left: DEVICE_MEMORY, with the numbers. This
 * is possible in two steps: reserved memory, which may be larger than the buffer, may be given back
 * (unreserve) until it is committed, which gives the buffer its address.
 */
acu_status acui_buffer_allocate(acu_buffer *buffer, acu_stream *stream);
acu_status acui_buffer_reserve(acu_buffer *buffer, size_t bytes, acu_stream *stream);
void acui_buffer_unreserve(acu_buffer *buffer);
void acui_buffer_commit(acu_buffer *buffer);
/* `earlier` has the memory of `buffer`, which has its address, before that one does. */
void acui_buffer_commit_before(acu_buffer *earlier, const acu_buffer *buffer);

/* Page-locked memory that does not exist (yet), so devices can not use it. */
static inline bool acui_buffer_is_bare(const acu_buffer *buffer)
{
    return buffer->kind == ACU_MEMORY_PINNED &&
           atomic_load_explicit(&buffer->address, memory_order_acquire) == 0;
}

/* The address at which the buffer begins, as far as alignment is concerned; 0 while it has no
 * memory. */
static inline uint64_t acui_buffer_base(const acu_buffer *buffer)
{
    uint64_t address = atomic_load_explicit(&buffer->address, memory_order_acquire);
    return address ? address : (uintptr_t)buffer->host;
}

/* The bytes that the tensor's elements occupy in its buffer. */
static inline acui_extent acui_tensor_extent(const acu_tensor *tensor)
{
    return (acui_extent){.begin = tensor->offset,
                         .end = tensor->offset + tensor->span,
                         .pitch = tensor->pitch,
                         .width = tensor->width};
}
/* Whether `a` and `b`, of any shapes and dtypes, have a byte of an element in common; or may have
 * one, if finding out takes too long. */
bool acui_tensors_overlap(const acu_tensor *a, const acu_tensor *b);
acu_status acui_tensor_refuse_write(const acu_tensor *tensor); /* says why */
/* ACU_OK, or SHARED with the reason why the tensor can not be written. */
static inline acu_status acui_tensor_check_write(const acu_tensor *tensor)
{
    return tensor->repeats || tensor->buffer->read_only ? acui_tensor_refuse_write(tensor) : ACU_OK;
}
/* Whether this is the only handle, and there is no other view of the buffer except lent ones. */
bool acui_tensor_sole(const acu_tensor *tensor);
/* A tensor whose elements are known to lie in the buffer. */
acu_status acui_tensor_new(acu_buffer *buffer, size_t offset, acu_dtype dtype, acu_shape shape,
                           const int64_t *strides, acu_tensor **tensor);
/* Another tensor over the same elements. */
acu_status acui_tensor_again(const acu_tensor *tensor, acu_tensor **again);
/* A dense tensor over a new planned buffer. */
acu_status acui_tensor_planned(acu_device *device, acu_dtype dtype, acu_shape shape,
                               acu_tensor **tensor);
/* "f32 [16, 4]" for messages, written to `text` (at least 96 bytes), which it returns. */
const char *acui_tensor_words(const acu_tensor *tensor, char *text);
const char *acui_shape_words(acu_shape shape, char *text); /* "[16, 4]" */
/* ACU_OK if `shape` is valid: rank 1..ACU_MAX_RANK, extents >= 1, bytes fit; else fails with SHAPE
 * or DTYPE. *bytes may be NULL. */
acu_status acui_shape_check(acu_shape shape, acu_dtype dtype, size_t *bytes);

/* Row-major strides without gaps, for a valid shape. */
void acui_dense_strides(acu_shape shape, int64_t *strides);

/* ---- allocate.c: between buffers and the pools that their memory comes from ---- */
/* Allocate memory for a buffer outside of any submission: so many bytes, or as many as it has.
 * Blocks for page-locked memory that the cache does not have. */
acu_status acui_buffer_allocate_now(acu_buffer *buffer, size_t bytes);
/* Page-locked memory, which may exist only later (growth.c): never blocks. */
acu_status acui_buffer_allocate_soon(acu_buffer *buffer);

/* The last reference is gone. Also works for a buffer that has no memory, or memory that is not
 * acuda's own. */
void acui_buffer_free_memory(acu_buffer *buffer);

#endif
