/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sorting rows, stably. Rows of at most ACUI_SORT_SHORT elements are sorted by one block, in shared
 * memory. Longer ones go by one byte of the keys after the other. One launch counts the digits of all
 * passes; then each pass reads and writes the elements once: a block orders a tile of them by the
 * digit in shared memory, learns from the blocks before it where its digits go, and writes them there.
 */
#include "keys.cuh"

#include "../src/ops/sort/params.h"

enum { DIGITS = ACUI_SORT_DIGITS };

/* Puts element `place` of the row, or that number, to place i of the result. */
ACUI_DEVICE void store(const acui_sort &p, char *out, const char *x, const long long *row, long long i,
                       unsigned place)
{
    const long long to = row[0] + i * p.rows.stride[0];
    if (p.places)
        ((long long *)out)[to] = place;
    else
        acui_move_element(out, to, x, row[1] + place * p.rows.stride[1], p.bytes);
}

/* ---- short rows -------------------------------------------------------------------------------- */

/* As many rows at once as there is room for, each padded to a power of two: a bitonic network. Equal
 * keys stay in order since the place decides between them. */
template <typename K> ACUI_DEVICE void sort_short(char *out, const char *x, const acui_sort &p)
{
    __shared__ K keys[ACUI_SORT_SHORT];
    __shared__ unsigned places[ACUI_SORT_SHORT];
    int length = 1;
    while (length < p.rows.count)
        length *= 2;
    const int together = ACUI_SORT_SHORT / length, used = together * length;
    for (long long first = (long long)blockIdx.x * together; first < p.rows.rows;
         first += (long long)gridDim.x * together) {
        for (int i = (int)threadIdx.x; i < used; i += ACUI_BLOCK) {
            long long row[2], r = first + i / length;
            const int place = i % length;
            K key = (K)~(K)0;
            if (r < p.rows.rows && place < p.rows.count) {
                acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
                key = (K)acui_key_of(x + (row[1] + place * p.rows.stride[1]) * p.bytes, p.dtype, p.descending);
            }
            keys[i] = key;
            places[i] = (unsigned)place;
        }
        __syncthreads();
        for (int size = 2; size <= length; size *= 2)
            for (int step = size / 2; step > 0; step /= 2) {
                for (int t = (int)threadIdx.x; t < used / 2; t += ACUI_BLOCK) {
                    const int a = t / step * 2 * step + t % step, b = a + step;
                    const K ka = keys[a], kb = keys[b];
                    const unsigned pa = places[a], pb = places[b];
                    const bool above = ka > kb || (ka == kb && pa > pb), up = (a & size & (length - 1)) == 0;
                    if (above == up) {
                        keys[a] = kb;
                        keys[b] = ka;
                        places[a] = pb;
                        places[b] = pa;
                    }
                }
                __syncthreads();
            }
        for (int i = (int)threadIdx.x; i < used; i += ACUI_BLOCK) {
            long long row[2], r = first + i / length;
            if (r < p.rows.rows && i % length < p.rows.count) {
                acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
                store(p, out, x, row, i % length, places[i]);
            }
        }
        __syncthreads();
    }
}

/* ---- long rows --------------------------------------------------------------------------------- */

/* What a thread sees of another block's count is a word of its own, so no fence is needed. */
ACUI_DEVICE unsigned look(const unsigned *at) { return *(const volatile unsigned *)at; }
ACUI_DEVICE void show(unsigned *at, unsigned value) { *(volatile unsigned *)at = value; }

/* Integers that have the order of some elements, which are their own bits. */
template <typename K, int N> ACUI_DEVICE void order(const acui_sort &p, K (&key)[N])
{
    if (p.real) {
#pragma unroll
        for (int k = 0; k < N; k++)
            key[k] = acui_real_key<K>(key[k], (K)p.infinite, (K)p.sign, (K)p.all);
    }
#pragma unroll
    for (int k = 0; k < N; k++)
        key[k] ^= (K)p.turn;
}
template <typename K> ACUI_DEVICE unsigned digit_of(K key, int pass)
{
    return (unsigned)(key >> (8 * pass)) & (DIGITS - 1);
}

