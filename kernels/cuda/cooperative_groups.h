/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cooperative groups for kernels that clang compiles without a toolkit: the thread block, tiles of it,
 * the threads that run together, and the grid of a cooperative launch; what they exchange, reduce and
 * scan (also under cooperative_groups/reduce.h and scan.h). CUDA's names and meanings. Not provided:
 * clusters, asynchronous copies (memcpy_async copies at once).
 */
#ifndef ACUDA_KERNELS_COOPERATIVE_GROUPS_H
#define ACUDA_KERNELS_COOPERATIVE_GROUPS_H

/* clang-format off: what is one fact a line stays one line */

#define ACUI_GROUP __device__ inline __attribute__((always_inline))

namespace cooperative_groups {

namespace acui {
ACUI_GROUP unsigned lane()
{
    unsigned lane;
    __asm__ volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
ACUI_GROUP unsigned rank_in_block()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
ACUI_GROUP unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
/* Any type in words */
template <typename T, typename F> ACUI_GROUP T by_words(T value, F f)
{
    unsigned words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof value);
#pragma unroll
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = f(words[i]);
    __builtin_memcpy(&value, words, sizeof value);
    return value;
}
} // namespace acui

/* ---- lanes of a warp: tiles and the threads that run together ----------------------------------- */

/* A set of lanes. Ranks count its lanes upwards. */
class lanes {
  protected:
    unsigned mask_, meta_rank_, meta_size_;
    ACUI_GROUP unsigned lane_of(unsigned rank) const
    {
        return mask_ == 0xffffffffu ? rank : __fns(mask_, 0, (int)rank + 1);
    }

  public:
    ACUI_GROUP lanes(unsigned mask, unsigned meta_rank, unsigned meta_size)
        : mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
    ACUI_GROUP void sync() const { __syncwarp(mask_); }
    ACUI_GROUP unsigned size() const { return (unsigned)__popc(mask_); }
    ACUI_GROUP unsigned num_threads() const { return size(); }
    ACUI_GROUP unsigned thread_rank() const
    {
        return (unsigned)__popc(mask_ & ((1u << acui::lane()) - 1));
    }
    ACUI_GROUP unsigned meta_group_rank() const { return meta_rank_; }
    ACUI_GROUP unsigned meta_group_size() const { return meta_size_; }
    ACUI_GROUP bool is_valid() const { return true; }
    ACUI_GROUP unsigned acui_mask() const { return mask_; }

    ACUI_GROUP int any(int predicate) const { return __any_sync(mask_, predicate); }
    ACUI_GROUP int all(int predicate) const { return __all_sync(mask_, predicate); }
    /* Bit r is of rank r. */
    ACUI_GROUP unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
    template <typename T> ACUI_GROUP unsigned match_any(T value) const
    {
        return packed(__match_any_sync(mask_, value));
    }
    template <typename T> ACUI_GROUP unsigned match_all(T value, int &all) const
    {
        return packed(__match_all_sync(mask_, value, &all));
    }
    template <typename T> ACUI_GROUP T shfl(T value, unsigned rank) const
    {
        unsigned from = lane_of(rank % size());
        return acui::by_words(value, [&](unsigned w) { return __shfl_sync(mask_, w, (int)from); });
    }
    template <typename T> ACUI_GROUP T shfl_down(T value, unsigned delta) const
    {
        unsigned rank = thread_rank() + delta;
        return shfl(value, rank < size() ? rank : thread_rank());
    }
    template <typename T> ACUI_GROUP T shfl_up(T value, unsigned delta) const
    {
        unsigned rank = thread_rank();
        return shfl(value, rank >= delta ? rank - delta : rank);
    }

  protected:
    /* The group's bits of a mask of lanes, next to each other */
    ACUI_GROUP unsigned packed(unsigned bits) const
    {
        if (mask_ == 0xffffffffu)
            return bits;
        unsigned result = 0, at = 0;
        for (unsigned rest = mask_; rest; rest &= rest - 1)
            result |= (bits >> (__ffs((int)rest) - 1) & 1u) << at++;
        return result;
    }
};

class coalesced_group : public lanes {
  public:
    ACUI_GROUP coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lanes(mask, meta_rank, meta_size) {}
};
ACUI_GROUP coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/* ---- the block ------------------------------------------------------------------------------------ */

class thread_block {
  public:
    static ACUI_GROUP void sync() { __syncthreads(); }
    static ACUI_GROUP unsigned thread_rank() { return acui::rank_in_block(); }
    static ACUI_GROUP unsigned size() { return acui::threads_of_block(); }
    static ACUI_GROUP unsigned num_threads() { return size(); }
    static ACUI_GROUP dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static ACUI_GROUP dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static ACUI_GROUP dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static ACUI_GROUP dim3 dim_threads() { return group_dim(); }
    static ACUI_GROUP bool is_valid() { return true; }
};
ACUI_GROUP thread_block this_thread_block() { return thread_block(); }

/* 1 to 32 neighbouring threads of a block, a power of two */
template <unsigned Size, typename Parent = void> class thread_block_tile : public lanes {
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "1, 2, 4, 8, 16 or 32 threads");
    static const unsigned WHOLE = Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1;

