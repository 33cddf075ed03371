/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ops as objects: how they are made, taken, named and released. A constructor always returns an op:
 * on failure a failed one, and without memory for that the one static op.
 */
#include "op/child.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/local.h"

#include <stdio.h>
#include <string.h>

/* What a constructor returns when there is no memory for an op: one for all, never freed. */
static acui_fault oom_fault = {
    .refs = 1,
    .error = {.status = ACU_ERR_NO_MEMORY,
              .device = -1,
              .op = "op",
              .message = "out of host memory while an op was made"},
};
static acu_op oom_op = {
    .object = {.tag = 0xACDA0000u | ACU_OBJECT_OP, .refs = 1},
    .handles = 2, /* 2: always taken the slow way */
    .class = &acui_class_FAILED,
    .u.fault = &oom_fault,
};

bool acui_op_is_oom(const acu_op *op)
{
    return op == &oom_op;
}

const char *acui_op_name(const acu_op *op)
{
    return op->named ? op->rest->name : op->class->name;
}

acu_op *acui_op_doer(acu_op *op)
{
    while (op->class->passes && op->class->passes <= op->input_count && acui_op_is_sole(op))
        op = op->inputs[op->class->passes - 1];
    return op;
}

const char *acui_op_label(const acu_op *op)
{
    bool launches = op->class == &acui_class_LAUNCH && acui_op_is_sole(op) && op->u.call.kernel;
    return launches && !op->named ? op->u.call.kernel->name : acui_op_name(op);
}

acu_status acui_op_sign(const acu_op *op, acu_status status)
{
    acu_error *error = acui_error();
    if (status != ACU_OK && !error->file) {
        error->file = op->site.file;
        error->line = op->site.line;
        snprintf(error->op, sizeof error->op, "%s", acui_op_name(op));
    }
    return status;
}

/* An op is followed by `bytes` for inputs and arguments, then by its acui_op_rest. None of these
 * are initialised, nor is what differs by class. */
static inline acu_op *op_new(const acui_op_class *class, size_t bytes, acu_site site)
{
    size_t all = sizeof(acu_op) + bytes + sizeof(acui_op_rest);
    acu_op *op = acui_object_at_hand(ACU_OBJECT_OP, all);
    if (!op && !(op = acui_alloc_object(all, ACUI_COUNT_OBJECTS + ACU_OBJECT_OP)))
        return &oom_op;
    acui_op_begin(op, class, site);
    op->inputs = (acu_op **)(op + 1);
    op->rest = (acui_op_rest *)(void *)((char *)(op + 1) + bytes);
    return op;
}

acu_op *acui_op_new(const acui_op_class *class, size_t inputs, acu_site site)
{
    acu_op *op = op_new(class, inputs * sizeof(acu_op *), site);
    if (op == &oom_op)
        return op;
    memset(&op->u, 0, sizeof op->u);
    op->input_count = inputs;
    for (size_t i = 0; i < inputs; i++)
        op->inputs[i] = NULL;
    return op;
}

acu_op *acui_op_new_call(const acui_op_class *class, size_t count, acu_site site)
{
    acu_op *op = op_new(class, count * (sizeof(acu_arg) + sizeof(acu_op *)), site);
    if (op == &oom_op)
        return op;
    op->u.call.kernel = NULL;
    op->u.call.instead = NULL;
    op->u.call.own = NULL;
    op->u.call.capturable = false;
    op->u.call.args = (acu_arg *)(op + 1);
    op->u.call.arg_count = 0;
    op->inputs = (acu_op **)(op->u.call.args + count);
    return op;
}

acu_op *acui_op_failed(const acui_op_class *class, acu_site site)
{
    acu_error error = *acui_error();
    if (error.status != ACU_ERR_DEVICE_LOST || !error.file) { /* that names what is to blame */
        error.file = site.file;
        error.line = site.line;
        snprintf(error.op, sizeof error.op, "%s", class->name);
    }
    acu_op *op = acui_op_new(&acui_class_FAILED, 0, site);
    if (op == &oom_op)
        return op;
    op->u.fault = acui_fault_new(&error);
    return acui_op_call(op, class->name);
}

acu_op *acui_op_abandon(acu_op *op)
{
    acui_op_put(op);
    return &oom_op;
}