/* One of two places in the workspace. */
ACUI_DEVICE long long one_of(const long long (&at)[2], int which) { return which & 1 ? at[1] : at[0]; }

template <typename K> ACUI_DEVICE const K *keys_of(const acui_sort &p, const char *work, const char *x, int pass)
{
    return pass == 0 && p.from_x ? (const K *)x : (const K *)(work + one_of(p.key, pass));
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) sort_clear(char *work, const char *, char *, acui_sort p)
{
    uint4 *at = (uint4 *)(work + p.starts);
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.cleared / 16;
         i += (long long)gridDim.x * ACUI_BLOCK)
        at[i] = make_uint4(0, 0, 0, 0);
}

/* An element's bits; a bool's are 0 or 1. */
template <typename K> ACUI_DEVICE K bits_at(const acui_sort &p, const char *at)
{
    return (K)(p.dtype == ACU_BOOL ? *at != 0
               : p.bytes == 1      ? *(const unsigned char *)at
               : p.bytes == 2      ? *(const unsigned short *)at
                                   : *(const K *)at);
}

/* Copies elements where they are not dense, or shorter than a K. */
template <typename K> ACUI_DEVICE void sort_load(char *work, const char *x, const acui_sort &p)
{
    K *keys = (K *)(work + p.key[0]);
    const long long all = p.rows.rows * p.rows.count;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < all;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long row[2], r = i / p.rows.count;
        acui_offsets<2>(p.rows.kept, p.rows.at, r, row);
        const char *at = x + (row[1] + (i - r * p.rows.count) * p.rows.stride[1]) * p.bytes;
        keys[i] = bits_at<K>(p, at);
    }
}

/* How often each row has each digit, of all passes; `parts` blocks share a row. Where many digits are
 * equal, neighbouring threads count in different words. */
template <typename K> ACUI_DEVICE void sort_count(char *work, const char *x, const acui_sort &p)
{
    enum { COPIES = 4, PASSES = (int)sizeof(K) };
    __shared__ unsigned count[PASSES * DIGITS * COPIES];
    const long long row = blockIdx.x / p.parts, part = blockIdx.x - row * p.parts;
    const K *keys = keys_of<K>(p, work, x, 0) + row * p.rows.count;
    unsigned *starts = (unsigned *)(work + p.starts) + row * p.bytes * DIGITS;
    const int copy = (int)threadIdx.x % COPIES;
    for (int i = (int)threadIdx.x; i < p.bytes * DIGITS * COPIES; i += ACUI_BLOCK)
        count[i] = 0;
    __syncthreads();
    for (long long i = part * ACUI_BLOCK * 8; i < p.rows.count; i += p.parts * ACUI_BLOCK * 8) {
        K key[8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const long long at = i + k * ACUI_BLOCK + threadIdx.x;
            key[k] = at < p.rows.count ? keys[at] : 0;
        }
        order(p, key);
#pragma unroll
        for (int k = 0; k < 8; k++)
            for (int pass = 0; i + k * ACUI_BLOCK + threadIdx.x < p.rows.count && pass < p.bytes; pass++)
                atomicAdd(&count[(pass * DIGITS + (int)digit_of(key[k], pass)) * COPIES + copy], 1u);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < p.bytes * DIGITS; i += ACUI_BLOCK) {
        const unsigned *own = count + i * COPIES;
        const unsigned sum = own[0] + own[1] + own[2] + own[3];
        if (sum)
            atomicAdd(&starts[i], sum);
    }
}

/* The sum of the threads' values before this one's, of the first DIGITS threads of a block. */
ACUI_DEVICE unsigned sum_before(unsigned value)
{
    __shared__ unsigned sums[DIGITS / 32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned run = value, earlier = 0;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        unsigned other = __shfl_up_sync(0xffffffffu, run, step);
        run += lane >= step ? other : 0;
    }
    if (lane == 31 && warp < DIGITS / 32)
        sums[warp] = run;
    __syncthreads();
#pragma unroll
    for (unsigned w = 0; w < DIGITS / 32; w++)
        earlier += w < warp ? sums[w] : 0;
    return earlier + run - value;
}