    static ACUI_GROUP unsigned mask()
    {
        unsigned there = acui::threads_of_block() - (acui::rank_in_block() & ~31u);
        unsigned warp = there >= 32 ? 0xffffffffu : (1u << there) - 1; /* the last may be short */
        return (WHOLE << (acui::lane() & ~(Size - 1))) & warp;
    }

  public:
    template <typename G> ACUI_GROUP explicit thread_block_tile(const G &parent)
        : lanes(mask(), parent.thread_rank() / Size, (parent.size() + Size - 1) / Size) {}
    static constexpr ACUI_GROUP unsigned size() { return Size; }
    static constexpr ACUI_GROUP unsigned num_threads() { return Size; }
    ACUI_GROUP unsigned thread_rank() const { return acui::lane() & (Size - 1); }
    template <typename T> ACUI_GROUP T shfl(T value, unsigned rank) const
    {
        return acui::by_words(value, [&](unsigned w) { return __shfl_sync(mask_, w, (int)rank, Size); });
    }
    template <typename T> ACUI_GROUP T shfl_down(T value, unsigned delta) const
    {
        return acui::by_words(value, [&](unsigned w) { return __shfl_down_sync(mask_, w, delta, Size); });
    }
    template <typename T> ACUI_GROUP T shfl_up(T value, unsigned delta) const
    {
        return acui::by_words(value, [&](unsigned w) { return __shfl_up_sync(mask_, w, delta, Size); });
    }
    template <typename T> ACUI_GROUP T shfl_xor(T value, unsigned bits) const
    {
        return acui::by_words(value, [&](unsigned w) { return __shfl_xor_sync(mask_, w, (int)bits, Size); });
    }
    ACUI_GROUP unsigned ballot(int predicate) const { return own(__ballot_sync(mask_, predicate)); }
    template <typename T> ACUI_GROUP unsigned match_any(T value) const
    {
        return own(__match_any_sync(mask_, value));
    }
    template <typename T> ACUI_GROUP unsigned match_all(T value, int &all) const
    {
        return own(__match_all_sync(mask_, value, &all));
    }

  private:
    ACUI_GROUP unsigned own(unsigned bits) const { return bits >> (acui::lane() & ~(Size - 1)) & WHOLE; }
};
template <unsigned Size, typename Parent>
ACUI_GROUP thread_block_tile<Size, Parent> tiled_partition(const Parent &parent)
{
    return thread_block_tile<Size, Parent>(parent);
}

/* Of the threads that run together: `size` neighbours by rank, or those with the same label. */
ACUI_GROUP coalesced_group tiled_partition(const coalesced_group &group, unsigned size)
{
    unsigned rank = group.thread_rank(), first = rank - rank % size, mask = 0, at = 0;
    for (unsigned rest = group.acui_mask(); rest; rest &= rest - 1, at++)
        if (at >= first && at < first + size)
            mask |= rest & (0u - rest);
    return coalesced_group(mask, rank / size, (group.size() + size - 1) / size);
}
template <typename G> ACUI_GROUP coalesced_group binary_partition(const G &group, bool predicate)
{
    unsigned yes = __ballot_sync(group.acui_mask(), predicate);
    return coalesced_group(predicate ? yes : group.acui_mask() & ~yes, predicate ? 0 : 1, 2);
}
template <typename G, typename T> ACUI_GROUP coalesced_group labeled_partition(const G &group, T label)
{
    return coalesced_group(__match_any_sync(group.acui_mask(), label));
}

/* ---- the grid of a cooperative launch --------------------------------------------------------------- */

class grid_group {
    /* The driver gives such a grid a word for a barrier, behind a size. Other grids have the
     * address 0, or, with some drivers, such a word too. */
    static ACUI_GROUP unsigned *barrier()
    {
        unsigned low, high;
        __asm__("mov.b32 %0, %%envreg2;" : "=r"(low));
        __asm__("mov.b32 %0, %%envreg1;" : "=r"(high));
        unsigned long long address = (unsigned long long)high << 32 | low;
        return address ? (unsigned *)address + 1 : nullptr;
    }

