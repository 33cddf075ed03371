/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tensors: dtype, shape and strides over a buffer. Handles are cheap, and views share storage.
 */
#ifndef ACUDA_TENSOR_H
#define ACUDA_TENSOR_H

#include <acuda/dtype.h>
#include <acuda/memory.h>

ACU_BEGIN

typedef enum acu_dtype_kind {
    ACU_KIND_NONE, /* no dtype */
    ACU_KIND_BOOL,
    ACU_KIND_UNSIGNED,
    ACU_KIND_SIGNED,
    ACU_KIND_FLOAT,
    ACU_KIND_COMPLEX
} acu_dtype_kind;

ACU_API const char *acu_dtype_name(acu_dtype dtype); /* "f32"; "?" for no dtype */
ACU_API size_t acu_dtype_bytes(acu_dtype dtype);     /* 0 for no dtype */
ACU_API acu_dtype_kind acu_dtype_kind_of(acu_dtype dtype);

/*
 * Up to six dimensions. In a dense tensor the last one is contiguous (row-major). As in NumPy, a
 * shape without dimensions, ACU_RANK_0, is that of a single number, and a dimension may have 0
 * elements. Such an empty tensor is dense and takes part in everything: what would run for each of
 * its elements does not run. It has an address (its buffer has room for one element), which nothing
 * reads.
 */
#define ACU_MAX_RANK 6
typedef struct acu_shape {
    int rank;
    int64_t dim[ACU_MAX_RANK];
} acu_shape;

