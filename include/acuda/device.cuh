/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For kernels: a block's own tile of a partitioned tensor. CUDA C++11 and later, with clang, nvcc
 * or NVRTC. Includes nothing but <acuda/tile.h>.
 *
 * A kernel takes an acu_tile<T> where the host passes a partition of a tensor of T:
 *
 *     // y = a x + y. Host: acu_launch(saxpy, ACU_BLOCK(256), acu_inout(y), acu_f32(2), acu_in(x)),
 *     // with y a partition of a vector and x a whole vector of the same length.
 *     extern "C" __global__ void saxpy(acu_tile<float> y, float a, const float *x)
 *     {
 *         for (long long i = y.begin(); i < y.end(); i += y.step())
 *             y.at(i) = a * x[y.global_index(0, i)] + y.at(i);
 *     }
 *
 * The threads of the block share the tile. The loop works for every block size and tile size, and
 * at the far edge of the tensor, where tiles are clipped. If the block has as many threads as the
 * tile has elements, each thread takes one element:
 *
 *     long long i = threadIdx.y, j = threadIdx.x;
 *     if (y.contains(i, j))
 *         y.at(i, j) = a * x[y.linear(i, j)] + y.at(i, j);
 *
 * Indices count from the tile's own first element, unless their name says `global` or `linear`.
 * Dimension 0 is the slowest. blockIdx.x and threadIdx.x go with the last dimension.
 *
 * In a mapped partition a block has several tiles. The kernel then takes an acu_tiles<T>, which
 * works for every other partition too, and loops over them:
 *
 *     for (long long n = tiles.begin(); n < tiles.end(); n += tiles.step()) {
 *         auto y = tiles[n];                      // an acu_tile in all but its type
 *         for (long long i = y.begin(); i < y.end(); i += y.step())
 *             y.at(i) = ...;
 *     }
 *
 * A kernel takes an acu_list<T, Max> where the host passes a list of tensors (acu_in_list):
 * list.count pointers, at most Max.
 *
 * acu_tile<T> accepts a partition of any rank, and looks the rank up at run time where it matters.
 * acu_tile<T, 2> is for rank 2 only: it knows the rank at compile time, and then also refuses an
 * access with another number of indices. Both are the 112 bytes of acu_tile_param. When compiled
 * with -DACU_TILE_CHECK, an access outside the tile, or with the wrong number of indices, stops the
 * kernel with a message.
 */
#ifndef ACUDA_DEVICE_CUH
#define ACUDA_DEVICE_CUH

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__) && !defined(__CUDA__)
#error "acuda/device.cuh is for kernels: compile this file as CUDA C++"
#endif

#include <acuda/tile.h>

/* Of three values that go with x, y and z, the one for a dimension: x goes with the last dimension,
 * y with the one before, z with the one before that. */
__device__ inline long long acu_from_xyz(long long x, long long y, long long z, int dimension,
                                         int rank)
{
    int before_last = rank - 1 - dimension;
    return before_last == 0 ? x : before_last == 1 ? y : z;
}

/* Where a tile is among the tiles: at its block's place in the grid, */
struct acu_place_of_block {
    __device__ long long place(int dimension, int rank) const
    {
        return acu_from_xyz(blockIdx.x, blockIdx.y, blockIdx.z, dimension, rank);
    }
};
/* or at a place of its own. */
struct acu_place_of_its_own {
    long long x, y, z;
    __device__ long long place(int dimension, int rank) const
    {
        return acu_from_xyz(x, y, z, dimension, rank);
    }
};

