/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records for the trace (base/trace.h): of a submission that is over, from its record; and of what
 * threads do for futures besides. */
#include "base/alloc.h"
#include "base/text.h"
#include "engine/future.h"
#include "engine/report/record.h"
#include "memory/pool.h"

#include <stddef.h>
#include <stdio.h>

/* ---- a submission ---- */

static const acui_node_record *subject_of(const acui_task_record *part)
{
    const acui_node_record *node = part->nodes, *end = node + part->node_count;
    while (node < end && node->first && node + 1 < end)
        node++;
    return node < end ? node : NULL;
}

/* Not before `least`: a part that never was issued, or ran on no device, has no such time. */
static uint64_t at_least(uint64_t time, uint64_t least)
{
    return time > least ? time : least;
}

static void slice(acui_trace_out *out, const acui_trace_event *event, uint64_t end)
{
    acui_trace_begin(out, event);
    acui_trace_end(out, event->track, at_least(end, event->at));
}

static const char *reason(const acui_wait_record *wait, char *text, size_t bytes)
{
    if (wait->memory)
        return "memory";
    if (wait->load) {
        snprintf(text, bytes, "loading%s%s", wait->loaded ? " " : "",
                 wait->loaded ? wait->loaded : "");
        return text;
    }
    return wait->data ? "reads what that wrote"
                      : wait->wished ? "was to come later" : "overwrites what that uses";
}

/* Arrows are numbered by both ends. */
static uint64_t arrow(uint64_t from, const acui_task_record *to)
{
    return from ? (from * UINT64_C(0x9e3779b97f4a7c15)) ^ to->id : 0;
}

/* What the part came behind: an instant for each, at the time it was entered, with an arrow from
 * the part or the other submission that it waited for. What was over by then is left out. */
static void write_waits(acui_trace_out *out, uint64_t track, const acui_task_record *part)
{
    static const char *const how[] = {"not issued", "over",  "on the same stream",
                                      "implied",    "event", "on the host"};
    const acui_wait_record *end = part->waits + part->wait_count;
    for (const acui_wait_record *wait = part->waits; wait < end; wait++) {
        if (wait->how == ACUI_HOW_OVER)
            continue;
        uint64_t from = wait->part    ? acui_track(ACUI_TRACK_PART, wait->part->id)
                        : wait->owner ? acui_track(ACUI_TRACK_SUBMISSION, wait->owner)
                                      : 0;
        uint64_t number = arrow(from, part);
        if (number) {
            if (!wait->part) /* its own record may come later than this one */
                acui_trace_track(out, from, "submissions", true);
            acui_trace_instant(out, &(acui_trace_event){.track = from, .at = part->entered,
                                                        .name = "awaited", .flow = number});
        }
        char text[192];
        const acui_trace_note notes[] = {{.name = "why",
                                          .text = reason(wait, text, sizeof text)},
                                         {.name = "how", .text = how[wait->how]},
                                         {.name = "submission", .number = wait->owner}};
        acui_trace_instant(out, &(acui_trace_event){.track = track, .at = part->entered,
                                                    .name = "behind", .file = wait->file,
                                                    .line = wait->line, .flow_to = number,
                                                    .notes = notes, .note_count = 3});
    }
}

/* On the track of the stream, if the device's times are known; a stream runs one part at a time. */
static void write_device(acui_trace_out *out, const acui_task_record *part,
                         const acui_trace_event *like)
{
    char name[64];
    snprintf(name, sizeof name, "device %d stream %llu", part->device,
             (unsigned long long)part->stream);
    acui_trace_event event = *like;
    event.track = acui_track(ACUI_TRACK_STREAM, (uint64_t)part->device << 32 | part->stream);
    event.at = part->began;
    acui_trace_track(out, event.track, name, false);
    slice(out, &event, part->ended);
}

static const char *served(const acui_task_record *part)
{
    if (part->host)
        return "host";
    if (part->together > 1)
        return "one graph with others";
    return part->runs && part->runs->hit ? "executable graph" : "direct";
}

