/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acu_explain: telling in words, or as a graph for DOT, what became of a submission, from its
 * record (record.h). Also what an op is made of (acu_explain_op). */
#include <acuda/explain.h>

#include "base/error.h"
#include "base/options.h"
#include "engine/future.h"
#include "engine/report/record.h"
#include "op/print.h"

#include <inttypes.h>
#include <string.h>

static const char *kind_name(acui_node_kind kind)
{
    static const char *const names[] = {
#define ACU_X(id, name, counted) name,
        ACUI_NODES(ACU_X)
#undef ACU_X
    };
    return names[kind];
}

/* ---- text ---- */

static void print_how(acui_out *out, const acui_wait_record *wait)
{
    switch (wait->how) {
    case ACUI_HOW_OPEN:
        acui_print(out, "not issued yet");
        break;
    case ACUI_HOW_OVER:
        acui_print(out, "that was over: no wait");
        break;
    case ACUI_HOW_STREAM:
        acui_print(out, "on the same stream: no wait");
        break;
    case ACUI_HOW_IMPLIED:
        acui_print(out, "implied by an earlier wait for stream %" PRIu64, wait->stream);
        break;
    case ACUI_HOW_EVENT:
        acui_print(out, "waits for an event of stream %" PRIu64, wait->stream);
        break;
    case ACUI_HOW_HOST:
        acui_print(out, "held back on the host until that is over");
        break;
    }
}

static void print_source(acui_out *out, const acui_wait_record *wait)
{
    if (wait->part)
        acui_print(out, "part %d", wait->part->number);
    else if (wait->memory)
        acui_print(out, "the making of its memory");
    else if (wait->load)
        acui_print(out, "the loading of %s", wait->loaded ? wait->loaded : "its kernels");
    else if (wait->file)
        acui_print(out, "%s:%d", wait->file, wait->line);
    else
        acui_print(out, "other work");
}

static const char *reason(const acui_wait_record *wait)
{
    if (wait->memory || wait->load)
        return "needs it";
    if (wait->data)
        return "reads what that wrote";
    return wait->wished ? "was to come later" : "overwrites what that uses";
}

static void print_node(acui_out *out, const acui_task_record *part, const acui_node_record *node)
{
    if (node->first)
        acui_print(out, "    first %s", kind_name(node->kind));
    else
        acui_print(out, "    %u %s", node->position, kind_name(node->kind));
    if (strcmp(node->name, kind_name(node->kind)) != 0)
        acui_print(out, " %s", node->name);
    if (node->site.file)
        acui_print(out, ", %s:%d", node->site.file, node->site.line);
    for (uint32_t i = 0; i < node->before_count; i++)
        acui_print(out, "%s%u", i ? ", " : ", after ", part->nodes[node->before[i]].position);
    acui_print(out, "\n");
}

static void print_run(acui_out *out, const acui_run_record *run)
{
    acui_print(out, run->count == 1 ? "  node %u: " : "  nodes %u to %u: ", run->from,
               run->from + run->count - 1);
    if (!run->issued)
        acui_print(out, "not issued");
    else if (run->hit)
        acui_print(out, "an executable graph; %u of %u nodes set, the others were right", run->set,
                   run->count);
    else
        acui_print(out, "directly; %s", run->why ? run->why : "no graph for these");
    if (run->streams > 1)
        acui_print(out, "; on %u streams", run->streams);
    acui_print(out, "\n");
}

static double micros(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / 1e3 : 0;
}

static void print_times(acui_out *out, const acui_task_record *part)
{
    if (!part->issue)
        return;
    acui_print(out, "  waited %.1f us", micros(part->entered, part->issue));
    if (part->issued)
        acui_print(out, ", issued in %.1f us", micros(part->issue, part->issued));
    if (part->ended)
        acui_print(out, ", on the device %.1f us", micros(part->began, part->ended));
    if (part->over)
        acui_print(out, "; over %.1f us after it was entered", micros(part->entered, part->over));
    acui_print(out, "\n");
}

static void print_site(acui_out *out, acu_site site)
{
    if (site.file)
        acui_print(out, ", %s:%d", site.file, site.line);
}

static const char *child_end(const acui_child_record *child)
{
    if (child->failed)
        return "; failed";
    if (child->child || child->kind != ACUI_CHILD_ELSE)
        return "";
    return child->turn == ACUI_TURN_COME ? "; taken" : "; not taken";
}

static void print_child(acui_out *out, const acui_child_record *child)
{
    static const char *const words[][2] = {[ACUI_CHILD_TRY] = {"what ", " tries"},
                                           [ACUI_CHILD_ELSE] = {"the alternative of ", ""},
                                           [ACUI_CHILD_FINALLY] = {"what ", " runs"},
                                           [ACUI_CHILD_SHARED] = {"", ", which others use too"}};
    acui_print(out, "child %d", child->number);
    if (child->parent)
        acui_print(out, ", in child %d", child->parent);
    acui_print(out, ": %s%s%s", words[child->kind][0], child->name, words[child->kind][1]);
    print_site(out, child->site);
    acui_print(out, "%s\n", child_end(child));
}