template <typename T, int Rank = 0, typename Place = acu_place_of_block> struct acu_tile : Place {
    static_assert(Rank >= 0 && Rank <= ACU_TILE_MAX_RANK, "a partition has 1, 2 or 3 dimensions");
    typedef long long index_type;

    acu_tile_param param; /* what the host passed: read it through the functions */

    /* ---- the partition: the same for all blocks ---- */

    __device__ int rank() const
    {
        return Rank ? Rank : (int)param.rank;
    }
    /* Elements of the tensor, and of a whole tile, along a dimension. */
    __device__ index_type shape(int dimension) const
    {
        return pick(param.shape, dimension);
    }
    __device__ index_type tile_shape(int dimension) const
    {
        return pick(param.tile, dimension);
    }
    __device__ index_type tile_count(int dimension) const
    {
        return pick(param.tiles, dimension);
    }
    /* From one element to the next along a dimension, in elements. */
    __device__ index_type stride(int dimension) const
    {
        return pick(param.stride, dimension);
    }
    /* Address of element 0 of the tensor. */
    __device__ T *tensor() const
    {
#ifdef __clang__ /* tell the compiler that this is global memory, which a number does not show */
        return (T *)(__attribute__((address_space(1))) T *)param.data;
#else
        T *pointer = reinterpret_cast<T *>(param.data);
        __builtin_assume(__isGlobal(pointer));
        return pointer;
#endif
    }

    /* ---- this block's tile ---- */

    /* Its place among the tiles. */
    __device__ index_type tile_index(int dimension) const
    {
        return this->place(dimension, rank());
    }
    /* Its first element, as an index into the tensor. */
    __device__ index_type origin(int dimension) const
    {
        return tile_index(dimension) * tile_shape(dimension);
    }
    /* Its elements along a dimension: fewer than tile_shape() at the far edge. */
    __device__ index_type extent(int dimension) const
    {
        return clipped(dimension, tile_index(dimension));
    }
    /* The number of its elements. */
    __device__ index_type size() const
    {
        index_type elements = extent(0);
        if (rank() > 1)
            elements *= extent(1);
        if (rank() > 2)
            elements *= extent(2);
        return elements;
    }
    /* Address of its first element. */
    __device__ T *data() const
    {
        index_type offset = origin(0) * stride(0);
        if (rank() > 1)
            offset += origin(1) * stride(1);
        if (rank() > 2)
            offset += origin(2) * stride(2);
        return tensor() + offset;
    }

    /* ---- elements: one index for each dimension ---- */

    __device__ T &at(index_type i) const
    {
        arity<1>();
        check(1, contains(i));
        return tensor()[(start<1>(0) + i) * param.stride[0]];
    }
    __device__ T &at(index_type i, index_type j) const
    {
        arity<2>();
        check(2, contains(i, j));
        return tensor()[(start<2>(0) + i) * param.stride[0] + (start<2>(1) + j) * param.stride[1]];
    }
    __device__ T &at(index_type i, index_type j, index_type k) const
    {
        arity<3>();
        check(3, contains(i, j, k));
        return tensor()[(start<3>(0) + i) * param.stride[0] + (start<3>(1) + j) * param.stride[1] +
                        (start<3>(2) + k) * param.stride[2]];
    }
    /* Element i of the tile counted row by row, 0 to size() - 1, whatever the rank. */
    __device__ T &flat(index_type i) const
    {
        check((int)param.rank, i >= 0 && i < size());
        if (rank() == 1)
            return data()[i * stride(0)];
        index_type last = extent(rank() - 1), rows = i / last, column = i % last;
        if (rank() == 2)
            return data()[rows * stride(0) + column * stride(1)];
        index_type middle = extent(1);
        return data()[rows / middle * stride(0) + rows % middle * stride(1) + column * stride(2)];
    }

    /* Whether the indices are inside the tile, after clipping. */
    __device__ bool contains(index_type i) const
    {
        arity<1>();
        return inside<1>(0, i);
    }
    __device__ bool contains(index_type i, index_type j) const
    {
        arity<2>();
        return inside<2>(0, i) && inside<2>(1, j);
    }
    __device__ bool contains(index_type i, index_type j, index_type k) const
    {
        arity<3>();
        return inside<3>(0, i) && inside<3>(1, j) && inside<3>(2, k);
    }

    /* ---- places in the whole tensor ---- */

    /* Index i of the tile as an index of the tensor, along one dimension. */
    __device__ index_type global_index(int dimension, index_type i) const
    {
        return origin(dimension) + i;
    }
    /* The index of the same element in a tensor of the same shape that is dense, row by row. */
    __device__ index_type linear(index_type i) const
    {
        arity<1>();
        return start<1>(0) + i;
    }
    __device__ index_type linear(index_type i, index_type j) const
    {
        arity<2>();
        return (start<2>(0) + i) * param.shape[1] + start<2>(1) + j;
    }
    __device__ index_type linear(index_type i, index_type j, index_type k) const
    {
        arity<3>();
        return ((start<3>(0) + i) * param.shape[1] + start<3>(1) + j) * param.shape[2] +
               start<3>(2) + k;
    }

    /* ---- loops in which the threads of the block share the tile ---- */

    /* Over all elements: for (i = begin(); i < end(); i += step()), with flat(i), or at(i) where
     * the rank is 1. */
    __device__ index_type begin() const
    {
        return threadIdx.x + (index_type)blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    __device__ index_type end() const
    {
        return size();
    }
    __device__ index_type step() const
    {
        return (index_type)blockDim.x * blockDim.y * blockDim.z;
    }
    /* Over one dimension, with the threadIdx.x, .y or .z that goes with it; one loop per dimension.
     * The loop over dimension 0 also uses the block's axes beyond the tile's dimensions. */
    __device__ index_type begin(int dimension) const
    {
        return with_rest(threadIdx.x, threadIdx.y, threadIdx.z, dimension, blockDim.x, blockDim.y);
    }
    __device__ index_type end(int dimension) const
    {
        return extent(dimension);
    }
    __device__ index_type step(int dimension) const
    {
        if (dimension > 0)
            return acu_from_xyz(blockDim.x, blockDim.y, blockDim.z, dimension, rank());
        index_type threads = blockDim.z;
        if (rank() < 3)
            threads *= blockDim.y;
        return rank() < 2 ? threads * blockDim.x : threads;
    }

  private:
    /* Selection instead of indexing: a parameter indexed at run time would be copied to local
     * memory. */
    template <typename V> __device__ static index_type pick(const V *values, int dimension)
    {
        return dimension == 0 ? values[0] : dimension == 1 ? values[1] : values[2];
    }
    /* Like acu_from_xyz, with the left-over axes counted into dimension 0. */
    __device__ index_type with_rest(index_type x, index_type y, index_type z, int dimension,
                                    index_type x_size, index_type y_size) const
    {
        if (dimension > 0)
            return acu_from_xyz(x, y, z, dimension, rank());
        index_type index = rank() < 3 ? y + y_size * z : z;
        return rank() < 2 ? x + x_size * index : index;
    }
    __device__ index_type clipped(int dimension, index_type which) const
    {
        index_type whole = tile_shape(dimension), rest = shape(dimension) - which * whole;
        return rest < whole ? rest : whole;
    }

    /* The same for a rank that the caller knows from its number of indices. */
    template <int N> __device__ index_type mine(int dimension) const
    {
        return this->place(dimension, N);
    }
    template <int N> __device__ index_type start(int dimension) const
    {
        return mine<N>(dimension) * tile_shape(dimension);
    }
    template <int N> __device__ bool inside(int dimension, index_type i) const
    {
        return i >= 0 && i < clipped(dimension, mine<N>(dimension));
    }

    template <int N> __device__ static void arity()
    {
        static_assert(Rank == 0 || Rank == N, "one index for each dimension of the tile");
    }
    /* Whether the block has other tiles that this kernel leaves out. */
    __device__ bool is_missed() const
    {
        return sizeof *this == ACU_TILE_PARAM_BYTES && (param.flags & ACU_TILE_MAPPED);
    }
    __device__ void check(int indices, bool is_inside) const
    {
#ifdef ACU_TILE_CHECK
        if (indices != (int)param.rank || !is_inside || is_missed()) {
            printf("acu_tile: block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x,
                   blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z,
                   is_missed()  ? "a mapped partition, whose kernel must take an acu_tiles"
                   : !is_inside ? "an access outside the block's tile"
                                : "an access with the wrong number of indices for the "
                                  "partition's rank");
            __trap();
        }
#else
        (void)indices;
        (void)is_inside;
#endif
    }
};

/* All the tiles of a block, for any partition: one tile, or every n-th tile of a mapped one. */
template <typename T, int Rank = 0> struct acu_tiles {
    typedef long long index_type;
    typedef acu_tile<T, Rank, acu_place_of_its_own> tile_type;

    acu_tile_param param; /* what the host passed */

    __device__ int rank() const
    {
        return Rank ? Rank : (int)param.rank;
    }
    /* This block's tiles: for (n = begin(); n < end(); n += step()), with [n]. In a prefix
     * partition, the tiles are at the places of the grid's blocks, and not the first ones of all
     * tiles in a row. */
    __device__ index_type begin() const
    {
        return blockIdx.x +
               (index_type)gridDim.x * (blockIdx.y + (index_type)gridDim.y * blockIdx.z);
    }
    __device__ index_type end() const
    {
        index_type grid = step();
        return param.flags & ACU_TILE_MAPPED ? count() : grid;
    }
    __device__ index_type step() const
    {
        return (index_type)gridDim.x * gridDim.y * gridDim.z;
    }
    /* The number of tiles of the whole tensor. */
    __device__ index_type count() const
    {
        index_type tiles = param.tiles[0];
        if (rank() > 1)
            tiles *= param.tiles[1];
        if (rank() > 2)
            tiles *= param.tiles[2];
        return tiles;
    }
    __device__ tile_type operator[](index_type n) const
    {
        tile_type tile;
        tile.param = param;
        bool mapped = param.flags & ACU_TILE_MAPPED;
        tile.x = blockIdx.x;
        tile.y = blockIdx.y;
        tile.z = blockIdx.z;
        if (!mapped)
            return tile;
        tile.x = n;
        if (rank() > 1) {
            index_type across = param.tiles[rank() == 2 ? 1 : 2];
            tile.x = n % across;
            tile.y = n / across;
        }
        if (rank() > 2) {
            tile.z = tile.y / param.tiles[1];
            tile.y = tile.y % param.tiles[1];
        }
        return tile;
    }
};

/* Tensors that the host passes as one argument. `item` holds pointers to their first elements. */
template <typename T, int Max> struct acu_list {
    long long count; /* 1 to Max */
    T *item[Max];

    __device__ T *operator[](long long which) const
    {
        return item[which];
    }
};

static_assert(sizeof(acu_tile<float>) == ACU_TILE_PARAM_BYTES &&
                  sizeof(acu_tile<double, 3>) == ACU_TILE_PARAM_BYTES,
              "a tile is its parameter and nothing else");
static_assert(sizeof(acu_tiles<float, 2>) == ACU_TILE_PARAM_BYTES, "and so are all tiles");
static_assert(sizeof(acu_list<float, 5>) == 6 * 8, "a list is its count and its pointers");

#endif
