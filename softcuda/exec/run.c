/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A launch, from its arguments to its outcome, and one thread's part in it.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "exec/machine.h"

#define INVALID_VALUE 1
#define OUT_OF_MEMORY 2
#define RESIDENT_LIMIT 512 /* blocks in progress on one thread, where blocks wait for each other */

/* The blocks that one thread has begun: usually one. */
typedef struct resident {
    sx_block *first;
    unsigned count;
} resident;

static bool claim(sx_work *work, uint64_t *number)
{
    /* relaxed: only the number matters */
    if (atomic_load_explicit(&work->claimed, memory_order_relaxed) >= work->blocks)
        return false;
    *number = atomic_fetch_add_explicit(&work->claimed, 1, memory_order_relaxed);
    return *number < work->blocks;
}

static bool has_failed(const sx_work *work)
{
    return atomic_load_explicit(&work->failed, memory_order_relaxed);
}

static void out_of_memory(sx_work *work)
{
    if (atomic_exchange_explicit(&work->reported, true, memory_order_acq_rel))
        return;
    work->error->code = OUT_OF_MEMORY;
    work->error->line = 0;
    snprintf(work->error->text, sizeof work->error->text,
             "kernel %s: no memory for the registers, shared and local memory of a block",
             work->code->ptx->name);
    atomic_store_explicit(&work->failed, true, memory_order_release);
}

static sx_block *begin_block(sx_work *work, sx_block *spare, uint64_t number)
{
    sx_block *b = spare ? spare : sx_block_take();
    if (!b || (!spare && !sx_block_fit(b, work))) {
        if (b)
            sx_block_free(b);
        out_of_memory(work);
        return NULL;
    }
    sx_block_start(b, number);
    return b;
}

static void give_up(resident *r)
{
    for (sx_block *b = r->first; b;) {
        sx_block *next = b->next;
        sx_frame_abandon(b);
        sx_block_give(b);
        b = next;
    }
    r->first = NULL;
    r->count = 0;
}

/* Gives every block in progress one turn; a block that is done becomes the spare one, or goes
 * back. */
static bool run_residents(resident *r, sx_block **spare)
{
    for (sx_block **at = &r->first; *at;) {
        sx_block *b = *at;
        switch (sx_block_run(b)) {
        case SX_EVENT_ERROR:
            return false;
        case SX_EVENT_DONE:
            *at = b->next;
            r->count--;
            if (*spare)
                sx_block_give(b);
            else
                *spare = b;
            break;
        default:
            at = &b->next;
            break;
        }
    }
    return true;
}

/*
 * Runs blocks of the launch on this thread until none is left to claim (or `slice` are done).
 * Blocks that wait for others stay in progress while further ones are begun, up to RESIDENT_LIMIT
 * for each thread, so that a grid whose blocks wait for all others comes to its end.
 */
void sx_work_take_part(sx_work *work, unsigned slice)
{
    resident r = {0};
    sx_block *spare = NULL;
    uint64_t number;
    unsigned begun = 0;
    bool more = true;
    while (!has_failed(work)) {
        more = more && (!slice || begun < slice || r.count);
        if (more && r.count < RESIDENT_LIMIT) {
            more = claim(work, &number);
            if (more) {
                sx_block *b = begin_block(work, spare, number);
                spare = NULL;
                if (!b)
                    break;
                b->next = r.first;
                r.first = b;
                r.count++;
                begun++;
            }
        } else if (r.count) {
            sched_yield(); /* what they wait for runs on another thread */
        }
        if (!r.count || !run_residents(&r, &spare))
            break;
    }
    give_up(&r);
    if (spare)
        sx_block_give(spare);
}

static unsigned refuse(sx_error *error, const sx_launch *launch, unsigned code, const char *why)
{
    error->code = code;
    error->line = 0;
    snprintf(error->text, sizeof error->text, "launch of %s refused: %s",
             launch->kernel ? sx_kernel_name(launch->kernel) : "no kernel", why);
    return code;
}

static const char *find_fault(const sx_launch *launch)
{
    if (!launch->kernel)
        return "no kernel was given";
    for (unsigned d = 0; d < 3; d++) {
        if (!launch->grid[d])
            return "a dimension of the grid is 0";
        if (!launch->block[d] || launch->block[d] > SX_MAX_WARPS * SX_LANES)
            return "a dimension of the block is 0 or more than 1024";
    }
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (threads > SX_MAX_WARPS * SX_LANES)
        return "a block has more than 1024 threads";
    if (!launch->params && launch->kernel->info.param_bytes)
        return "the kernel's parameters are missing";
    if (launch->dynamic_shared > (64u << 20))
        return "more than 64 MiB of dynamic shared memory";
    return NULL;
}

unsigned sx_run(const sx_launch *launch, sx_error *error)
{
    static _Atomic uint64_t grids;
    const char *fault = find_fault(launch);
    if (fault)
        return refuse(error, launch, INVALID_VALUE, fault);
    const sx_kernel *kernel = launch->kernel;
    const ptx_function *ptx = kernel->code->ptx;
    sx_work work = {
        .launch = launch,
        .code = kernel->code,
        .module = kernel->module,
        .blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
        .threads = launch->block[0] * launch->block[1] * launch->block[2],
        .local_bytes = kernel->local_bytes,
        .grid_id = atomic_fetch_add_explicit(&grids, 1, memory_order_relaxed) + 1,
        .error = error,
    };
    work.warps = (work.threads + SX_LANES - 1) / SX_LANES;
    work.shared_bytes =
        (uint32_t)(launch->dynamic_shared ? ptx->dynamic_shared_offset + launch->dynamic_shared
                                          : ptx->shared_bytes);
    if (work.blocks == 1) {
        sx_work_take_part(&work, 0);
    } else {
        sx_work_publish(&work);
        sx_work_take_part(&work, 0);
        sx_work_join(&work);
    }
    return atomic_load_explicit(&work.failed, memory_order_acquire) ? error->code : 0;
}