/* Give one of the program's references away; false if the program had none left. */
static bool hand_over(acu_op *op)
{
    uint32_t n = atomic_load_explicit(&op->handles, memory_order_relaxed);
    if (n == 1 && acui_op_hand_over_sole(op))
        return true;
    while (n > 0)
        if (atomic_compare_exchange_weak_explicit(&op->handles, &n, n - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

acu_op *acui_op_take_slowly(acu_op *op, const acui_op_class *taker, acu_site site)
{
    if (op == &oom_op)
        return op;
    if (!op) {
        acui_fail(ACU_ERR_INVALID, "%s got NULL where an op should be", taker->name);
        return acui_op_failed(taker, site);
    }
    if (acui_object_check(op, ACU_OBJECT_OP, taker->name) != ACU_OK)
        return acui_op_failed(taker, site);
    if (hand_over(op))
        return op;
    acui_fail(ACU_ERR_CONSUMED,
              "%s got an op (%s, made at %s:%d) that was taken before; keep an op for a second use "
              "with acu_op_retain",
              taker->name, acui_op_name(op), op->site.file ? op->site.file : "?", op->site.line);
    return acui_op_failed(taker, site);
}

static ACUI_LOCAL acu_op *dead; /* what this thread is to destroy, linked through next_dead */
static ACUI_LOCAL bool destroying;

static void destroy(acu_op *op)
{
    for (size_t i = 0; i < op->input_count; i++) {
        acu_op *input = op->inputs[i];
        if (input && input != &oom_op && acui_object_drop(input)) {
            input->next_dead = dead;
            dead = input;
        }
    }
    if (op->class->destroy)
        op->class->destroy(op);
    if (op->has_user)
        acui_user_release(op->user);
    if (op->state != ACUI_OP_FRESH) {
        acui_values_clear(&op->rest->values);
        acui_child_op_gone(op->rest->child);
        acui_fault_release(op->rest->fault);
    }
    acui_object_free(op);
}

/* What an op holds may hold further ops: its inputs, a future that was never started, a program's
 * data. The outermost call destroys all of them, so a deep composition needs no stack. */
void acui_op_put(acu_op *op)
{
    if (!op || op == &oom_op || !acui_object_drop(op))
        return;
    op->next_dead = dead;
    dead = op;
    if (destroying)
        return;
    destroying = true;
    while (dead) {
        op = dead;
        dead = op->next_dead;
        destroy(op);
    }
    destroying = false;
}

acu_op *acui_op_for_node(acu_op *op)
{
    if (op->state != ACUI_OP_PLANNING)
        return acui_object_retain(op);
    acu_op *own = acui_op_new(op->class, 0, op->site);
    if (own == &oom_op)
        return NULL;
    own->u = op->u;
    if (op->class == &acui_class_FOREIGN || op->class == &acui_class_HOST)
        own->u.call.arg_count = 0;
    own->user = op->user;
    own->has_user = op->has_user;
    op->has_user = false;
    return own;
}

acu_op *acui_op_over(const acui_op_class *class, acu_op *input, acu_site site)
{
    acu_op *op = acui_op_new(class, 1, site);
    if (op == &oom_op)
        acui_op_put(input);
    else
        op->inputs[0] = input;
    return op;
}

acu_op *acui_op_unary(const acui_op_class *class, acu_op *x, acu_site site)
{
    return acui_op_over(class, acui_op_take(x, class, site), site);
}

void acui_op_become(acu_op *op, const acui_op_class *class, acu_site site)
{
    op->class = class;
    op->site = site;
    atomic_store_explicit(&op->handles, 1, memory_order_relaxed);
}

acu_op *acui_op_binary(const acui_op_class *class, acu_op *x, acu_op *y, acu_site site)
{
    acu_op *a = acui_op_take(x, class, site), *b = acui_op_take(y, class, site);
    acu_op *op = acui_op_new(class, 2, site);
    if (op == &oom_op) {
        acui_op_put(a);
        acui_op_put(b);
        return op;
    }
    op->inputs[0] = a;
    op->inputs[1] = b;
    return op;
}

void acui_op_give_back(acu_op *given, acu_op *taken)
{
    if (taken == given && taken != &oom_op)
        atomic_fetch_add_explicit(&taken->handles, 1, memory_order_relaxed);
    else
        acui_op_put(taken); /* one that stood for what could not be taken */
}

acu_op *acu_op_retain(acu_op *op)
{
    if (op && op != &oom_op && acui_object_is(op, ACU_OBJECT_OP)) {
        acui_object_retain(op);
        atomic_fetch_add_explicit(&op->handles, 1, memory_order_relaxed);
    }
    return op;
}

void acu_op_release(acu_op *op)
{
    if (op && op != &oom_op && acui_object_is(op, ACU_OBJECT_OP) && hand_over(op))
        acui_op_put(op);
}

acu_status acu_op_status(const acu_op *op, acu_error *error)
{
    ACUI_CHECK(op, OP);
    if (op->class != &acui_class_FAILED)
        return ACU_OK;
    if (error)
        *error = op->u.fault->error;
    return op->u.fault->error.status;
}

acu_op *acui_op_call(acu_op *op, const char *name)
{
    if (!name || op == &oom_op)
        return op;
    size_t length = strnlen(name, ACUI_OP_NAME - 1);
    memcpy(op->rest->name, name, length);
    op->rest->name[length] = 0;
    op->named = length > 0;
    return op;
}

acu_op *acu_op_named(acu_op *op, const char *name)
{
    if (!name || !acui_object_is(op, ACU_OBJECT_OP))
        return op;
    acu_op *doer = acui_op_doer(op);
    acui_op_call(op, name);
    if (acui_op_is_sole(doer) && doer != &oom_op)
        acui_op_call(doer, name)->renamed = true;
    return op;
}

/* Planning a failed op reports what its constructor found. */
static acu_status plan_failed(acui_plan *plan, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    (void)plan, (void)fallback, (void)values;
    acu_status status = acui_error_restore(&op->u.fault->error);
    if (op->named && status != ACU_ERR_DEVICE_LOST) /* it may have been named since */
        snprintf(acui_error()->op, sizeof acui_error()->op, "%s", op->rest->name);
    return status;
}

static void destroy_failed(acu_op *op)
{
    acui_fault_release(op->u.fault);
}

const acui_op_class acui_class_FAILED = {
    .name = "failed op", .plan = plan_failed, .destroy = destroy_failed};
