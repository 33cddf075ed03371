/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Many copies: small ones that do not touch one another's data go as one launch of a kernel that gets
 * a table of them. A launch costs as much as two copies by the driver, and what moves through it
 * moves at once.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "op/arg.h"
#include "op/copy.h"
#include "op/copy_kernels.h"
#include "op/launch.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FEWEST = 3,              /* copies that are worth a kernel */
    SMALL = 64 << 10,        /* bytes up to which the copy engine has no advantage */
    SHARE = 16 << 10,        /* bytes that one block moves */
    THREADS = 256
};

/* ---- which may go together ---- */

static bool is_reachable(const acu_device *device, const acu_buffer *buffer)
{
    if (buffer->kind == ACU_MEMORY_PINNED || buffer->kind == ACU_MEMORY_HOST)
        return true;
    return buffer->kind != ACU_MEMORY_PAGEABLE && buffer->device == device;
}

static bool is_small(const acu_device *device, const acu_tensor *dst, const acu_tensor *src)
{
    return dst->dense && src->dense && acu_tensor_bytes(dst) <= SMALL &&
           (acui_on_device(dst) || acui_on_device(src)) && is_reachable(device, dst->buffer) &&
           is_reachable(device, src->buffer);
}

typedef struct span {
    const acu_buffer *buffer;
    uint64_t begin, end;
    bool write;
} span;

static int compare(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->buffer != y->buffer)
        return (uintptr_t)x->buffer < (uintptr_t)y->buffer ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static span span_of(const acu_tensor *tensor, bool write)
{
    acui_extent extent = acui_tensor_extent(tensor);
    return (span){.buffer = tensor->buffer, .begin = extent.begin, .end = extent.end, .write = write};
}

/* No byte that one writes is another's; by sorting all. */
static bool are_apart(span *spans, size_t count)
{
    qsort(spans, count, sizeof *spans, compare);
    const span *reach = NULL, *written = NULL; /* that reach furthest so far */
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

/* How many copies from the first on are small ones on `device`, at most as many as a kernel takes. Whether
 * they may go together. */
static size_t count_small(const acu_device *device, const acu_val *pairs, size_t count, bool *together)
{
    span spans[2 * ACUI_COPY_MOST];
    size_t n = 0;
    while (n < count && n < ACUI_COPY_MOST &&
           is_small(device, pairs[2 * n].tensor, pairs[2 * n + 1].tensor)) {
        spans[2 * n] = span_of(pairs[2 * n].tensor, true);
        spans[2 * n + 1] = span_of(pairs[2 * n + 1].tensor, false);
        n++;
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

static acu_status fill_piece(acui_plan *plan, acui_node *node, size_t place, const acu_val *pair)
{
    size_t at = sizeof(unsigned long long) + place * sizeof(acui_copy_piece);
    acui_copy_piece *piece = (acui_copy_piece *)(void *)(node->u.launch.data + at);
    piece->bytes = acu_tensor_bytes(pair[0].tensor);
    ACUI_TRY(acui_node_touch(plan, node, pair[0].tensor, ACU_WRITE));
    ACUI_TRY(acui_node_touch(plan, node, pair[1].tensor, ACU_READ));
    ACUI_TRY(acui_launch_address(plan, node, at + offsetof(acui_copy_piece, dst),
                                 pair[0].tensor->buffer, pair[0].tensor->offset));
    return acui_launch_address(plan, node, at + offsetof(acui_copy_piece, src),
                               pair[1].tensor->buffer, pair[1].tensor->offset);
}

static acu_status plan_together(acui_plan *plan, const acu_op *op, acu_device *device,
                                const acu_val *pairs, size_t count)
{
    const size *s = choose(count);
    acu_kernel *kernel;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = acu_tensor_bytes(pairs[2 * i].tensor);
        most = bytes > most ? bytes : most;
    }
    ACUI_TRY(acu_kernel_find(device, ACUI_COPY_FAMILY, s->kernel, &kernel));
    acu_config config = {.grid = {(unsigned)((most + SHARE - 1) / SHARE), (unsigned)count, 1},
                         .block = {THREADS, 1, 1}};
    acui_node *node = acui_plan_launch(plan, op, kernel, config, 2 * count, s->bytes);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    ((acui_copy_many_16 *)(void *)node->u.launch.data)->count = count;
    for (size_t i = 0; i < count; i++)
        ACUI_TRY(fill_piece(plan, node, i, &pairs[2 * i]));
    return ACU_OK;
}

/* ---- the op ---- */

static acu_device *device_of(const acu_val *pair)
{
    const acu_tensor *where = acui_on_device(pair[0].tensor) ? pair[0].tensor : pair[1].tensor;
    return where->buffer->device;
}

static acu_status plan_pairs(acui_plan *plan, acu_op *op, const acu_val *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ACUI_TRY(acui_check_copy(&pairs[2 * i], &pairs[2 * i + 1]));
    for (size_t i = 0; i < count;) {
        const acu_val *pair = &pairs[2 * i];
        acu_device *device = device_of(pair);
        bool together;
        size_t n = count_small(device, pair, count - i, &together);
        if (together)
            ACUI_TRY(plan_together(plan, op, device, pair, n));
        else if (n == 0)
            n = 1;
        for (size_t k = 0; k < n && !together; k++)
            ACUI_TRY(acui_plan_copy(plan, op, pair[2 * k].tensor, pair[2 * k + 1].tensor));
        i += n;
    }
    return ACU_OK;
}

static acu_status plan_copy_many(acui_plan *plan, acu_op *op, acu_device *place, acui_values *values)
{
    size_t base = values->count, count = op->u.call.arg_count;
    (void)place;
    for (size_t i = 0; i < count; i++) {
        acu_val *value = acui_values_add(values);
        if (!value)
            return ACU_ERR_NO_MEMORY;
        value->kind = ACU_TENSOR;
        value->form = ACU_BORROWED;
        value->tensor = op->u.call.args[i].u.tensor; /* the op's reference moves on */
        op->u.call.args[i].u.tensor = NULL;
    }
    return plan_pairs(plan, op, values->list + base, count / 2);
}

const acui_op_class acui_class_COPY_MANY = {
    .name = "copies", .plan = plan_copy_many, .destroy = acui_args_destroy};

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
    op->input_count = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        acu_tensor *tensor = i % 2 ? srcs[i / 2] : dsts[i / 2];
        op->u.call.args[i] = acu_arg_tensor(acu_tensor_retain(tensor), i % 2 ? ACU_READ : ACU_WRITE);
    }
    op->u.call.arg_count = 2 * count;
    return op;
}
