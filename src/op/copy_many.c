/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Many copies: small ones that do not touch one another's data become one launch of a kernel that
 * gets a table of them. The launch costs as much as two copies by the driver, and its pieces are
 * copied at the same time.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "op/arg.h"
#include "op/copy.h"
#include "op/copy_kernels.h"
#include "op/launch.h"

#include <stdio.h>

enum {
    FEWEST = 3,              /* copies that are worth a kernel */
    SMALL = 64 << 10,        /* bytes up to which the copy engine has no advantage */
    SHARE = 16 << 10,        /* bytes that one block copies */
    THREADS = 256
};

/* ---- which may go together ---- */

static bool is_reachable(const acu_device *device, const acu_buffer *buffer)
{
    return buffer->host || buffer->device == device; /* copies of pageable memory are STAGE nodes,
                                                      * not these */
}

/* The node has the frame of what would be planned now, and is not entered yet: nothing refers to
 * its place in the plan. */
static bool is_plain(const acui_plan *plan, const acui_node *node)
{
    return !node->entered && node->frame->after == plan->now.after &&
           node->frame->child == plan->now.child;
}

static bool is_small(const acui_plan *plan, const acui_node *node, const acu_device *device)
{
    return node->kind == ACUI_NODE_COPY && node->device == device && !node->u.copy.box &&
           node->u.copy.bytes <= SMALL && node->frame->context == plan->now.context &&
           is_reachable(device, node->u.copy.dst) && is_reachable(device, node->u.copy.src);
}

typedef struct span {
    acu_buffer *buffer;
    uint64_t begin, end;
    bool write;
} span;

static bool comes_first(const span *a, const span *b)
{
    return a->buffer != b->buffer ? (uintptr_t)a->buffer < (uintptr_t)b->buffer
                                  : a->begin < b->begin;
}

/* Shell sort: in place, because the C library's qsort may allocate, and quick where the spans are
 * partly in order already. */
static void sort(span *spans, size_t count)
{
    static const size_t gaps[] = {132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t i = gaps[g]; i < count; i++) {
            span moving = spans[i];
            size_t k = i;
            for (; k >= gaps[g] && comes_first(&moving, &spans[k - gaps[g]]); k -= gaps[g])
                spans[k] = spans[k - gaps[g]];
            spans[k] = moving;
        }
}

/* Whether no byte that one copy writes is touched by another; sorts the spans. */
static bool are_apart(span *spans, size_t count)
{
    sort(spans, count);
    const span *reach = NULL, *written = NULL; /* the spans that reach furthest so far */
    for (size_t i = 0; i < count; i++) {
        const span *s = &spans[i];
        if (!reach || reach->buffer != s->buffer)
            reach = written = NULL;
        if ((s->write && reach && reach->end > s->begin) || (written && written->end > s->begin))
            return false;
        if (!reach || s->end > reach->end)
            reach = s;
        if (s->write && (!written || s->end > written->end))
            written = s;
    }
    return true;
}

/* Counts the small copies from `node` on, at most as many as a kernel takes. `*together` says
 * whether they may become one launch; then `spans` is what they touch, sorted. */
static size_t count_small(const acui_plan *plan, const acui_node *node, span *spans, bool *together)
{
    const acu_device *device = node->device;
    size_t n = 0;
    for (; node && n < ACUI_COPY_MOST && is_small(plan, node, device); node = node->next, n++) {
        uint64_t dst = node->u.copy.dst_offset, src = node->u.copy.src_offset;
        uint64_t bytes = node->u.copy.bytes;
        spans[2 * n] = (span){node->u.copy.dst, dst, dst + bytes, true};
        spans[2 * n + 1] = (span){node->u.copy.src, src, src + bytes, false};
    }
    *together = n >= FEWEST && are_apart(spans, 2 * n);
    return n;
}

/* ---- one launch ---- */

typedef struct size {
    size_t pieces;
    uint32_t bytes;
    const char *kernel;
} size;

static const size sizes[] = {
#define ACUI_X(n) {n, sizeof(acui_copy_many_##n), "copy_many_" #n},
    ACUI_COPY_MANY(ACUI_X)
#undef ACUI_X
};

static const size *choose(size_t count)
{
    const size *s = sizes;
    while (s->pieces < count)
        s++;
    return s;
}

static acu_status fill_piece(acui_plan *plan, acui_node *many, size_t index, const acui_node *copy)
{
    size_t at = sizeof(unsigned long long) + index * sizeof(acui_copy_piece);
    acui_copy_piece *piece = (acui_copy_piece *)(void *)(acui_launch_data(many) + at);
    piece->bytes = copy->u.copy.bytes;
    ACUI_TRY(acui_launch_address(plan, many, at + offsetof(acui_copy_piece, dst),
                                 copy->u.copy.dst, copy->u.copy.dst_offset));
    return acui_launch_address(plan, many, at + offsetof(acui_copy_piece, src), copy->u.copy.src,
                               copy->u.copy.src_offset);
}

/* How many spans, from the first one on, have one width and one distance, as slices of one tensor
 * mostly do; they become one extent. */
static size_t gather(const span *spans, size_t count, acui_extent *extent)
{
    size_t n = 1;
    uint64_t width = spans->end - spans->begin;
    uint64_t pitch = count > 1 ? spans[1].begin - spans->begin : 0;
    *extent = acui_extent_range(spans->begin, spans->end);
    if (pitch < width || pitch > UINT32_MAX)
        return 1;
    while (n < count && spans[n].buffer == spans->buffer && spans[n].write == spans->write &&
           spans[n].begin == spans->begin + n * pitch && spans[n].end == spans[n].begin + width)
        n++;
    extent->end = spans[n - 1].end;
    if (n > 1 && pitch > width) {
        extent->pitch = (uint32_t)pitch;
        extent->width = (uint32_t)width;
    }
    return n;
}