/* ACU_SHAPE(16, 16): one to six extents. ACU_RANK_0: none. */
#ifdef __cplusplus
#define ACU_RANK_0 (acu_shape{})
ACU_END /* templates can not have C's linkage */
template <typename... N> constexpr acu_shape acui_shape(N... extents)
{
    return acu_shape{static_cast<int>(sizeof...(N)), {static_cast<int64_t>(extents)...}};
}
ACU_BEGIN
#define ACU_SHAPE(...) acui_shape(__VA_ARGS__)
#else
#define ACU_RANK_0 ((acu_shape){.rank = 0})
#define ACU_SHAPE(...)                                                                             \
    ((acu_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#endif

ACU_API int64_t acu_shape_elements(acu_shape shape); /* product; -1 for an invalid shape */
ACU_API bool acu_shape_equal(acu_shape a, acu_shape b);

typedef struct acu_tensor acu_tensor;

/*
 * A dense tensor over `buffer`, starting `offset` bytes into it (a multiple of the element size).
 * The tensor keeps the buffer. No driver call. Errors: SHAPE, DTYPE, LIMIT (buffer too small),
 * INVALID (not aligned to the element size), NO_MEMORY.
 */
ACU_API acu_status acu_tensor_create(acu_buffer *buffer, size_t offset, acu_dtype dtype,
                                     acu_shape shape, acu_tensor **tensor);
/* The same with strides, in elements, none negative. Elements may share memory (a stride of 0
 * repeats an element): such a tensor is read-only, and everything that writes refuses it
 * (SHARED). */
ACU_API acu_status acu_tensor_create_strided(acu_buffer *buffer, size_t offset, acu_dtype dtype,
                                             acu_shape shape, const int64_t *strides,
                                             acu_tensor **tensor);
/* A new buffer and a tensor over it: device memory, contents undefined (see acu_buffer_create). */
ACU_API acu_status acu_tensor_alloc(acu_device *device, acu_dtype dtype, acu_shape shape,
                                    acu_tensor **tensor);
/* A new buffer and a tensor over it: page-locked host memory (see acu_buffer_create_pinned). */
ACU_API acu_status acu_tensor_alloc_pinned(acu_device *device, acu_dtype dtype, acu_shape shape,
                                           acu_tensor **tensor);

/*
 * Device memory for an image. Its rows begin at multiples of a pitch, which image libraries read
 * and write fastest. `shape` is [height, width], or [height, width, channels] with the channels of
 * a pixel side by side (HWC). The tensor has gaps if rows do not fill the pitch. Errors: SHAPE, and
 * acu_buffer_create's.
 */
ACU_API acu_status acu_tensor_alloc_pitched(acu_device *device, acu_dtype dtype, acu_shape shape,
                                            acu_tensor **tensor);
/* Bytes from one row to the next, for a tensor of two or three dimensions that has no gaps except
 * between rows (pitched, a window in a pitched one, or dense). 0 for any other tensor. */
ACU_API size_t acu_tensor_pitch(const acu_tensor *tensor);

/*
 * Views: tensors over the same storage, which they keep. No driver call, no copy; what is written
 * through one is seen through all. Dimensions may be counted from the end: -1 is the last. op.h has
 * the same as operations. Errors: SHAPE, in words and numbers.
 */
/* Elements start[d] .. end[d]-1 of each dimension, none if both are equal; with steps, every
 * step[d]-th of these, beginning with the first. These numbers, and the index of acu_tensor_select,
 * do not count from the end; steps are positive, because strides in acuda are. */
ACU_API acu_status acu_tensor_slice(acu_tensor *tensor, const int64_t *start, const int64_t *end,
                                    acu_tensor **view);
ACU_API acu_status acu_tensor_slice_step(acu_tensor *tensor, const int64_t *start,
                                         const int64_t *end, const int64_t *step,
                                         acu_tensor **view);
/* One index of a dimension, which the view no longer has: row 3 is acu_tensor_select(t, 0, 3,
 * &row). Of one dimension, it leaves ACU_RANK_0. */
ACU_API acu_status acu_tensor_select(acu_tensor *tensor, int dimension, int64_t index,
                                     acu_tensor **view);
/* Remove a dimension of one element; insert one at that place (-1: as the last). */
ACU_API acu_status acu_tensor_squeeze(acu_tensor *tensor, int dimension, acu_tensor **view);
ACU_API acu_status acu_tensor_unsqueeze(acu_tensor *tensor, int dimension, acu_tensor **view);
/* Dimension d of the view is dimension order[d] of the tensor. */
ACU_API acu_status acu_tensor_permute(acu_tensor *tensor, const int *order, acu_tensor **view);
ACU_API acu_status acu_tensor_transpose(acu_tensor *tensor, int a, int b, acu_tensor **view);
/*
 * Repeat without copying. Dimensions of one element, and new ones in front, get the extents of
 * `shape` with a stride of 0. Such a tensor is read-only: everything that writes refuses it
 * (SHARED).
 */
ACU_API acu_status acu_tensor_broadcast_to(acu_tensor *tensor, acu_shape shape, acu_tensor **view);
/*
 * Another shape with as many elements, in the same order; one extent may be ACU_REST. Works if
 * strides alone can describe the view: always for dense tensors, and for others if the elements
 * that become one dimension are evenly spaced in memory. Otherwise SHAPE: make a copy first
 * (acu_dup). acu_tensor_flatten gives one dimension.
 */
#define ACU_REST (-1)
ACU_API acu_status acu_tensor_reshape(acu_tensor *tensor, acu_shape shape, acu_tensor **view);
ACU_API acu_status acu_tensor_flatten(acu_tensor *tensor, acu_tensor **view);
/*
 * The same bytes as elements of another type. If the element size differs, there are more or fewer
 * elements along the last dimension, which must then be contiguous. Errors: DTYPE (not an element
 * type), SHAPE, INVALID (not aligned to the element size). The parts of complex numbers: [n] of c64
 * becomes [2 n] of f32, and, reshaped, [n, 2].
 */
ACU_API acu_status acu_tensor_reinterpret(acu_tensor *tensor, acu_dtype dtype, acu_tensor **view);

ACU_API acu_dtype acu_tensor_dtype(const acu_tensor *tensor);
ACU_API acu_shape acu_tensor_shape(const acu_tensor *tensor);
ACU_API const int64_t *acu_tensor_strides(const acu_tensor *tensor); /* in elements, [rank] */
ACU_API int64_t acu_tensor_elements(const acu_tensor *tensor);
ACU_API size_t acu_tensor_bytes(const acu_tensor *tensor); /* elements times element size */
ACU_API bool acu_tensor_dense(const acu_tensor *tensor);   /* row-major without gaps */
/* False if elements may share memory (broadcast), or the memory was lent read-only. */
ACU_API bool acu_tensor_writable(const acu_tensor *tensor);
ACU_API acu_buffer *acu_tensor_buffer(const acu_tensor *tensor); /* borrowed */
ACU_API size_t acu_tensor_offset(const acu_tensor *tensor); /* bytes before the first element */
ACU_API acu_device *acu_tensor_device(const acu_tensor *tensor); /* borrowed */
/* The first element on the host; NULL for device memory. Before touching it, wait for work in
 * flight. */
ACU_API void *acu_tensor_host(const acu_tensor *tensor);
/* The first element on the device; 0 while the buffer has no address there (acu_buffer_address). */
ACU_API CUdeviceptr acu_tensor_address(const acu_tensor *tensor);
ACU_API acu_tensor *acu_tensor_retain(acu_tensor *tensor);
ACU_API void acu_tensor_release(acu_tensor *tensor); /* never blocks; NULL is fine */

ACU_END
#endif