  public:
    /* Whether there is a barrier; not, how the grid was launched. Without a cooperative launch
     * its blocks may wait for others that do not run yet, for ever. */
    static ACUI_GROUP bool is_valid() { return barrier() != nullptr; }
    static ACUI_GROUP void sync()
    {
        unsigned *at = barrier(), blocks = gridDim.x * gridDim.y * gridDim.z;
        if (!at) /* surely not a cooperative launch */
            __trap();
        __syncthreads();
        if (acui::rank_in_block() == 0) { /* the top bit changes when all have come */
            bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
            unsigned count = first ? 0x80000000u - (blocks - 1) : 1;
            __threadfence();
            unsigned before = atomicAdd(at, count);
            while (((before ^ *(volatile unsigned *)at) & 0x80000000u) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
    }
    static ACUI_GROUP unsigned long long thread_rank()
    {
        return block_rank() * acui::threads_of_block() + acui::rank_in_block();
    }
    static ACUI_GROUP unsigned long long size() { return num_blocks() * acui::threads_of_block(); }
    static ACUI_GROUP unsigned long long num_threads() { return size(); }
    static ACUI_GROUP unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static ACUI_GROUP unsigned long long block_rank()
    {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static ACUI_GROUP dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static ACUI_GROUP dim3 dim_blocks() { return group_dim(); }
    static ACUI_GROUP dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
ACUI_GROUP grid_group this_grid() { return grid_group(); }

template <typename G> ACUI_GROUP void sync(const G &group) { group.sync(); }
template <typename G> ACUI_GROUP auto thread_rank(const G &group) { return group.thread_rank(); }
template <typename G> ACUI_GROUP auto group_size(const G &group) { return group.size(); }

/* ---- reduce and scan, of tiles and of threads that run together -------------------------------------- */

#define ACUI_OPERATION(name, expression)                                                           \
    template <typename T = void> struct name {                                                     \
        ACUI_GROUP T operator()(T a, T b) const { return (T)(expression); }                        \
    };                                                                                             \
    template <> struct name<void> {                                                                \
        template <typename T> ACUI_GROUP T operator()(T a, T b) const { return (T)(expression); }  \
    };
ACUI_OPERATION(plus, a + b)
ACUI_OPERATION(less, b < a ? b : a)
ACUI_OPERATION(greater, a < b ? b : a)
ACUI_OPERATION(bit_and, a & b)
ACUI_OPERATION(bit_or, a | b)
ACUI_OPERATION(bit_xor, a ^ b)
#undef ACUI_OPERATION

/* Neighbours first, so that the order of the operands is that of the ranks. For all threads. */
template <typename G, typename T, typename F> ACUI_GROUP T reduce(const G &group, T value, F f)
{
    const unsigned size = group.size(), rank = group.thread_rank();
    for (unsigned step = 1; step < size; step *= 2) {
        T other = group.shfl(value, rank + step < size ? rank + step : rank);
        if (rank + step < size)
            value = f(value, other);
    }
    return group.shfl(value, 0);
}
template <typename G, typename T, typename F> ACUI_GROUP T inclusive_scan(const G &group, T value, F f)
{
    const unsigned size = group.size(), rank = group.thread_rank();
    for (unsigned step = 1; step < size; step *= 2) {
        T other = group.shfl(value, rank >= step ? rank - step : rank);
        if (rank >= step)
            value = f(other, value);
    }
    return value;
}
template <typename G, typename T> ACUI_GROUP T inclusive_scan(const G &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}
/* Rank 0 gets T(). */
template <typename G, typename T, typename F> ACUI_GROUP T exclusive_scan(const G &group, T value, F f)
{
    const unsigned rank = group.thread_rank();
    T whole = inclusive_scan(group, value, f), before = group.shfl(whole, rank ? rank - 1 : 0);
    return rank ? before : T();
}
template <typename G, typename T> ACUI_GROUP T exclusive_scan(const G &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

/* One thread of the group calls f. */
template <typename G, typename F> ACUI_GROUP void invoke_one(const G &group, F f)
{
    if (group.thread_rank() == 0)
        f();
}

/* Copies at once; wait is a barrier, after which all of the group see it. */
template <typename G> ACUI_GROUP void memcpy_async(const G &group, void *to, const void *from, size_t bytes)
{
    for (size_t i = (size_t)group.thread_rank(); i < bytes; i += (size_t)group.size())
        ((char *)to)[i] = ((const char *)from)[i];
}
template <typename G> ACUI_GROUP void wait(const G &group) { group.sync(); }

} // namespace cooperative_groups

#undef ACUI_GROUP
#endif
