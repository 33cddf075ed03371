/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What went wrong in a launch, in words. The first fault is kept; all other blocks then give up.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/access.h"

#define ILLEGAL_ADDRESS 700
#define LAUNCH_FAILED 719
#define MISALIGNED_ADDRESS 716

/* Whether this is the first fault of the launch; only that may write the error. */
static bool claim(sx_work *work)
{
    return !atomic_exchange_explicit(&work->reported, true, memory_order_acq_rel);
}

/* The error is complete. Release: sx_run sees it, with the pool's lock or without. */
static void publish(sx_work *work)
{
    atomic_store_explicit(&work->failed, true, memory_order_release);
}

static size_t append(sx_error *e, size_t at, const char *format, va_list list)
{
    if (at >= sizeof e->text - 1)
        return at;
    int n = vsnprintf(e->text + at, sizeof e->text - at, format, list);
    size_t room = sizeof e->text - 1 - at;
    return at + (n < 0 ? 0 : (size_t)n > room ? room : (size_t)n);
}

static size_t __attribute__((format(printf, 3, 4)))
add(sx_error *e, size_t at, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    at = append(e, at, format, list);
    va_end(list);
    return at;
}

/* ", saxpy.cu:7", if the PTX has line numbers of its source. Without the folders: there is little
 * room. */
static size_t add_source(sx_error *e, size_t at, const sx_warp *w, const ptx_inst *inst)
{
    const ptx_module *module = w->block->work->module->ptx;
    const ptx_loc *loc = inst->loc < module->loc_count ? &module->locs[inst->loc] : NULL;
    if (!loc || !loc->file || loc->line == 0)
        return at;
    const char *slash = strrchr(loc->file, '/');
    return add(e, at, ", %s:%u", slash ? slash + 1 : loc->file, loc->line);
}

/* "kernel saxpy, in function foo, saxpy.cu:7, PTX line 42 (ld.global.f32): " */
static size_t begin(sx_error *e, const sx_warp *w, const sx_insn *i)
{
    const ptx_function *f = w->frame->code->ptx;
    const ptx_inst *inst = &f->insts[i->source];
    const ptx_function *kernel = w->block->work->code->ptx;
    size_t at = add(e, 0, "kernel %s", kernel->name);
    if (f != kernel)
        at = add(e, at, ", in function %s", f->name);
    at = add_source(e, at, w, inst);
    at = add(e, at, ", PTX line %u (%s): ", inst->line, inst->name);
    e->line = inst->line;
    return at;
}

/* ", block (1,0,0), thread (5,0,0)" */
static void end(sx_error *e, size_t at, const sx_warp *w, unsigned lane)
{
    const sx_block *b = w->block;
    const u32 *tid = (const u32 *)(void *)w->base[SX_BASE_TID];
    add(e, at, ", block (%u,%u,%u), thread (%u,%u,%u)", b->ctaid[0], b->ctaid[1], b->ctaid[2],
        tid[lane], tid[SX_LANES + lane], tid[2 * SX_LANES + lane]);
}

const sx_insn *sx_fault(sx_warp *w, const sx_insn *i, unsigned lane, unsigned code,
                        const char *format, ...)
{
    sx_work *work = w->block->work;
    w->event = SX_EVENT_ERROR;
    if (!claim(work))
        return NULL;
    sx_error *e = work->error;
    e->code = code;
    size_t at = begin(e, w, i);
    va_list list;
    va_start(list, format);
    at = append(e, at, format, list);
    va_end(list);
    end(e, at, w, lane);
    publish(work);
    return NULL;
}

void sx_fault_block(sx_block *b, unsigned code, const char *format, ...)
{
    sx_work *work = b->work;
    if (!claim(work))
        return;
    sx_error *e = work->error;
    e->code = code;
    e->line = 0;
    size_t at = add(e, 0, "kernel %s, block (%u,%u,%u): ", work->code->ptx->name, b->ctaid[0],
                    b->ctaid[1], b->ctaid[2]);
    va_list list;
    va_start(list, format);
    append(e, at, format, list);
    va_end(list);
    publish(work);
}

/* How a bad address relates to what is there: the middle of the sentence, or nothing. */
static void explain(sx_warp *w, const sx_insn *i, uint64_t address, char *text, size_t size)
{
    const sx_block *b = w->block;
    const unsigned space = w->frame->code->ptx->insts[i->source].space;
    const uint64_t window = address & ~(SX_WINDOW_BYTES - 1);
    text[0] = '\0';
    if (space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CTA || window == SX_SHARED_WINDOW) {
        snprintf(text, size, " (the block has %u bytes of shared memory)", b->shared_bytes);
        return;
    }
    if (space == PTX_SPACE_LOCAL || window == SX_LOCAL_WINDOW) {
        snprintf(text, size, " (the thread has %u bytes of local memory)", b->local_bytes);
        return;
    }
    if (address < 4096) {
        snprintf(text, size, " (a null pointer)");
        return;
    }
    const sx_space *s = &b->launch->space;
    for (size_t n = 0; n < s->count; n++) {
        const sx_region *r = &s->regions[n];
        uint64_t offset = address - r->base;
        if (offset >= r->bytes || !r->valid)
            continue;
        uint64_t g = offset >> SX_GRANULE_SHIFT, back = 0;
        while (g > 0 && back < 4096 && !r->valid[g]) {
            g--;
            back++;
        }
        uint64_t end_at = (g << SX_GRANULE_SHIFT) + r->valid[g];
        if (r->valid[g] && end_at == offset)
            snprintf(text, size, " (just past the end of an allocation)");
        else if (r->valid[g] && end_at < offset)
            snprintf(text, size, " (%llu bytes past the end of an allocation)",
                     (unsigned long long)(offset - end_at));
        else if (r->valid[g])
            snprintf(text, size, " (across the end of an allocation)");
        else
            snprintf(text, size, " (device memory that is not allocated)");
        return;
    }
    snprintf(text, size, " (memory of no device)");
}

const sx_insn *sx_fault_access(sx_warp *w, const sx_insn *i, unsigned lane, uint64_t address,
                               unsigned bytes, unsigned kind)
{
    static const char *const words[] = {"read", "write", "atomic access"};
    if (bytes && address & (bytes - 1) && !(bytes & (bytes - 1)))
        return sx_fault(w, i, lane, MISALIGNED_ADDRESS,
                        "misaligned address: %s of %u bytes at 0x%llx", words[kind], bytes,
                        (unsigned long long)address);
    if (kind != SX_WRITE && address - SX_LOCAL_WINDOW >= SX_WINDOWS * SX_WINDOW_BYTES &&
        sx_valid_at(w, address, bytes))
        return sx_fault(w, i, lane, LAUNCH_FAILED,
                        "%s of %u bytes at 0x%llx: nothing has written there since the memory was "
                        "allocated",
                        words[kind], bytes, (unsigned long long)address);
    char why[96];
    explain(w, i, address, why, sizeof why);
    return sx_fault(w, i, lane, ILLEGAL_ADDRESS, "illegal address: %s of %u bytes at 0x%llx%s",
                    words[kind], bytes, (unsigned long long)address, why);
}
