/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Activations of functions. Lanes that call together share one frame, which is freed when the last
 * of them has left. Frames come from free lists of the block, by size, because lanes leave in any
 * order.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/lanes.h"

#define FRAME_HEADER ((sizeof(sx_frame) + 63) & ~(size_t)63)
#define FRAME_SMALLEST 9 /* 512 bytes */

/* NULL: out of memory, or the threads' stack is used up. */
sx_frame *sx_frame_enter(sx_warp *w, const sx_code *callee, const sx_insn *call)
{
    sx_frame *parent = w->frame;
    uint32_t used = parent->code->local_bytes > 16 ? parent->code->local_bytes : 16;
    uint64_t local_base = ((uint64_t)parent->local_base + used + 15) & ~UINT64_C(15);
    if (local_base + callee->local_bytes > w->block->local_bytes)
        return NULL;
    size_t need = FRAME_HEADER + callee->frame_bytes;
    uint32_t class = 0;
    while (((size_t)1 << (class + FRAME_SMALLEST)) < need)
        class ++;
    if (class >= SX_FRAME_CLASSES)
        return NULL;
    sx_frame *f = w->block->free_frames[class];
    if (f)
        w->block->free_frames[class] = f->parent;
    else if ((f = aligned_alloc(64, (size_t)1 << (class + FRAME_SMALLEST))))
        memset(f, 0, need); /* lanes that do not take part compute as well */
    if (!f)
        return NULL;
    *f = (sx_frame){
        .parent = parent,
        .code = callee,
        .call = call,
        .regs = (char *)f + FRAME_HEADER,
        .lanes = w->mask,
        .local_base = (uint32_t)local_base,
        .depth = parent->depth + 1,
        .size_class = class,
    };
    return f;
}

void sx_frame_leave(sx_warp *w, sx_frame *frame, uint32_t lanes)
{
    frame->lanes &= ~lanes;
    if (frame->lanes || !frame->parent)
        return;
    sx_block *b = w->block;
    frame->parent = b->free_frames[frame->size_class];
    b->free_frames[frame->size_class] = frame;
}

/* Copies the registers of some lanes from one activation of a function to another. */
static void copy_columns(const sx_code *code, char *to, const char *from, uint32_t lanes)
{
    for (uint32_t n = 0; n < code->slot_count; n++) {
        const uint32_t at = code->slots[n] & ~3u, class = code->slots[n] & 3u;
        if (class == SX_SLOT_PRED) {
            u32 *d = (u32 *)(void *)(to + at);
            const u32 *s = (const u32 *)(const void *)(from + at);
            *d = (*d & ~lanes) | (*s & lanes);
            continue;
        }
        const size_t bytes = (size_t)1 << class;
        for (uint32_t left = lanes; left; left &= left - 1) {
            const size_t l = (size_t)__builtin_ctz(left);
            memcpy(to + at + l * bytes, from + at + l * bytes, bytes);
        }
    }
}

/*
 * What was called from `from`, or from one of its callers that `into` does not share, now counts as
 * called from `into`, or from its caller of the same depth.
 */
static void change_way(sx_frame **frame, sx_frame *into, const sx_frame *from)
{
    sx_frame **link = frame;
    while ((*link)->depth > from->depth)
        link = &(*link)->parent;
    while (from->depth > (*link)->depth) {
        from = from->parent;
        into = into->parent;
    }
    for (; into != from; into = into->parent, from = from->parent, link = &(*link)->parent)
        if (*link == from) {
            *link = into;
            return;
        }
}

/* Whether both came along the same way. Not recursive: calls are as deep as the stack is large. */
static bool mergeable(const sx_frame *a, const sx_frame *b)
{
    for (; a != b; a = a->parent, b = b->parent)
        if (!a->parent || !b->parent || a->code != b->code || a->call != b->call ||
            a->local_base != b->local_base)
            return false;
    return true;
}

/*
 * Lanes that called the same function from the same place at different times now have to do
 * something together: one activation takes over the lanes of the other, which is freed, and so on
 * for their callers. False: they came along different ways.
 */
bool sx_frame_merge(sx_warp *w, sx_frame *into, sx_frame *from)
{
    if (!mergeable(into, from))
        return false;
    for (uint32_t k = 0; k <= w->group_count; k++)
        change_way(k < w->group_count ? &w->groups[k].frame : &w->frame, into, from);
    while (into != from) {
        sx_frame *above = from->parent;
        copy_columns(from->code, into->regs, from->regs, from->lanes);
        into->lanes |= from->lanes;
        sx_frame_leave(w, from, from->lanes);
        into = into->parent;
        from = above;
    }
    return true;
}

void sx_frame_release_pool(sx_block *b)
{
    for (unsigned class = 0; class < SX_FRAME_CLASSES; class ++) {
        for (sx_frame *f = b->free_frames[class]; f;) {
            sx_frame *next = f->parent;
            free(f);
            f = next;
        }
        b->free_frames[class] = NULL;
    }
}

/* A block is abandoned: its frames go back to the lists. */
void sx_frame_abandon(sx_block *b)
{
    for (uint32_t n = 0; n < b->warp_count; n++) {
        sx_warp *w = &b->warps[n];
        for (uint32_t k = 0; k <= w->group_count; k++) {
            sx_frame *f = k < w->group_count ? w->groups[k].frame : w->frame;
            while (f && f->lanes) { /* no lanes: it was freed already, with its parents */
                sx_frame *parent = f->parent;
                sx_frame_leave(w, f, SX_ALL_LANES);
                f = parent;
            }
        }
        w->group_count = 0;
    }
}