/* Each count becomes the place of the digit's first element in its row. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) sort_starts(char *work, const char *, char *, acui_sort p)
{
    unsigned *starts = (unsigned *)(work + p.starts);
    for (long long u = blockIdx.x; u < p.rows.rows * p.bytes; u += gridDim.x) {
        unsigned *own = &starts[u * DIGITS + threadIdx.x];
        *own = sum_before(*own);
        __syncthreads();
    }
}

/* The lanes whose digit is this one's. In assembly, four instructions for each bit instead of seven. */
template <int BIT> ACUI_DEVICE unsigned equal_bit(unsigned digit)
{
    unsigned set;
    __asm__ volatile("{ .reg .pred p; .reg .b32 bit; and.b32 bit, %1, %2; setp.ne.u32 p, bit, 0;\n"
                     "vote.sync.ballot.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }"
                     : "=r"(set)
                     : "r"(digit), "n"(1 << BIT));
    return set;
}
ACUI_DEVICE unsigned equal_digits(unsigned digit)
{
    return equal_bit<0>(digit) & equal_bit<1>(digit) & equal_bit<2>(digit) & equal_bit<3>(digit) &
           equal_bit<4>(digit) & equal_bit<5>(digit) & equal_bit<6>(digit) & equal_bit<7>(digit);
}

/*
 * One pass over the rows, tile after tile, in the order in which blocks begin, so that a block waits
 * only for blocks that run already. A tile needs to know how many elements before it have each digit:
 * each block shows its own counts (with COUNT), and the sum up to itself as soon as it knows it (plus
 * 1), and adds up what blocks before it show, until it finds a sum.
 */
enum { THREADS = ACUI_SORT_THREADS, WARPS = THREADS / 32 };
const unsigned COUNT = 0x80000000u;

ACUI_DEVICE unsigned elements_before(unsigned *shown, long long tile, long long tiles, unsigned own)
{
    unsigned before = 0, seen;
    if (tile > 0)
        show(shown, COUNT | own);
    for (long long back = 1; back <= tile; back++) {
        const unsigned *at = shown - back * DIGITS;
        do
            seen = look(at);
        while (seen == 0);
        before += seen & COUNT ? seen & ~COUNT : seen - 1;
        if (!(seen & COUNT))
            break;
    }
    if (tile < tiles - 1) /* the last sum may be 2^31 - 1, and nobody needs it */
        show(shown, before + own + 1);
    return before;
}

/* What moves: keys; keys of 64 bits, and places; or pairs, of 64 bits, whose upper half is a key and whose
 * lower half is its place: one access for both, and no registers beside. */
