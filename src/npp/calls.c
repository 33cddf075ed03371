/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of NPP: the function for an image's type and channels, its context, its arguments. */
#include "npp/calls.h"

#include "base/error.h"
#include "engine/issue/graphs.h"

#include <stdio.h>
#include <string.h>

static const char *const types[] = {"8u", "16u", "32f"};
static const int channels[] = {1, 3, 4};

static acu_status said(const acui_library *library, const char *call, const acui_npp *n, int status)
{
    char name[64];
    snprintf(name, sizeof name, "nppi%s_%s_C%dR_Ctx", call, types[n->type], channels[n->layout]);
    return acui_npp_said(library, name, status);
}

/* Flags of a stream that is being captured can not be asked for; those of acuda's own are known. */
static acu_status context_of(const acui_vendor_work *work, acui_npp_context *context)
{
    *context = *(const acui_npp_context *)work->handle;
    context->stream = work->stream;
    context->stream_flags = ACU_CU_STREAM_NON_BLOCKING;
    if (acui_capturing(work->stream))
        return ACU_OK;
    return ACUI_DEV(work->device, StreamGetFlags, work->stream, &context->stream_flags);
}

acu_status acui_npp_resize(acui_vendor_work *work)
{
    const acui_npp *n = work->data;
    const acui_npp_image *from = &n->from, *to = &n->to;
    acui_npp_context context;
    ACUI_TRY(context_of(work, &context));
    int status = acui_npp_resizes[n->type][n->layout](
        acui_vendor_at(work, 1), from->step, from->size, from->part, acui_vendor_at(work, 0),
        to->step, to->size, to->part, n->filter, context);
    return said(&acui_library_NPPIG, "Resize", n, status);
}

acu_status acui_npp_resize_batch(acui_vendor_work *work)
{
    const acui_npp *n = work->data;
    struct { /* NPP's NppiResizeBatchCXR */
        const void *from;
        int from_step;
        void *to;
        int to_step;
    } list[ACUI_NPP_BATCH];
    acui_npp_context context;
    void *memory;
    ACUI_TRY(context_of(work, &context));
    memset(list, 0, sizeof list);
    for (uint32_t i = 0; i < n->count; i++) {
        list[i].to = acui_vendor_at(work, i);
        list[i].to_step = n->steps[i];
        list[i].from = acui_vendor_at(work, n->count + i);
        list[i].from_step = n->steps[n->count + i];
    }
    ACUI_TRY(acui_vendor_upload(work, list, n->count * sizeof *list, &memory));
    int status = acui_npp_batches[n->type][n->layout](n->from.size, n->from.part, n->to.size,
                                                      n->to.part, n->filter, memory, n->count,
                                                      context);
    return said(&acui_library_NPPIG, "ResizeBatch", n, status);
}

acu_status acui_npp_remap(acui_vendor_work *work)
{
    const acui_npp *n = work->data;
    const acui_npp_image *from = &n->from, *to = &n->to;
    acui_npp_context context;
    ACUI_TRY(context_of(work, &context));
    int status = acui_npp_remaps[n->type][n->layout](
        acui_vendor_at(work, 1), from->size, from->step, from->part, acui_vendor_at(work, 2),
        n->map_steps[0], acui_vendor_at(work, 3), n->map_steps[1], acui_vendor_at(work, 0),
        to->step, to->size, n->filter, context);
    return said(&acui_library_NPPIG, "Remap", n, status);
}

/* The colour in the type of the image. */
typedef union color {
    uint8_t u8[4];
    uint16_t u16[4];
    float f32[4];
} color;

static color color_of(const acui_npp *n)
{
    color c = {{0}};
    for (int i = 0; i < 4; i++) {
        if (n->type == ACUI_NPP_8U)
            c.u8[i] = (uint8_t)n->color[i];
        else if (n->type == ACUI_NPP_16U)
            c.u16[i] = (uint16_t)n->color[i];
        else
            c.f32[i] = (float)n->color[i];
    }
    return c;
}

acu_status acui_npp_border(acui_vendor_work *work)
{
    const acui_npp *n = work->data;
    const void *from = acui_vendor_at(work, 1);
    void *to = acui_vendor_at(work, 0);
    int step = n->from.step, to_step = n->to.step, status;
    acui_npp_size size = n->from.size, to_size = n->to.size;
    const color c = color_of(n);
    acui_npp_context context;
    ACUI_TRY(context_of(work, &context));
    if (n->layout > 0)
        status = acui_npp_borders.more[n->type][n->layout - 1](
            from, step, size, to, to_step, to_size, n->top, n->left, &c, context);
    else if (n->type == ACUI_NPP_8U)
        status = acui_npp_borders.one_8u(from, step, size, to, to_step, to_size, n->top, n->left,
                                         c.u8[0], context);
    else if (n->type == ACUI_NPP_16U)
        status = acui_npp_borders.one_16u(from, step, size, to, to_step, to_size, n->top, n->left,
                                          c.u16[0], context);
    else
        status = acui_npp_borders.one_32f(from, step, size, to, to_step, to_size, n->top, n->left,
                                          c.f32[0], context);
    return said(&acui_library_NPPIDEI, "CopyConstBorder", n, status);
}