static void print_awaited(acui_out *out, const acui_awaited_record *op)
{
    acui_print(out, "  stands for %s", op->name);
    print_site(out, op->site);
    acui_print(out, op->own ? "\n" : ", which another submission planned\n");
}

static void print_part(acui_out *out, const acui_task_record *part)
{
    acui_print(out, "part %d: ", part->number);
    if (part->nodes && part->nodes->kind == ACUI_NODE_STAGE)
        acui_print(out, "helper threads, through pinned memory (what is pageable, or between "
                        "devices without access)\n");
    else if (part->nodes && part->nodes->kind == ACUI_NODE_AWAIT)
        acui_print(out, "no work, only waits\n");
    else if (part->host)
        acui_print(out, "host work, on acuda's thread\n");
    else if (!part->signal)
        acui_print(out, "device %d, not issued\n", part->device);
    else
        acui_print(out, "device %d, stream %" PRIu64 ", signal %" PRIu64 "\n", part->device,
                   part->stream, part->signal);
    if (part->child)
        acui_print(out, "  in child %d\n", part->child);
    print_times(out, part);
    for (const acui_awaited_record *op = part->awaited; op; op = op->next)
        print_awaited(out, op);
    for (uint32_t i = 0; i < part->wait_count; i++) {
        const acui_wait_record *wait = &part->waits[i];
        acui_print(out, "  behind ");
        print_source(out, wait);
        acui_print(out, ", %s: ", reason(wait));
        print_how(out, wait);
        acui_print(out, "\n");
    }
    for (const acui_run_record *run = part->runs; run; run = run->next)
        print_run(out, run);
    for (uint32_t i = 0; i < part->node_count; i++)
        print_node(out, part, &part->nodes[i]);
}

static void print_record(acui_out *out, const acui_submission *s, const char *outcome)
{
    const acui_record *record = s->record;
    const char *name = s->asked.name;
    int parts = record->count;
    acui_print(out, "submission%s%s%s: %d part%s, %s\n", name[0] ? " \"" : "", name,
               name[0] ? "\"" : "", parts, parts == 1 ? "" : "s", outcome);
    for (const acui_child_record *child = record->children; child; child = child->next)
        print_child(out, child);
    for (const acui_task_record *part = record->parts; part; part = part->next)
        print_part(out, part);
}

/* ---- DOT ---- */

static void dot_node(acui_out *out, int part, uint32_t at, const acui_node_record *node)
{
    acui_print(out, "    n%d_%u [label=\"%s", part, at, kind_name(node->kind));
    if (strcmp(node->name, kind_name(node->kind)) != 0) {
        acui_print(out, " ");
        acui_print_quoted(out, node->name);
    }
    if (node->site.file) {
        acui_print(out, "\\n");
        acui_print_quoted(out, node->site.file);
        acui_print(out, ":%d", node->site.line);
    }
    acui_print(out, "\"];\n");
}

static void dot_part(acui_out *out, const acui_task_record *part)
{
    int number = part->number;
    acui_print(out, "  subgraph cluster_%d {\n    label=\"part %d: ", number, number);
    if (part->host)
        acui_print(out, "host");
    else if (!part->signal)
        acui_print(out, "device %d, not issued", part->device);
    else
        acui_print(out, "device %d, stream %" PRIu64 "%s", part->device, part->stream,
                   part->runs && part->runs->hit ? ", graph" : "");
    if (part->child)
        acui_print(out, ", child %d", part->child);
    acui_print(out, "\";\n");
    for (uint32_t at = 0; at < part->node_count; at++)
        dot_node(out, number, at, &part->nodes[at]);
    for (uint32_t at = 0; at < part->node_count; at++)
        for (uint32_t i = 0; i < part->nodes[at].before_count; i++)
            acui_print(out, "    n%d_%u -> n%d_%u;\n", number, part->nodes[at].before[i], number,
                       at);
    acui_print(out, "  }\n");
}

