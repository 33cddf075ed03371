/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How a kernel sees a partition: as one parameter of this type, passed by value.
 *
 * This is an ABI between the library, which fills the parameter in at launch, and kernels that were
 * compiled earlier, by clang, nvcc or NVRTC, perhaps by somebody else. No field moves or changes
 * its meaning; additions take the place of `reserved`. Kernels use it through acu_tile in
 * <acuda/device.cuh>; code in other languages takes the layout from this page.
 *
 * A partition divides a tensor into tiles of one shape, with smaller ones at the far edges if the
 * tile's shape does not divide the tensor's. The number of tiles is the launch grid: each block
 * owns one tile, and no two blocks share an element. `flags` name the two exceptions. With
 * ACU_TILE_PREFIX the grid may have fewer blocks than there are tiles, in each dimension. With
 * ACU_TILE_MAPPED, block b of n (x counted first) owns tiles b, b + n, b + 2n ... of all tiles,
 * counted row by row.
 *
 * Dimension 0 is the slowest one (rows before columns, as in C). The grid counts from the other
 * end, so that neighbouring blocks lie side by side in memory: blockIdx.x runs over the last
 * dimension, blockIdx.y over the one before, blockIdx.z over the one before that.
 *
 * Plain C and C++ without includes: NVRTC has no system headers. `long long` and device pointers
 * have 64 bits wherever CUDA runs.
 */
#ifndef ACUDA_TILE_H
#define ACUDA_TILE_H

/* The most dimensions that a partition can have: as many as a grid. */
#define ACU_TILE_MAX_RANK 3

#define ACU_TILE_PREFIX 1u
#define ACU_TILE_MAPPED 2u

/* Dimensions from `rank` on have a shape, tile and tiles of 1, and a stride of 0. */
typedef struct acu_tile_param {
    unsigned long long data; /* device address of element 0 of the tensor, not of the tile */
    unsigned rank;           /* dimensions, 1 to ACU_TILE_MAX_RANK */
    unsigned element_bytes;  /* size of an element, in bytes */
    long long shape[ACU_TILE_MAX_RANK];  /* shape of the tensor, in elements */
    long long stride[ACU_TILE_MAX_RANK]; /* from one element to the next, in elements; may be < 0 */
    long long tile[ACU_TILE_MAX_RANK];   /* shape of a tile, before it is clipped at the edges */
    unsigned tiles[ACU_TILE_MAX_RANK];   /* ceil(shape / tile); the grid is these numbers in reverse
                                          * order */
    unsigned flags;                      /* ACU_TILE_PREFIX, ACU_TILE_MAPPED, or 0 */
    unsigned long long reserved;         /* 0 */
} acu_tile_param;

#define ACU_TILE_PARAM_BYTES 112

#if defined(__cplusplus)
#define ACU_TILE_ASSERT(condition) static_assert(condition, #condition)
#else
#define ACU_TILE_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#define ACU_TILE_OFFSET(field, offset) \
    ACU_TILE_ASSERT(__builtin_offsetof(acu_tile_param, field) == (offset))

ACU_TILE_ASSERT(sizeof(acu_tile_param) == ACU_TILE_PARAM_BYTES);
#if !defined(__CUDACC_RTC__) /* NVRTC lacks offsetof and its builtin */
ACU_TILE_OFFSET(data, 0);
ACU_TILE_OFFSET(rank, 8);
ACU_TILE_OFFSET(element_bytes, 12);
ACU_TILE_OFFSET(shape, 16);
ACU_TILE_OFFSET(stride, 40);
ACU_TILE_OFFSET(tile, 64);
ACU_TILE_OFFSET(tiles, 88);
ACU_TILE_OFFSET(flags, 100);
ACU_TILE_OFFSET(reserved, 104);
#endif
#undef ACU_TILE_OFFSET
#undef ACU_TILE_ASSERT

#endif
