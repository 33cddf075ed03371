/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies and fills for which the driver has no call: many small ones at once, any strides,
 * transposes. The parameters are in op/copy_kernels.h. Addresses may be of mapped host memory.
 */
#include "../src/op/copy_kernels.h"

typedef unsigned unit16 __attribute__((ext_vector_type(4))); /* stays in registers; a struct may
                                                              * not */

/* ---- many small copies: a column of blocks for each ---- */

/* Four loads are under way before the first store. Unrolled by hand, because compilers differ in
 * what they make of a hint. */
#define ACUI_FOUR(X) X(0) X(1) X(2) X(3)

template <typename T>
static __device__ void copy_units(const acui_copy_piece &piece, unsigned long long begin,
                                  unsigned long long step)
{
    T *dst = (T *)piece.dst;
    const T *src = (const T *)piece.src;
    unsigned long long units = piece.bytes / sizeof(T);
    for (unsigned long long i = begin; i < units; i += 4 * step) {
        T v0 = {}, v1 = {}, v2 = {}, v3 = {};
#define ACUI_LOAD(k)                                                                               \
    if (i + k * step < units)                                                                      \
        v##k = src[i + k * step];
#define ACUI_STORE(k)                                                                              \
    if (i + k * step < units)                                                                      \
        dst[i + k * step] = v##k;
        ACUI_FOUR(ACUI_LOAD)
        ACUI_FOUR(ACUI_STORE)
#undef ACUI_LOAD
#undef ACUI_STORE
    }
}

static __device__ void copy_piece(const acui_copy_piece &piece)
{
    unsigned long long begin = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    unsigned long long step = gridDim.x * (unsigned long long)blockDim.x;
    unsigned long long both = piece.dst | piece.src | piece.bytes;
    if (both % 16 == 0)
        copy_units<unit16>(piece, begin, step);
    else if (both % 4 == 0)
        copy_units<unsigned>(piece, begin, step);
    else
        copy_units<unsigned char>(piece, begin, step);
}

#define ACUI_X(n)                                                                                  \
    extern "C" __global__ void copy_many_##n(const acui_copy_many_##n many)                        \
    {                                                                                              \
        acui_copy_piece piece = many.pieces[blockIdx.y];                                           \
        copy_piece(piece);                                                                         \
    }
ACUI_COPY_MANY(ACUI_X)
#undef ACUI_X

/* ---- walks ---- */

template <typename Index> struct place_finder;

template <> struct place_finder<unsigned> {
    static __device__ unsigned divide(unsigned n, const acui_walk &w, int d)
    {
        return (__umulhi(n, w.magic[d]) + n) >> w.shift[d];
    }
};

template <> struct place_finder<unsigned long long> {
    static __device__ unsigned long long divide(unsigned long long n, const acui_walk &w, int d)
    {
        return n / w.dim[d];
    }
};

template <typename Index, int D>
static __device__ __forceinline__ void find_rest(const acui_walk &w, Index at, long long &to,
                                                 long long &from)
{
    if constexpr (D < ACUI_WALK_RANK)
        if (D < w.rank) {
            Index rest = place_finder<Index>::divide(at, w, D);
            long long x = (long long)(at - rest * (Index)w.dim[D]);
            to += x * w.to[D];
            from += x * w.from[D];
            find_rest<Index, D + 1>(w, rest, to, from);
        }
}

template <typename Index>
static __device__ __forceinline__ void find_place(const acui_walk &w, Index at, long long &to,
                                                  long long &from)
{
    to = from = 0;
    find_rest<Index, 0>(w, at, to, from);
}

template <typename T> static __device__ void copy_wide(const acui_walk &w)
{
    unsigned long long step = gridDim.x * (unsigned long long)blockDim.x;
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    long long to, from;
    for (; i < w.units; i += step) {
        find_place<unsigned long long>(w, i, to, from);
        *(T *)(w.dst + to) = *(const T *)(w.src + from);
    }
}

