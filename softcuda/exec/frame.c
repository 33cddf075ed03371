/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Activations of functions. Lanes that call together share one frame; it goes when the last of
 * them has left. Frames come from free lists of the block, by size, as lanes leave in any order.
 */
#include <stdlib.h>

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
    else
        f = aligned_alloc(64, (size_t)1 << (class + FRAME_SMALLEST));
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

/* A block is given up in the middle: its frames go back to the lists. */
void sx_frame_abandon(sx_block *b)
{
    for (uint32_t n = 0; n < b->warp_count; n++) {
        sx_warp *w = &b->warps[n];
        for (uint32_t k = 0; k <= w->group_count; k++) {
            sx_frame *f = k < w->group_count ? w->groups[k].frame : w->frame;
            while (f && f->lanes) { /* no lanes: it has gone already, with its parents */
                sx_frame *parent = f->parent;
                sx_frame_leave(w, f, SX_ALL_LANES);
                f = parent;
            }
        }
        w->group_count = 0;
    }
}
