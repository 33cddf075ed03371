/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ops that are made of others: `custom`, whose function gets the planned operands and returns the
 * op to plan in its place; `fail`; and `into`, which says where the result of a custom op goes.
 */
#include "base/callback.h"
#include "base/error.h"
#include "op/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DATA_MAX 4096

/* ---- custom ---- */

/* For an error; the first ones are written out, as printing takes as long as planning. */
static const char *words_of(size_t i, char room[32])
{
    static const char *const first[] = {"operand 0", "operand 1", "operand 2", "operand 3"};
    if (i < sizeof first / sizeof *first)
        return first[i];
    snprintf(room, 32, "operand %zu", i);
    return room;
}

/* Pushes one value for each operand onto the plan's stack. */
static acu_status plan_operands(acui_plan *plan, acu_op *op, acu_device *fallback)
{
    for (size_t i = 0; i < op->input_count; i++) {
        char room[32];
        acu_val value;
        ACUI_TRY(acui_plan_one(plan, acui_op_take_input(op, i), fallback, words_of(i, room),
                               &value));
        ACUI_TRY(acui_values_push(&plan->scratch, value));
    }
    return ACU_OK;
}

/* The device of `out`, else of the first value in device memory, else the one that the plan
 * says. */
static acu_device *device_of(const acu_val *values, size_t count, const acu_val *out,
                             acu_device *fallback)
{
    if (out->tensor)
        return out->tensor->buffer->device;
    for (size_t i = 0; i < count; i++)
        if (values[i].tensor && !values[i].tensor->buffer->host)
            return values[i].tensor->buffer->device;
    return acui_plan_device(fallback);
}

acu_status acui_call_custom(acu_op *op, acu_val *values, acu_val *out, acu_device **device,
                            acu_op **next)
{
    *device = device_of(values, op->input_count, out, *device);
    if (!*device)
        return ACU_ERR_INVALID;
    acu_planning planning = {.size = sizeof planning,
                             .device = *device,
                             .site = op->site,
                             .values = values,
                             .count = op->input_count,
                             .out = *out,
                             .data = op->inputs + op->input_count,
                             .user = op->user.data};
    acui_callback_enter();
    acu_op *returned = op->u.custom.fn(&planning);
    acu_status status = acui_callback_returned(op, returned, acui_op_name(op), next);
    *out = planning.out;
    if (status != ACU_OK)
        return status;
    if (op->renamed && acui_op_is_sole(*next))
        acu_op_named(*next, acui_op_name(op));
    return ACU_OK;
}

static acu_status plan_custom(acui_plan *plan, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    acu_val none = {.kind = ACU_NONE}, *out = plan->into ? plan->into : &none;
    plan->into = NULL; /* applies to this op, not to its operands */
    size_t base = plan->scratch.count;
    acu_op *next = NULL;
    acu_status status = plan_operands(plan, op, fallback);
    if (status == ACU_OK)
        status = acui_call_custom(op, plan->scratch.list + base, out, &fallback, &next);
    acui_values_cut(&plan->scratch, base);
    return status == ACU_OK ? acui_plan_op(plan, next, fallback, values) : status;
}

const acui_op_class acui_class_CUSTOM = {.name = "custom", .plan = plan_custom};

/* A class that only lends its name to messages and failures. */
static acui_op_class called(const char *name)
{
    return (acui_op_class){.name = name ? name : acui_class_CUSTOM.name};
}

/* An op with room for the operands and, behind them, for the data. */
static acu_op *new_custom(const acu_custom *custom, size_t count, acu_site site)
{
    const acui_op_class self = called(custom->name);
    const uint64_t newer =
        custom->reserved[0] | custom->reserved[1] | custom->reserved[2] | custom->reserved[3];
    if (newer || !custom->fn || custom->bytes > DATA_MAX || (custom->bytes && !custom->data)) {
        if (newer)
            acui_fail(ACU_ERR_NOT_SUPPORTED,
                      "acu_op_custom: it sets something that this version of the library does not "
                      "know");
        else if (!custom->fn)
            acui_fail(ACU_ERR_INVALID, "acu_op_custom got NULL where a function should be");
        else if (!custom->data)
            acui_fail(ACU_ERR_INVALID, "acu_op_custom got NULL where %zu bytes of data should be",
                      custom->bytes);
        else
            acui_fail(ACU_ERR_LIMIT, "the data of a custom op has at most %d bytes, not %zu",
                      DATA_MAX, custom->bytes);
        return acui_op_failed(&self, site);
    }
    size_t words = (custom->bytes + sizeof(acu_op *) - 1) / sizeof(acu_op *);
    acu_op *op = acui_op_new(&acui_class_CUSTOM, count + words, site);
    if (acui_op_is_oom(op))
        return op;
    op->input_count = count;
    if (custom->bytes)
        memcpy(op->inputs + count, custom->data, custom->bytes);
    op->u.custom.fn = custom->fn;
    op->u.custom.bytes = custom->bytes;
    acui_op_set_user(op, custom->user);
    return acui_op_call(op, custom->name);
}