static acu_status add_all(acui_plan *plan, acui_node *many, const span *spans, size_t count)
{
    for (size_t i = 0; i < count;) {
        acui_extent extent;
        size_t n = gather(spans + i, count - i, &extent);
        ACUI_TRY(acui_node_add_bytes(plan, many, spans[i].buffer, extent,
                                     spans[i].write ? ACU_WRITE : ACU_READ));
        i += n;
    }
    return ACU_OK;
}

static acu_status plan_together(acui_plan *plan, const acu_op *op, const acui_node *copies,
                                size_t count, const span *spans)
{
    const size *s = choose(count);
    acu_kernel *kernel;
    uint64_t most = 0;
    const acui_node *copy = copies;
    for (size_t i = 0; i < count; i++, copy = copy->next)
        most = copy->u.copy.bytes > most ? copy->u.copy.bytes : most;
    ACUI_TRY(acu_kernel_find(copies->device, ACUI_COPY_FAMILY, s->kernel, &kernel));
    acu_config config = {.grid = {(unsigned)((most + SHARE - 1) / SHARE), (unsigned)count, 1},
                         .block = {THREADS, 1, 1}};
    acui_node *many = acui_plan_launch(plan, op, kernel, config, 2 * count, s->bytes);
    if (!many)
        return ACU_ERR_NO_MEMORY;
    many->name = copies->name; /* messages name the first copy */
    many->site = copies->site;
    ((acui_copy_many_16 *)(void *)acui_launch_data(many))->count = count;
    copy = copies;
    for (size_t i = 0; i < count; i++, copy = copy->next)
        ACUI_TRY(fill_piece(plan, many, i, copy));
    return add_all(plan, many, spans, 2 * count);
}

acu_status acui_plan_join_copies(acui_plan *plan, const acu_op *op, acui_node *last)
{
    span spans[2 * ACUI_COPY_MOST];
    acui_node *node = last ? last->next : plan->first, *next;
    for (const acui_node *n = node; n; n = n->next)
        if (!is_plain(plan, n))
            return ACU_OK;
    acui_plan_cut(plan, last);
    acu_status status = ACU_OK;
    while (node) { /* also after a failure: the plan is to release what all of them hold */
        bool together = false;
        size_t n = status == ACU_OK ? count_small(plan, node, spans, &together) : 0;
        if (together)
            status = plan_together(plan, op, node, n, spans);
        for (n = n ? n : 1; n > 0; n--, node = next) {
            next = node->next;
            if (!together)
                acui_plan_put(plan, node);
        }
    }
    return status;
}

/* ---- the op ---- */

static acu_status plan_copy_many(acui_plan *plan, acu_op *op, acu_device *fallback,
                                 acui_values *values)
{
    size_t base = values->count, count = op->u.call.arg_count;
    acui_node *last = plan->last;
    (void)fallback;
    for (size_t i = 0; i < count; i++) {
        acu_val *value = acui_values_add(values);
        if (!value)
            return ACU_ERR_NO_MEMORY;
        value->kind = ACU_TENSOR;
        value->form = ACU_BORROWED;
        value->tensor = op->u.call.args[i].u.tensor; /* the op's reference moves to the value */
        op->u.call.args[i].u.tensor = NULL;
    }
    for (size_t i = 0; i < count; i += 2) {
        const acu_val *pair = &values->list[base + i];
        ACUI_TRY(acui_check_copy(&pair[0], &pair[1]));
        ACUI_TRY(acui_plan_copy(plan, op, pair[0].tensor, pair[1].tensor));
    }
    return acui_plan_join_copies(plan, op, last);
}

const acui_op_class acui_class_COPY_MANY = {
    .name = "copies", .plan = plan_copy_many, .destroy = acui_args_release};

static acu_status check_tensors(acu_tensor *const *tensors, size_t count, const char *what)
{
    char name[64];
    if (!tensors && count)
        return acui_fail(ACU_ERR_INVALID, "acu_copy_many: the %ss are NULL", what);
    for (size_t i = 0; i < count; i++)
        if (!acui_object_is(tensors[i], ACU_OBJECT_TENSOR)) {
            snprintf(name, sizeof name, "acu_copy_many, %s %zu", what, i);
            return acui_object_check(tensors[i], ACU_OBJECT_TENSOR, name);
        }
    return ACU_OK;
}

acu_op *acu_op_copy_many(acu_tensor *const *dsts, acu_tensor *const *srcs, size_t count,
                         acu_site site)
{
    if (check_tensors(dsts, count, "destination") != ACU_OK ||
        check_tensors(srcs, count, "source") != ACU_OK)
        return acui_op_failed(&acui_class_COPY_MANY, site);
    acu_op *op = acui_op_new_call(&acui_class_COPY_MANY, 2 * count, site);
    if (acui_op_is_oom(op))
        return op;
    for (size_t i = 0; i < 2 * count; i++) {
        acu_tensor *tensor = i % 2 ? srcs[i / 2] : dsts[i / 2];
        op->u.call.args[i] = acu_arg_tensor(acu_tensor_retain(tensor),
                                            i % 2 ? ACU_READ : ACU_WRITE);
    }
    op->u.call.arg_count = 2 * count;
    return op;
}
