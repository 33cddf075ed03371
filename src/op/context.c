/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* with_context: words of the program's that are told with errors from inside an op. */
#include "base/alloc.h"
#include "base/error.h"
#include "op/op.h"

#include <string.h>

static acui_context *enter(acui_plan *plan, const char *text)
{
    size_t length = strlen(text) + 1;
    acui_context *context = acui_arena_get(&plan->arena, sizeof *context + length);
    if (!context) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan a context");
        return NULL;
    }
    memcpy(context->text, text, length);
    context->outer = plan->now.context;
    plan->now.context = context;
    return context;
}

static acu_status plan_context(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    const acui_context *context = enter(plan, op->u.text);
    if (!context)
        return ACU_ERR_NO_MEMORY;
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values);
    plan->now.context = context->outer;
    if (status != ACU_OK)
        acui_error_prefix(acui_error(), op->u.text);
    return status;
}

static void destroy_context(acu_op *op)
{
    acui_free(op->u.text);
}

const acui_op_class acui_class_CONTEXT = {
    .name = "context", .plan = plan_context, .destroy = destroy_context, .passes = 1};

acu_op *acu_op_with_context(acu_op *x, const char *text, acu_site site)
{
    size_t length = text ? strnlen(text, ACU_ERROR_CONTEXT - 1) : 0;
    char *copy = length ? acui_alloc(length + 1) : NULL;
    if (!copy) {
        acu_op_release(x);
        if (length)
            acui_fail(ACU_ERR_NO_MEMORY, "no memory for the words of acu_with_context");
        else
            acui_fail(ACU_ERR_INVALID, "acu_with_context got no words");
        return acui_op_failed(&acui_class_CONTEXT, site);
    }
    memcpy(copy, text, length); /* acui_alloc zeroes the memory */
    acu_op *op = acui_op_unary(&acui_class_CONTEXT, x, site);
    if (acui_op_is_oom(op))
        acui_free(copy);
    else
        op->u.text = copy;
    return op;
}
