/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One thread block: its storage, which is kept from launch to launch, and its warps, which take
 * turns on the thread that runs the block.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "exec/lanes.h"

/* Grows *room to `need` bytes; the old contents are lost. */
static bool grow(char **memory, size_t *room, size_t need)
{
    if (*room >= need)
        return true;
    size_t bytes = (need + 4095) & ~(size_t)4095;
    char *fresh = aligned_alloc(64, bytes);
    if (!fresh)
        return false;
    memset(fresh, 0, bytes);
    free(*memory);
    *memory = fresh;
    *room = bytes;
    return true;
}

/* Local memory can be large and is mostly untouched: its pages come as threads use them. */
static bool grow_local(sx_block *b, size_t need)
{
    if (b->local_room >= need)
        return true;
    if (b->local)
        munmap(b->local, b->local_room);
    b->local = NULL;
    b->local_room = 0;
    size_t bytes = (need + 4095) & ~(size_t)4095;
    void *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED)
        return false;
    b->local = fresh;
    b->local_room = bytes;
    return true;
}

/* tid.x, .y and .z of every warp; they depend on the block's shape only. */
static void fill_tids(sx_block *b, const unsigned shape[3])
{
    if (memcmp(b->tid_block, shape, sizeof b->tid_block) == 0)
        return;
    unsigned x = 0, y = 0, z = 0;
    for (uint32_t n = 0; n < b->warp_count; n++) {
        u32 *tid = (u32 *)(void *)(b->tids + n * 3 * SX_LANES * sizeof(u32));
        for (unsigned l = 0; l < SX_LANES; l++) {
            tid[l] = x;
            tid[SX_LANES + l] = y;
            tid[2 * SX_LANES + l] = z;
            if (++x == shape[0]) {
                x = 0;
                if (++y == shape[1]) {
                    y = 0;
                    z++;
                }
            }
        }
    }
    memcpy(b->tid_block, shape, sizeof b->tid_block);
}

/* Makes the block large enough for a launch. False: out of memory. */
bool sx_block_fit(sx_block *b, sx_work *work)
{
    char *warps = (char *)b->warps;
    const size_t tid_bytes = (size_t)work->warps * 3 * SX_LANES * sizeof(u32);
    if (!grow(&warps, &b->warps_room, work->warps * sizeof(sx_warp)))
        return false;
    b->warps = (sx_warp *)(void *)warps;
    if (b->tids_room < tid_bytes)
        memset(b->tid_block, 0, sizeof b->tid_block);
    if (!grow(&b->tids, &b->tids_room, tid_bytes) ||
        !grow(&b->regs, &b->regs_room, (size_t)work->warps * work->code->frame_bytes + 64) ||
        !grow(&b->shared, &b->shared_room, (size_t)work->shared_bytes + 128 + SX_RESERVED_BYTES) ||
        !grow_local(b, (size_t)work->warps * SX_LANES * work->local_bytes))
        return false;
    b->work = work;
    b->launch = work->launch;
    b->shared_bytes = work->shared_bytes;
    b->reserved = b->shared + ((size_t)work->shared_bytes + 127) / 64 * 64;
    if (!sx_races_fit(b, work->launch->races))
        return false;
    b->local_bytes = work->local_bytes;
    b->warp_count = work->warps;
    fill_tids(b, work->launch->block);
    return true;
}

static const sx_region nowhere; /* stands in where a space has no region */

static void start_warp(sx_block *b, uint32_t n)
{
    sx_warp *w = &b->warps[n];
    const sx_work *work = b->work;
    const uint32_t left = work->threads - n * SX_LANES;
    const uint32_t lanes = left >= SX_LANES ? SX_ALL_LANES : (UINT32_C(1) << left) - 1;
    w->base[SX_BASE_REGS] = b->regs + (size_t)n * work->code->frame_bytes;
    w->base[SX_BASE_CONST] = work->module->constants;
    w->base[SX_BASE_TID] = b->tids + n * 3 * SX_LANES * sizeof(u32);
    w->live = lanes;
    sx_set_mask(w, lanes);
    w->forced = false;
    w->event = SX_EVENT_NONE;
    w->fuel = SX_FUEL;
    w->wait_pc = SX_NO_WAIT;
    w->region = b->launch->space.count ? b->launch->space.regions : &nowhere;
    w->block = b;
    w->local = b->local + (size_t)n * SX_LANES * b->local_bytes;
    w->turn = w->last_turn = 0;
    w->wake = 0;
    w->index = n;
    w->group_count = 0;
    w->root = (sx_frame){
        .code = work->code,
        .regs = w->base[SX_BASE_REGS],
        .lanes = lanes,
    };
    w->frame = &w->root;
    sx_group_park(w, work->code->insns, lanes, SX_RUNNABLE, 0);
}

void sx_block_start(sx_block *b, uint64_t number)
{
    const unsigned *grid = b->launch->grid;
    b->linear = number;
    b->ctaid[0] = (uint32_t)(number % grid[0]);
    b->ctaid[1] = (uint32_t)(number / grid[0] % grid[1]);
    b->ctaid[2] = (uint32_t)(number / grid[0] / grid[1]);
    b->live_warps = b->warp_count;
    b->live_threads = b->work->threads;
    if (b->barriers_used)
        memset(b->barriers, 0, sizeof b->barriers);
    b->barriers_used = 0;
    memset(b->shared, SX_UNWRITTEN, b->shared_bytes);
    memset(b->reserved, SX_UNWRITTEN, SX_RESERVED_BYTES);
    sx_races_next_epoch(b);
    for (uint32_t n = 0; n < b->warp_count; n++)
        start_warp(b, n);
}

uint64_t sx_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool sleeps(sx_warp *w)
{
    if (w->wake && sx_now() < w->wake)
        return true;
    w->wake = 0;
    return false;
}

static unsigned run_warp(sx_warp *w)
{
    w->event = SX_EVENT_NONE;
    const sx_insn *i = sx_group_next(w);
    while (i)
        i = i->fn(i, w);
    return w->event;
}

/*
 * Runs the warps in turn until all are done (DONE), something failed (ERROR), or all that could run
 * have spun for a while (YIELD): then another block may have what they wait for.
 */
unsigned sx_block_run(sx_block *b)
{
    for (unsigned round = 0;; round++) {
        bool ran = false, progress = false;
        for (uint32_t n = 0; n < b->warp_count; n++) {
            sx_warp *w = &b->warps[n];
            if (w->event == SX_EVENT_DONE || w->event == SX_EVENT_BLOCKED)
                continue;
            ran = true;
            if (sleeps(w))
                continue;
            switch (run_warp(w)) {
            case SX_EVENT_ERROR:
                return SX_EVENT_ERROR;
            case SX_EVENT_DONE:
                if (--b->live_warps == 0)
                    return SX_EVENT_DONE;
                progress = true;
                break;
            case SX_EVENT_BLOCKED:
                progress = true;
                break;
            default:
                break;
            }
        }
        if (!ran) {
            sx_fault_block(b, 719,
                           "deadlock: every thread waits at a barrier that the others "
                           "do not come to");
            return SX_EVENT_ERROR;
        }
        if (!progress && round >= 3)
            return SX_EVENT_YIELD;
    }
}

void sx_block_free(sx_block *b)
{
    sx_frame_release_pool(b);
    if (b->local)
        munmap(b->local, b->local_room);
    free(b->warps);
    free(b->tids);
    free(b->regs);
    free(b->shared);
    free(b->marks_store);
    free(b);
}