template <typename T> static __device__ void copy_narrow(const acui_walk &w)
{
    typedef unsigned Index;
    Index step = gridDim.x * blockDim.x, units = (Index)w.units;
    for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < units; i += 4 * step) {
        T v0 = {}, v1 = {}, v2 = {}, v3 = {};
        long long to0 = 0, to1 = 0, to2 = 0, to3 = 0, from;
#define ACUI_LOAD(k)                                                                               \
    if (i + k * step < units) {                                                                    \
        find_place<Index>(w, i + k * step, to##k, from);                                           \
        v##k = *(const T *)(w.src + from);                                                         \
    }
#define ACUI_STORE(k)                                                                              \
    if (i + k * step < units)                                                                      \
        *(T *)(w.dst + to##k) = v##k;
        ACUI_FOUR(ACUI_LOAD)
        ACUI_FOUR(ACUI_STORE)
#undef ACUI_LOAD
#undef ACUI_STORE
    }
}

template <typename T, typename Index>
static __device__ void fill_walk(const acui_walk &w, T value)
{
    Index step = (Index)gridDim.x * blockDim.x, units = (Index)w.units;
    long long to, from;
    for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < units; i += step) {
        find_place<Index>(w, i, to, from);
        *(T *)(w.dst + to) = value;
    }
}

static __device__ unit16 make_value(const acui_walk &w, unit16 *)
{
    unit16 value = {(unsigned)w.value[0], (unsigned)(w.value[0] >> 32), (unsigned)w.value[1],
                    (unsigned)(w.value[1] >> 32)};
    return value;
}

template <typename T> static __device__ T make_value(const acui_walk &w, T *)
{
    return (T)w.value[0];
}

#define ACUI_WALKS(bytes, type)                                                                    \
    extern "C" __global__ void copy_walk_##bytes(const acui_walk w)                                \
    {                                                                                              \
        if (w.narrow)                                                                              \
            copy_narrow<type>(w);                                                          \
        else                                                                                       \
            copy_wide<type>(w);                                                \
    }                                                                                              \
    extern "C" __global__ void fill_walk_##bytes(const acui_walk w)                                \
    {                                                                                              \
        type value = make_value(w, (type *)nullptr);                                               \
        if (w.narrow)                                                                              \
            fill_walk<type, unsigned>(w, value);                                                   \
        else                                                                                       \
            fill_walk<type, unsigned long long>(w, value);                                         \
    }
ACUI_WALKS(1, unsigned char)
ACUI_WALKS(2, unsigned short)
ACUI_WALKS(4, unsigned)
ACUI_WALKS(8, unsigned long long)
ACUI_WALKS(16, unit16)

/* ---- transposes ---- */

template <typename T> static __device__ void copy_turn(const acui_turn &p, T (*tile)[33])
{
    const unsigned long long edge = ACUI_TURN_TILE;
    unsigned long long across = (p.across + edge - 1) / edge, down = (p.down + edge - 1) / edge;
    for (unsigned long long t = blockIdx.x; t < p.tiles; t += gridDim.x) {
        unsigned long long a = t % across * edge, rest = t / across;
        unsigned long long b = rest % down * edge;
        unsigned long long dst = p.dst, src = p.src;
        rest /= down;
        for (unsigned d = 0; d < p.rank; d++) {
            dst += (long long)(rest % p.dim[d]) * p.to[d];
            src += (long long)(rest % p.dim[d]) * p.from[d];
            rest /= p.dim[d];
        }
        for (unsigned r = threadIdx.y; r < ACUI_TURN_TILE; r += ACUI_TURN_ROWS)
            if (a + r < p.across && b + threadIdx.x < p.down)
                tile[r][threadIdx.x] = *(const T *)(src + (long long)(a + r) * p.from_across +
                                                    (b + threadIdx.x) * sizeof(T));
        __syncthreads();
        for (unsigned r = threadIdx.y; r < ACUI_TURN_TILE; r += ACUI_TURN_ROWS)
            if (b + r < p.down && a + threadIdx.x < p.across)
                *(T *)(dst + (long long)(b + r) * p.to_down + (a + threadIdx.x) * sizeof(T)) =
                    tile[threadIdx.x][r];
        __syncthreads();
    }
}

#define ACUI_TURNS(bytes, type)                                                                    \
    extern "C" __global__ void copy_turn_##bytes(const acui_turn p)                                \
    {                                                                                              \
        __shared__ type tile[ACUI_TURN_TILE][33];                                                  \
        copy_turn<type>(p, tile);                                                                  \
    }
ACUI_TURNS(1, unsigned char)
ACUI_TURNS(2, unsigned short)
ACUI_TURNS(4, unsigned)
ACUI_TURNS(8, unsigned long long)
ACUI_TURNS(16, unit16)