enum { KEYS, PLACES, PAIRS };
template <typename K, int WHAT, int BYTES> struct tile_of {
    static const int ITEMS = BYTES / (int)sizeof(K) / THREADS, TILE = ITEMS * THREADS;

    /* A pair's key is in order already. */
    ACUI_DEVICE void put_in_order(const acui_sort &p, K (&key)[ITEMS])
    {
        if (WHAT != PAIRS)
            order(p, key);
    }
    ACUI_DEVICE unsigned digit(K key, int pass)
    {
        return WHAT == PAIRS ? digit_of((unsigned)((unsigned long long)key >> 32), pass) : digit_of(key, pass);
    }
    /* The first pass makes pairs of the elements of x, or of what sort_load copied. */
    ACUI_DEVICE void make_pairs(const acui_sort &p, const char *work, const char *x, long long first, unsigned place,
                                int here, K (&key)[ITEMS])
    {
        const unsigned *from = keys_of<unsigned>(p, work, x, 0) + first;
        unsigned bits[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            bits[k] = own() + 32 * k < here ? from[own() + 32 * k] : 0;
        order(p, bits);
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            key[k] = (K)((unsigned long long)bits[k] << 32 | (place + (unsigned)(own() + 32 * k)));
    }
    ACUI_DEVICE void load(const acui_sort &p, const char *work, const char *x, long long first, unsigned place,
                          int here, K (&key)[ITEMS])
    {
        if (WHAT == PAIRS && p.pass == 0)
            return make_pairs(p, work, x, first, place, here, key);
        const K *from = keys_of<K>(p, work, x, p.pass) + first + own();
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            key[k] = own() + 32 * k < here ? from[32 * k] : 0;
    }

    /* Of the thread's elements, k is number 32 k of the tile from `own` on. */
    ACUI_DEVICE int own() { return (int)threadIdx.x / 32 * (ITEMS * 32) + (int)threadIdx.x % 32; }

    /* The digits of a thread's keys above their ranks among equal digits of its warp, in the order of
     * memory; and how many the warp has of each. What is beyond the end counts as last. */
    ACUI_DEVICE void rank(const acui_sort &p, const K (&from)[ITEMS], int here, unsigned (&place)[ITEMS],
                          unsigned *count)
    {
        const unsigned lane = threadIdx.x % 32;
        K key[ITEMS];
        for (int d = (int)lane; d < DIGITS; d += 32)
            count[d] = 0;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            key[k] = from[k];
        put_in_order(p, key);
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            place[k] = here == TILE || own() + 32 * k < here ? digit(key[k], p.pass) : DIGITS - 1;
        __syncwarp();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const unsigned digit = place[k], equal = equal_digits(digit), run = count[digit];
            const unsigned earlier = (unsigned)__popc(equal & ((1u << lane) - 1));
            __syncwarp();
            if (earlier == 0)
                count[digit] = run + (unsigned)__popc(equal);
            __syncwarp();
            place[k] = digit << 16 | (run + earlier);
        }
    }

    /* By the first DIGITS threads: counts of warps become places in the tile, and starts[digit] what to
     * add to these for a place in the row. */
    ACUI_DEVICE void places(const acui_sort &p, char *work, unsigned (*count)[DIGITS], unsigned *starts, unsigned row,
                            unsigned tile)
    {
        const unsigned d = threadIdx.x;
        unsigned own = 0;
        for (int w = 0; w < WARPS && d < DIGITS; w++) {
            const unsigned next = count[w][d];
            count[w][d] = own;
            own += next;
        }
        const unsigned first = sum_before(own);
        if (d >= DIGITS)
            return;
        for (int w = 0; w < WARPS; w++)
            count[w][d] += first;
        const long long unit = (row * p.tiles + tile) * DIGITS + d;
        ((unsigned *)(work + one_of(p.shown, p.pass + 1)))[unit] = 0; /* for the next pass */
        unsigned *shown = (unsigned *)(work + one_of(p.shown, p.pass)) + unit;
        const unsigned before = elements_before(shown, tile, p.tiles, own);
        starts[d] = ((const unsigned *)(work + p.starts))[(row * p.bytes + p.pass) * DIGITS + d] + before - first;
    }

    ACUI_DEVICE void move(char *out, char *work, const char *x, const acui_sort &p)
    {
        const int counts = (int)sizeof(unsigned) * WARPS * DIGITS, keys = TILE * (int)sizeof(K);
        __shared__ __align__(16) char memory[keys > counts ? keys : counts];
        __shared__ unsigned starts[DIGITS], turn;
        unsigned(*count)[DIGITS] = (unsigned(*)[DIGITS])memory, place[ITEMS];
        const unsigned warp = threadIdx.x / 32;
        if (threadIdx.x == 0)
            turn = atomicAdd((unsigned *)(work + p.turns) + p.pass, 1u);
        __syncthreads();
        const unsigned row = turn / (unsigned)p.tiles, tile = turn - row * (unsigned)p.tiles;
        const int here = (int)min((long long)TILE, p.rows.count - (long long)tile * TILE);
        K key[ITEMS];
        load(p, work, x, row * p.rows.count + tile * TILE, tile * TILE, here, key);
        rank(p, key, here, place, count[warp]);
        __syncthreads();
        places(p, work, count, starts, row, tile);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            place[k] = (place[k] & 0xffffu) + count[warp][place[k] >> 16];
        __syncthreads();
        put(out, work, p, (K *)memory, key, place, starts, row * p.rows.count, tile * TILE, here);
    }

    /* Through shared memory, so that what is neighbours there is so in the row, which begins at `row`. */
    ACUI_DEVICE void put(char *out, char *work, const acui_sort &p, K *held, const K (&key)[ITEMS],
                         const unsigned (&place)[ITEMS], const unsigned *starts, long long row, unsigned first,
                         int here)
    {
        const bool last = p.pass == p.bytes - 1;
        K *keys = (last && p.to_out ? (K *)out : (K *)(work + one_of(p.key, p.pass + 1))) + row;
        unsigned at[ITEMS];
        K of[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            held[place[k]] = key[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            of[k] = held[k * THREADS + (int)threadIdx.x];
        put_in_order(p, of);
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            at[k] = (unsigned)(k * THREADS) + threadIdx.x + starts[digit(of[k], p.pass)];
#pragma unroll
        for (int k = 0; k < ITEMS && !(last && WHAT == PLACES); k++)
            if (k * THREADS + (int)threadIdx.x < here)
                keys[at[k]] = last && WHAT == PAIRS ? (K)(unsigned)of[k] : held[k * THREADS + (int)threadIdx.x];
        if (WHAT == PLACES)
            put_places(out, work, p, (unsigned *)held, place, at, row, first, here);
    }

    ACUI_DEVICE void put_places(char *out, char *work, const acui_sort &p, unsigned *held,
                                const unsigned (&place)[ITEMS], const unsigned (&at)[ITEMS], long long row,
                                unsigned first, int here)
    {
        const unsigned *from = (const unsigned *)(work + one_of(p.place, p.pass)) + row + first;
        unsigned *to = (unsigned *)(work + one_of(p.place, p.pass + 1)) + row;
        const bool last = p.pass == p.bytes - 1;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int i = own() + 32 * k;
            held[place[k]] = p.pass == 0 ? first + (unsigned)i : i < here ? from[i] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int i = k * THREADS + (int)threadIdx.x;
            if (i >= here)
                continue;
            if (last && p.to_out)
                ((long long *)out)[row + at[k]] = held[i];
            else
                to[at[k]] = held[i];
        }
    }
};

/* Results that are not dense, or shorter than a K. */
template <typename K> ACUI_DEVICE void sort_store(char *out, const char *work, const acui_sort &p)
{
    const char *keys = work + one_of(p.key, p.bytes);
    const unsigned *places = (const unsigned *)(work + one_of(p.pairs ? p.key : p.place, p.bytes));
    const long long all = p.rows.rows * p.rows.count;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < all;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long row[1], r = i / p.rows.count;
        acui_offsets<1>(p.rows.kept, p.rows.at, r, row);
        const long long to = row[0] + (i - r * p.rows.count) * p.rows.stride[0];
        if (p.places)
            ((long long *)out)[to] = places[p.pairs ? 2 * i : i];
        else
            acui_move_element(out, to, keys + i * sizeof(K), 0, p.bytes);
    }
}

