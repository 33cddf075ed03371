/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cooperative groups, for test_groups.c to check: every kernel stores for each thread of its
 * block. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

/* 16 numbers of a tile of `Size` */
template <unsigned Size> static __device__ void tile(int *o)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<Size>(block);
    int rank = (int)block.thread_rank(), all;
    double wide = rank * 1.5;
    o[0] = (int)tile.thread_rank();
    o[1] = (int)tile.size();
    o[2] = (int)tile.meta_group_rank();
    o[3] = (int)tile.meta_group_size();
    o[4] = tile.shfl(rank, 1);
    o[5] = tile.shfl_down(rank, 1);
    o[6] = tile.shfl_up(rank, 1);
    o[7] = tile.shfl_xor(rank, 1);
    o[8] = cg::reduce(tile, rank, cg::plus<int>());
    o[9] = cg::reduce(tile, rank ^ 5, cg::greater<int>());
    o[10] = cg::inclusive_scan(tile, rank);
    o[11] = cg::exclusive_scan(tile, rank, cg::plus<int>());
    o[12] = (int)tile.ballot(rank & 1);
    o[13] = tile.any(rank == 3) + 2 * tile.all(rank >= 0);
    o[14] = (int)(2 * tile.shfl(wide, 0));
    o[15] = (int)tile.match_any(rank / 2) + 1000 * (tile.match_all(7, all) != 0) + 4000 * all;
    tile.sync();
}
extern "C" __global__ void tiles_4(int *out)
{
    tile<4>(out + 16 * threadIdx.x);
}
extern "C" __global__ void tiles_16(int *out)
{
    tile<16>(out + 16 * threadIdx.x);
}
extern "C" __global__ void tiles_32(int *out)
{
    tile<32>(out + 16 * threadIdx.x);
}

/* 10 numbers of those whose index is no multiple of 3 */
extern "C" __global__ void coalesced(int *out)
{
    int *o = out + 10 * threadIdx.x, rank = (int)threadIdx.x;
    if (rank % 3 == 0)
        return;
    cg::coalesced_group group = cg::coalesced_threads();
    o[0] = (int)group.thread_rank();
    o[1] = (int)group.size();
    o[2] = group.shfl(rank, 2);
    o[3] = group.shfl_down(rank, 1);
    o[4] = group.shfl_up(rank, 2);
    o[5] = (int)group.ballot(rank % 3 == 1);
    o[6] = cg::reduce(group, rank, cg::plus<int>());
    o[7] = cg::inclusive_scan(group, rank);
    cg::coalesced_group half = cg::binary_partition(group, rank % 3 == 1);
    o[8] = (int)(half.size() * 100 + half.thread_rank());
    cg::coalesced_group five = cg::tiled_partition(group, 5);
    o[9] = (int)(five.size() * 10000 + five.thread_rank() * 100 + five.meta_group_rank());
    group.sync();
}

/* Blocks of a cooperative launch, which pass a number on round by round */
extern "C" __global__ void rounds(unsigned *cells, unsigned count, unsigned *facts)
{
    cg::grid_group grid = cg::this_grid();
    unsigned block = (unsigned)grid.block_rank();
    for (unsigned round = 0; round < count; round++) {
        unsigned from = cells[(block + 1) % grid.num_blocks()];
        grid.sync();
        if (threadIdx.x == 0)
            cells[block] = from + 1;
        grid.sync();
    }
    if (grid.thread_rank() == 0) {
        facts[0] = grid.is_valid();
        facts[1] = (unsigned)grid.size();
    }
}
/* Blocks that run at the same time even without a cooperative launch: one */
extern "C" __global__ void sync_if_valid(unsigned *out)
{
    cg::grid_group grid = cg::this_grid();
    if (grid.is_valid())
        grid.sync();
    atomicAdd(out, 1);
}