/* What a part does: its first operation's kind and name, and how many there are besides. */
typedef struct summary {
    const char *kind;
    char name[ACUI_OP_NAME + 32];
} summary;

static summary sum_up(const acui_task_record *part)
{
    static const char *const kinds[] = {
#define ACU_X(id, name, counted) name,
        ACUI_NODES(ACU_X)
#undef ACU_X
    };
    const acui_node_record *subject = subject_of(part);
    summary s = {.kind = subject ? kinds[subject->kind] : "nothing"};
    acui_text_copy(s.name, sizeof s.name, subject ? subject->name : "nothing");
    const acui_node_record *end = part->nodes + part->node_count;
    for (const acui_node_record *node = subject; node && node < end; node++)
        if (node->kind != subject->kind)
            s.kind = "several";
    unsigned more = subject ? (unsigned)(end - subject) - 1 : 0;
    if (more)
        snprintf(s.name, sizeof s.name, "%s and %u more", subject->name, more);
    return s;
}

/* What became of the part: it waited, was issued, was on the device or on its way there, and ended
 * before that was noticed. */
static void write_stages(acui_trace_out *out, uint64_t track, const acui_task_record *part)
{
    uint64_t end = at_least(part->over, part->entered);
    uint64_t issue = part->issue ? part->issue : end;
    uint64_t issued = at_least(part->issued, issue);
    uint64_t began = at_least(part->began, issue), ended = at_least(part->ended, began);
    if (part->ended && began < issued)
        issued = began; /* the device did not wait until issuing was over */
    write_waits(out, track, part);
    slice(out, &(acui_trace_event){.track = track, .at = part->entered, .name = "waits"}, issue);
    if (part->issued)
        slice(out, &(acui_trace_event){.track = track, .at = issue, .name = "issue"}, issued);
    if (!part->ended)
        return;
    slice(out, &(acui_trace_event){.track = track, .at = issued, .name = "on its way"}, began);
    slice(out, &(acui_trace_event){.track = track, .at = began, .name = "on the device"}, ended);
    slice(out, &(acui_trace_event){.track = track, .at = ended, .name = "to be noticed"}, end);
}

static void write_part(acui_trace_out *out, const acui_record *record, const acui_task_record *part)
{
    const acui_node_record *node = subject_of(part);
    const summary does = sum_up(part);
    const acui_trace_note notes[] = {
        {.name = "submission", .number = record->number},
        {.name = "part", .number = (uint64_t)part->number},
        {.name = "kind", .text = does.kind},
        {.name = "issued as", .text = served(part)},
        {.name = "device", .number = (uint64_t)part->device},
        {.name = "stream", .number = part->stream},
        {.name = part->ended ? "device_ns" : "not timed",
         .number = part->ended ? part->ended - part->began : 1}};
    acui_trace_event event = {.track = acui_track(ACUI_TRACK_PART, part->id), .at = part->entered,
                              .name = does.name, .notes = notes,
                              .note_count = part->ended || part->spared ? 7 : 6};
    if (node && node->site.file) {
        event.file = node->site.file;
        event.line = node->site.line;
    }
    acui_trace_track(out, event.track, "parts", true);
    acui_trace_begin(out, &event);
    write_stages(out, event.track, part);
    acui_trace_end(out, event.track, at_least(part->over, part->entered));
    if (part->ended)
        write_device(out, part, &event);
    if (part->issued && part->issuer) {
        event.track = acui_trace_thread(out, part->issuer);
        event.at = part->issue;
        slice(out, &event, part->issued);
    }
}

static const char *name_of(const acui_record *record)
{
    const acui_node_record *node = record->parts ? subject_of(record->parts) : NULL;
    return record->name[0] ? record->name : node ? node->name : "submission";
}

