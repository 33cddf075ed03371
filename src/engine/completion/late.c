/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of libraries that are on the device: which there are, and their failures (order/fail.c). A
 * task in a stream's list stays there, and exists, while the order locks and the flight lock are
 * held, which whoever finds it over takes. */
#include "base/error.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/order/order.h"

#include <stdio.h>

typedef bool (*visit_fn)(acui_task *task, void *context); /* whether something changed */

/* All order locks held. */
static bool visit(acui_flight *flight, visit_fn call, void *context)
{
    bool changed = false;
    acui_flight_lock(flight);
    for (acu_stream *stream = flight->active; stream; stream = stream->engine.next_active)
        for (acui_task *task = stream->engine.first_task; task; task = task->next_listed)
            if (!acui_stream_passed(stream, task->number))
                changed |= call(task, context);
    acui_flight_unlock(flight);
    return changed;
}

static bool is_call(const acui_node *node, acu_foreign_fn fn)
{
    return node->kind == ACUI_NODE_FOREIGN && node->u.call.op->u.call.foreign == fn;
}

/* ---- looking --------------------------------------------------------------------------------- */

typedef struct looking {
    acu_foreign_fn fn;
    acui_late_look_fn look;
    void *context;
} looking;

static bool look_at(acui_task *task, void *context)
{
    const looking *l = context;
    bool asked = false, unwanted = false;
    for (size_t i = 0; i < task->count; i++) {
        if (!is_call(task->nodes[i], l->fn))
            continue;
        if (!asked)
            unwanted = acui_gave_up(task->submission) && !acui_child_is_wanted(task->child);
        asked = true;
        l->look(task->nodes[i]->u.call.op->user.data, unwanted, l->context);
    }
    return false;
}

void acui_late_look(const acu_device *device, acu_foreign_fn fn, acui_late_look_fn look,
                    void *context)
{
    looking l = {fn, look, context};
    acui_order_lock(ACUI_ALL_HOMES);
    visit(acui_flight_of(device), look_at, &l);
    acui_order_unlock(ACUI_ALL_HOMES);
}

/* ---- failing --------------------------------------------------------------------------------- */

typedef struct failing {
    acu_foreign_fn fn;
    acui_late_which_fn which;
    const void *context;
    const acu_error *record;
} failing;

/* The record, at the place of the node. */
static acui_fault *fault_at(const acu_error *record, const acui_node *node)
{
    acu_error error = *record;
    acui_add_context(&error, node);
    error.file = node->site.file;
    error.line = node->site.line;
    snprintf(error.op, sizeof error.op, "%s", node->name);
    error.device = node->device->info.ordinal;
    return acui_fault_new(&error);
}

static bool fail_call(acui_task *task, void *context)
{
    const failing *f = context;
    for (size_t i = 0; i < task->count && !task->order.fault; i++) {
        const acui_node *node = task->nodes[i];
        if (!is_call(node, f->fn) || !f->which(node->u.call.op->user.data, f->context))
            continue;
        acui_fault *fault = fault_at(f->record, node);
        acui_fail_late(task, fault);
        acui_fault_release(fault);
    }
    return false;
}

static bool fail_reader(acui_task *task, void *context)
{
    (void)context;
    return acui_note_late(task);
}

/* Readers may be on any device, and readers of theirs. */
static bool fail_readers(void)
{
    bool changed = false;
    for ACUI_EACH_ENGINE (engine)
        changed |= visit(&engine->flight, fail_reader, NULL);
    return changed;
}

void acui_late_fail(const acu_device *device, acu_foreign_fn fn, acui_late_which_fn which,
                    const void *context, const acu_error *record)
{
    failing f = {fn, which, context, record};
    acui_order_lock(ACUI_ALL_HOMES);
    visit(acui_flight_of(device), fail_call, &f);
    while (fail_readers()) {
    }
    acui_order_unlock(ACUI_ALL_HOMES);
}