acu_op *acu_op_custom(acu_custom custom, acu_op *const *operands, size_t count, acu_site site)
{
    const acui_op_class taker = called(custom.name);
    if (count && !operands) {
        acui_user_release(custom.user);
        acui_fail(ACU_ERR_INVALID, "%s got NULL where a list of %zu operands should be",
                  taker.name, count);
        return acui_op_failed(&taker, site);
    }
    acu_op *op = new_custom(&custom, count, site);
    bool made = op->class == &acui_class_CUSTOM;
    for (size_t i = 0; i < count; i++) {
        if (made)
            op->inputs[i] = acui_op_take(operands[i], &taker, site);
        else
            acu_op_release(operands[i]);
    }
    if (!made)
        acui_user_release(custom.user);
    return op;
}

bool acui_custom_is(const acu_op *op, acu_custom_fn fn)
{
    return op->class == &acui_class_CUSTOM && op->u.custom.fn == fn && acui_op_is_sole(op);
}

const void *acui_custom_data(const acu_op *op)
{
    return op->inputs + op->input_count;
}

acu_op *acui_custom_joined(acu_custom custom, acu_op **ops, size_t count, acu_site site)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        n += ops[i]->input_count;
    acu_op *op = new_custom(&custom, n, site);
    bool made = op->class == &acui_class_CUSTOM;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < ops[i]->input_count && made; j++)
            op->inputs[at++] = acui_op_take_input(ops[i], j);
        acui_op_put(ops[i]);
    }
    if (!made)
        acui_user_release(custom.user);
    return op;
}

acu_op *acu_op_fail(acu_status status, const char *name, acu_site site, const char *format, ...)
{
    if (format && status < 0) {
        va_list args;
        va_start(args, format);
        acui_fail_v(status, format, args);
        va_end(args);
    } else if (status >= 0) { /* else the submission would succeed, with nothing in it */
        acui_fail(ACU_ERR_INVALID, "acu_op_fail got %d (%s), which is no error", (int)status,
                  acu_status_name(status));
    } else if (acui_error()->status != status) { /* the record is about something else */
        acui_fail(status, "acu_op_fail was given no words for it");
    }
    const acui_op_class self = called(name);
    return acui_op_failed(&self, site);
}

/* ---- into ---- */

static acu_status check_out(const acu_val *out)
{
    char words[96];
    if (out->kind != ACU_TENSOR)
        return acui_fail(ACU_ERR_INVALID, "acu_into wants a tensor for the result");
    if (out->form == ACU_SHARED)
        return acui_fail(ACU_ERR_SHARED, "%s is shared, for reading only; take sole ownership with "
                         "acu_own, or name another tensor for the result",
                         acui_tensor_words(out->tensor, words));
    return ACU_OK;
}

static acu_status plan_into(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_op *to = op->inputs[0], *x = op->inputs[1];
    op->inputs[0] = NULL;
    acu_val out;
    char name[ACU_ERROR_OP]; /* planning it consumes it */
    snprintf(name, sizeof name, "%s", acui_op_name(x));
    ACUI_TRY(acui_plan_one(plan, to, fallback, "the result", &out));
    acu_status status = check_out(&out);
    if (status == ACU_OK) {
        op->inputs[1] = NULL;
        plan->into = &out;
        status = acui_plan_op(plan, x, fallback, values);
        plan->into = NULL;
    }
    bool taken = out.kind == ACU_NONE;
    acui_val_drop(&out);
    if (status == ACU_OK && !taken)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s does not put its result where acu_into says: "
                         "its function does not take `out`, or it ran before", name);
    return status;
}

const acui_op_class acui_class_INTO = {.name = "into", .plan = plan_into, .passes = 2};

acu_op *acu_op_into(acu_op *out, acu_op *x, acu_site site)
{
    acu_op *op = acui_op_binary(&acui_class_INTO, out, x, site);
    if (acui_op_is_oom(op))
        return op;
    const acui_op_class *kind = op->inputs[1]->class;
    if (kind == &acui_class_CUSTOM || kind == &acui_class_FAILED)
        return op;
    acui_fail(ACU_ERR_NOT_SUPPORTED, "%s has no result that could go elsewhere: acu_into takes a "
              "built-in operation, or another custom one; acu_fill and acu_copy write to a tensor "
              "that exists", acui_op_name(op->inputs[1]));
    acu_op *failed = acui_op_failed(&acui_class_INTO, site);
    acui_op_put(op);
    return failed;
}