static void write_submission(acui_trace_out *out, const acui_record *record)
{
    const acui_trace_note notes[] = {{.name = "submission", .number = record->number},
                                     {.name = "parts", .number = (uint64_t)record->count},
                                     {.name = "status", .text = acu_status_name(record->status)}};
    acui_trace_event event = {.track = acui_track(ACUI_TRACK_SUBMISSION, record->number),
                              .at = record->composed,
                              .name = name_of(record),
                              .notes = notes,
                              .note_count = 3};
    acui_trace_track(out, event.track, "submissions", true);
    acui_trace_begin(out, &event);
    slice(out, &(acui_trace_event){.track = event.track, .at = record->composed, .name = "plan"},
          record->planned);
    acui_trace_end(out, event.track, at_least(record->over, record->planned));
    event.track = acui_trace_thread(out, record->thread);
    slice(out, &event, record->planned);
    acui_trace_count(out, "submissions in flight", 0, false, record->composed, record->flying);
    acui_trace_count(out, "submissions in flight", 0, false, record->over, record->flying_then);
}

static acui_record *record_of(acui_trace_record *traced)
{
    return (acui_record *)((char *)traced - offsetof(acui_record, traced));
}

static void write_record(acui_trace_record *traced, acui_trace_out *out)
{
    acui_record *record = record_of(traced);
    acui_record_lock(record);
    write_submission(out, record);
    for (const acui_task_record *part = record->parts; part; part = part->next)
        if (part->entered)
            write_part(out, record, part);
    acui_record_unlock(record);
}

static void drop_record(acui_trace_record *traced)
{
    acui_record_put(record_of(traced));
}

/* ---- what threads do besides ---- */

typedef struct span {
    acui_trace_record record;
    const char *what;
    acui_record *of; /* of the submission, which is over; NULL: of none in particular */
    uint64_t from, to;
    pid_t thread;
} span;

static void write_span(acui_trace_record *traced, acui_trace_out *out)
{
    const span *s = (const span *)traced;
    uint64_t number = s->of ? s->of->number : 0;
    const acui_trace_note notes[] = {{.name = "submission", .number = number},
                                     {.name = "of", .text = number ? s->of->name : ""}};
    acui_trace_event event = {.track = acui_trace_thread(out, s->thread), .at = s->from,
                              .name = s->what, .notes = notes, .note_count = number ? 2 : 0};
    slice(out, &event, s->to);
    if (!number)
        return;
    event.track = acui_track(ACUI_TRACK_SUBMISSION, number);
    acui_trace_instant(out, &event);
}

static void drop_span(acui_trace_record *traced)
{
    acui_record_put(((span *)traced)->of);
    acui_free(traced);
}

void acui_trace_span(const char *what, acu_future *future, uint64_t from)
{
    span *s = ACUI_NEW(span);
    if (!s) {
        acui_trace_lose();
        return;
    }
    s->record = (acui_trace_record){.write = write_span, .drop = drop_span};
    s->what = what;
    s->from = from;
    s->to = acui_now();
    s->thread = acui_thread_id();
    const acui_submission *submission = future ? future->submission : NULL;
    if (submission && submission->record) {
        s->of = submission->record;
        atomic_fetch_add_explicit(&s->of->refs, 1, memory_order_relaxed);
    }
    acui_trace_push(&s->record);
}

/* ---- counters ---- */

static void sample(acui_trace_out *out)
{
    for (int i = 0; i < ACUI_MAX_DEVICES; i++) {
        acu_device *device = acui_device_find(i);
        if (!device)
            continue;
        char name[64];
        acu_pool_statistics stats = {.size = sizeof stats};
        if (acu_pool_stats(acu_device_pool(device), &stats) == ACU_OK) {
            uint64_t now = acui_now();
            unsigned number = 1 + 2 * (unsigned)i;
            snprintf(name, sizeof name, "device %d memory in use", i);
            acui_trace_count(out, name, number, true, now, stats.in_use);
            snprintf(name, sizeof name, "device %d memory held", i);
            acui_trace_count(out, name, number + 1, true, now, stats.held);
        }
        acu_device_release(device);
    }
}

void acui_trace_record_put(acui_record *record)
{
    if (!acui_tracing())
        return;
    acui_trace_set_sample(sample);
    record->traced = (acui_trace_record){.write = write_record, .drop = drop_record};
    atomic_fetch_add_explicit(&record->refs, 1, memory_order_relaxed);
    acui_trace_push(&record->traced);
}