/* ---- the first of a row ------------------------------------------------------------------------ */

/*
 * Which are the first `first` elements of each row, in the order of memory: first those before an element
 * of key `least`, then some of that key, of which the row may have more. Its bytes are found one after the
 * other, the upper ones first: how many elements that begin with those known have each byte.
 */
enum { FEW = 8, STEP = FEW * ACUI_BLOCK };
struct found { /* of a row */
    unsigned long long least; /* the bytes that are known */
    unsigned left;            /* how many are taken of those that begin with them */
};

template <typename K> struct first_of {
    /* Elements i + 256 k of a row, of `count`. */
    ACUI_DEVICE void read(const acui_sort &p, const char *row, long long i, long long count, K (&key)[FEW])
    {
        const long long step = p.rows.stride[1] * p.bytes;
#pragma unroll
        for (int k = 0; k < FEW; k++) {
            const long long at = i + k * ACUI_BLOCK;
            key[k] = at < count ? bits_at<K>(p, row + at * step) : 0;
        }
        order(p, key);
    }
    ACUI_DEVICE const char *row_at(const acui_sort &p, const char *x, long long row)
    {
        long long at[2];
        acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
        return x + at[1] * p.bytes;
    }
    ACUI_DEVICE const found &found_of(const acui_sort &p, const char *work, long long row)
    {
        return ((const found *)(work + p.found))[row];
    }

    ACUI_DEVICE void count(char *work, const char *x, const acui_sort &p)
    {
        enum { COPIES = 8 };
        __shared__ unsigned counts[DIGITS * COPIES];
        const long long row = blockIdx.x / p.parts, part = blockIdx.x - row * p.parts;
        const char *from = row_at(p, x, row);
        const bool all = p.pass == p.bytes - 1;
        const K least = all ? 0 : (K)found_of(p, work, row).least;
        for (int d = (int)threadIdx.x; d < DIGITS * COPIES; d += ACUI_BLOCK)
            counts[d] = 0;
        __syncthreads();
        for (long long i = part * STEP + threadIdx.x; i < p.rows.count; i += p.parts * STEP) {
            K key[FEW];
            read(p, from, i, p.rows.count, key);
#pragma unroll
            for (int k = 0; k < FEW; k++)
                if (i + k * ACUI_BLOCK < p.rows.count && (all || key[k] >> (8 * (p.pass + 1)) == least))
                    atomicAdd(&counts[digit_of(key[k], p.pass) * COPIES + threadIdx.x % COPIES], 1u);
        }
        __syncthreads();
        unsigned sum = 0;
        for (int c = 0; c < COPIES; c++)
            sum += counts[threadIdx.x * COPIES + (unsigned)c];
        if (sum)
            atomicAdd((unsigned *)(work + p.starts) + row * DIGITS + threadIdx.x, sum);
    }

    /* How many of each part are before `least`, and how many are of that key. */
    ACUI_DEVICE void parts(char *work, const char *x, const acui_sort &p)
    {
        __shared__ unsigned sums[2];
        const long long row = blockIdx.x / p.parts, part = blockIdx.x - row * p.parts;
        const long long end = min((part + 1) * p.part, p.rows.count);
        const char *from = row_at(p, x, row);
        const K least = (K)found_of(p, work, row).least;
        unsigned before = 0, equal = 0;
        if (threadIdx.x < 2)
            sums[threadIdx.x] = 0;
        __syncthreads();
        for (long long i = part * p.part + threadIdx.x; i < end; i += STEP) {
            K key[FEW];
            read(p, from, i, end, key);
#pragma unroll
            for (int k = 0; k < FEW; k++) {
                before += i + k * ACUI_BLOCK < end && key[k] < least;
                equal += i + k * ACUI_BLOCK < end && key[k] == least;
            }
        }
        if (before)
            atomicAdd(&sums[0], before);
        if (equal)
            atomicAdd(&sums[1], equal);
        __syncthreads();
        if (threadIdx.x < 2)
            ((unsigned *)(work + p.counted))[blockIdx.x * 2 + threadIdx.x] = sums[threadIdx.x];
    }

    /* Writes the places of a part's elements. */
    ACUI_DEVICE void take(char *work, const char *x, char *out, const acui_sort &p)
    {
        __shared__ unsigned at[2]; /* where the next goes: of those before, and of that key */
        const long long row = blockIdx.x / p.parts, part = blockIdx.x - row * p.parts;
        const long long end = min((part + 1) * p.part, p.rows.count);
        const unsigned *counted = (const unsigned *)(work + p.counted) + row * p.parts * 2;
        const unsigned first = (unsigned)p.first, before = first - found_of(p, work, row).left;
        const char *from = row_at(p, x, row);
        const K least = (K)found_of(p, work, row).least;
        long long *places = (long long *)out + row * p.first;
        if (threadIdx.x < 2)
            at[threadIdx.x] = threadIdx.x ? before : 0;
        __syncthreads();
        for (long long i = threadIdx.x; i < part * 2; i += ACUI_BLOCK)
            if (counted[i])
                atomicAdd(&at[i % 2], counted[i]);
        __syncthreads();
        if (counted[part * 2] == 0 && (counted[part * 2 + 1] == 0 || at[1] >= first))
            return;
        for (long long i = part * p.part; i < end; i += ACUI_BLOCK) {
            const long long place = i + threadIdx.x;
            K key[1] = {place < end ? bits_at<K>(p, from + place * p.rows.stride[1] * p.bytes) : (K)0};
            order(p, key);
            const bool less = place < end && key[0] < least, equal = place < end && key[0] == least;
            const unsigned less_at = at[0] + rank(less), equal_at = at[1] + rank(equal);
            if (less)
                places[less_at] = place;
            if (equal && equal_at < first)
                places[equal_at] = place;
            __syncthreads();
            if (threadIdx.x == ACUI_BLOCK - 1) {
                at[0] = less_at + less;
                at[1] = equal_at + equal;
            }
            __syncthreads();
        }
    }

    /* How many threads before this one say so. */
    ACUI_DEVICE unsigned rank(bool flag)
    {
        __shared__ unsigned sums[ACUI_BLOCK / 32];
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const unsigned set = __ballot_sync(0xffffffffu, flag);
        unsigned earlier = (unsigned)__popc(set & ((1u << lane) - 1));
        __syncthreads();
        if (lane == 0)
            sums[warp] = (unsigned)__popc(set);
        __syncthreads();
        for (unsigned w = 0; w < warp; w++)
            earlier += sums[w];
        return earlier;
    }
};