static void dot_waits(acui_out *out, const acui_task_record *part)
{
    int number = part->number;
    for (uint32_t at = 0; at < part->wait_count; at++) {
        const acui_wait_record *wait = &part->waits[at];
        if (wait->part) {
            acui_print(out, "  n%d_0 -> n%d_0 [", wait->part->number, number);
        } else {
            acui_print(out, "  w%d_%u [shape=plaintext, label=\"", number, at);
            if (wait->file) {
                acui_print_quoted(out, wait->file);
                acui_print(out, ":%d", wait->line);
            } else if (wait->load && wait->loaded && !wait->memory) {
                acui_print(out, "loading ");
                acui_print_quoted(out, wait->loaded);
            } else {
                acui_print(out, wait->memory ? "memory" : wait->load ? "loading" : "other work");
            }
            acui_print(out, "\"];\n  w%d_%u -> n%d_0 [", number, at, number);
        }
        acui_print(out, "label=\"%s\", style=%s];\n", reason(wait),
                   wait->how == ACUI_HOW_EVENT || wait->how == ACUI_HOW_HOST ? "bold" : "dashed");
    }
}

static void dot_record(acui_out *out, const acui_record *record)
{
    acui_print(out, "digraph submission {\n  node [shape=box];\n");
    for (const acui_task_record *part = record->parts; part; part = part->next)
        dot_part(out, part);
    for (const acui_task_record *part = record->parts; part; part = part->next)
        dot_waits(out, part);
    acui_print(out, "}\n");
}

/* ---- for the program ---- */

static acu_status check_text(acu_explain_form form, const char *text, size_t bytes,
                             const char *function)
{
    if (!text && bytes)
        return acui_fail(ACU_ERR_INVALID, "%s: %zu bytes of NULL to write to", function, bytes);
    if (form != ACU_EXPLAIN_TEXT && form != ACU_EXPLAIN_DOT)
        return acui_fail(ACU_ERR_INVALID, "%s: form %d is neither text nor DOT", function,
                         (int)form);
    return ACU_OK;
}

/* The future's submission, if it has a record. */
static acu_status find_record(acu_future *future, acui_submission **found, const char *function)
{
    bool done = acui_future_state_of(future) == ACUI_FUTURE_DONE;
    bool planned = atomic_load_explicit(&future->planned, memory_order_acquire);
    if (!planned && !done)
        return ACU_NOT_READY;
    if (!planned)
        return acui_fail(ACU_ERR_INVALID, "%s: it ended before it was planned, or is the "
                                          "future of a load or a group", function);
    *found = future->submission;
    if (!acui_record_asked(*found)) /* a trace shows nowhere else */
        return acui_fail(ACU_ERR_INVALID, "%s: it was submitted without `explain`", function);
    return ACU_OK;
}

acu_status acu_explain(acu_future *future, acu_explain_form form, char *text, size_t bytes,
                       size_t *needed)
{
    acui_submission *s = NULL;
    ACUI_CHECK(future, FUTURE);
    ACUI_TRY(check_text(form, text, bytes, __func__));
    acui_future_state state = acui_future_state_of(future);
    acu_status found = find_record(future, &s, __func__);
    if (found != ACU_OK)
        return found;
    acui_out out = {.text = text, .room = bytes};
    const char *outcome = state != ACUI_FUTURE_DONE   ? "in flight"
                          : future->status == ACU_OK ? "complete"
                                                     : acu_status_name(future->status);
    acui_record_lock(s->record);
    if (form == ACU_EXPLAIN_TEXT)
        print_record(&out, s, outcome);
    else
        dot_record(&out, s->record);
    acui_record_unlock(s->record);
    if (needed)
        *needed = out.needed + 1;
    return ACU_OK;
}

static uint64_t earlier(uint64_t known, uint64_t time)
{
    return time && (!known || time < known) ? time : known;
}

acu_status acu_future_times(acu_future *future, acu_times *times)
{
    acui_submission *s = NULL;
    ACUI_CHECK(future, FUTURE);
    acu_status found = find_record(future, &s, __func__);
    if (found != ACU_OK)
        return found;
    acui_record *record = s->record;
    acui_record_lock(record);
    acu_times all = {
        .composed = record->composed, .planned = record->planned, .over = record->over};
    for (const acui_task_record *part = record->parts; part; part = part->next) {
        all.parts++;
        all.issued = earlier(all.issued, part->issued ? part->issued : part->issue);
        if (!part->ended)
            continue;
        all.timed++;
        all.began = earlier(all.began, part->began);
        all.ended = part->ended > all.ended ? part->ended : all.ended;
        all.device += part->ended - part->began;
    }
    acui_record_unlock(record);
    if (!all.over) /* it was given up, and is still on its way */
        return ACU_NOT_READY;
    return acui_struct_write(times, &all, sizeof all, __func__);
}

acu_status acu_explain_op(acu_op *op, acu_explain_form form, char *text, size_t bytes,
                          size_t *needed)
{
    ACUI_CHECK(op, OP);
    ACUI_TRY(check_text(form, text, bytes, __func__));
    acui_out out = {.text = text, .room = bytes};
    ACUI_TRY(acui_print_op(&out, op, form == ACU_EXPLAIN_DOT));
    if (needed)
        *needed = out.needed + 1;
    return ACU_OK;
}