/* One byte more of each row's key is known. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK) first_pick(char *work, const char *, char *, acui_sort p)
{
    const bool none = p.pass == p.bytes - 1;
    for (long long row = blockIdx.x; row < p.rows.rows; row += gridDim.x) {
        found *of = (found *)(work + p.found) + row;
        unsigned *counts = (unsigned *)(work + p.starts) + row * DIGITS;
        const unsigned own = counts[threadIdx.x], left = none ? (unsigned)p.first : of->left;
        const unsigned before = sum_before(own);
        const unsigned long long known = none ? 0 : of->least;
        __syncthreads();
        if (before < left && left - before <= own) {
            of->least = known << 8 | threadIdx.x;
            of->left = left - before;
        }
        counts[threadIdx.x] = 0;
        __syncthreads();
    }
}

#define ACUI_MOVE(name, K, what, bytes)                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, ACUI_SORT_AT_ONCE)                       \
        sort_##name(char *work, const char *x, char *out, acui_sort p)                             \
    {                                                                                              \
        tile_of<K, what, bytes>::move(out, work, x, p);                                            \
    }
ACUI_MOVE(places_8, unsigned long long, PLACES, ACUI_SORT_TILE_BYTES)
ACUI_MOVE(pairs, unsigned long long, PAIRS, ACUI_SORT_PAIRS_BYTES)
#define ACUI_X(bytes, K)                                                                           \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_short_##bytes(char *out, const char *x, acui_sort p)                                  \
    {                                                                                              \
        sort_short<K>(out, x, p);                                                                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_load_##bytes(char *work, const char *x, char *, acui_sort p)                          \
    {                                                                                              \
        sort_load<K>(work, x, p);                                                                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_count_##bytes(char *work, const char *x, char *, acui_sort p)                         \
    {                                                                                              \
        sort_count<K>(work, x, p);                                                                 \
    }                                                                                              \
    ACUI_MOVE(move_##bytes, K, KEYS, ACUI_SORT_TILE_BYTES)                                         \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        sort_store_##bytes(char *work, const char *, char *out, acui_sort p)                       \
    {                                                                                              \
        sort_store<K>(out, work, p);                                                               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        first_count_##bytes(char *work, const char *x, char *, acui_sort p)                        \
    {                                                                                              \
        first_of<K>::count(work, x, p);                                                            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        first_parts_##bytes(char *work, const char *x, char *, acui_sort p)                        \
    {                                                                                              \
        first_of<K>::parts(work, x, p);                                                            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        first_take_##bytes(char *work, const char *x, char *out, acui_sort p)                      \
    {                                                                                              \
        first_of<K>::take(work, x, out, p);                                                        \
    }
ACUI_X(4, unsigned)
ACUI_X(8, unsigned long long)
