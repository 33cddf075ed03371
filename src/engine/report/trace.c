/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records for the trace (base/trace.h): of a submission that is over and of its parts, from its
 * record, with all that is shown and no more; and of what threads do for futures besides. They are
 * made by the thread that completes it, and written by the trace's. */
#include "base/text.h"
#include "engine/future.h"
#include "engine/report/record.h"
#include "memory/pool.h"

#include <stddef.h>
#include <stdio.h>

/* ---- records ---- */

enum {
    TEXT = ACUI_OP_NAME + 112, /* bytes of a text at most */
    PIECE = 64 * 1024          /* of parts in one record, about: a submission may have many */
};

typedef struct shown_submission {
    uint64_t number, composed, planned, over;
    uint32_t flying, flying_then, parts;
    uint32_t told; /* the parts behind it, of those of which something is known */
    bool again;    /* only these: a record before this one has the submission */
    pid_t thread;
    acu_status status;
    char name[ACUI_OP_NAME];
} shown_submission;

typedef struct shown_wait {
    uint64_t from;  /* the track of what was waited for; 0: it has none */
    uint64_t owner; /* its submission */
    const char *file, *why;
    int line;
    uint32_t loaded; /* where it says what is loaded, behind the part; 0: nothing, or not known */
    acui_how how;
} shown_wait;

typedef struct shown_part {
    size_t bytes; /* of all of it, to the next one */
    uint64_t submission, id, stream;
    uint64_t entered, issue, issued, began, ended, over;
    const char *kind, *as, *file, *name;
    int line, device, number;
    uint32_t more; /* operations besides the one whose name it has */
    pid_t issuer;
    bool spared;
    size_t wait_count;
    shown_wait waits[]; /* and behind them text */
} shown_part;

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

/* Arrows are numbered by both ends. */
static uint64_t arrow(uint64_t from, const shown_part *to)
{
    return from ? (from * UINT64_C(0x9e3779b97f4a7c15)) ^ to->id : 0;
}

static const char *reason(const shown_part *part, const shown_wait *wait, char *text, size_t bytes)
{
    if (!wait->loaded)
        return wait->why;
    snprintf(text, bytes, "%s %s", wait->why, (const char *)part + wait->loaded);
    return text;
}

/* What the part came behind: an instant for each, at the time it was entered, with an arrow from
 * the part or the other submission that it waited for. */
static void write_waits(acui_trace_out *out, uint64_t track, const shown_part *part)
{
    static const char *const how[] = {"not issued", "over",  "on the same stream",
                                      "implied",    "event", "on the host"};
    const shown_wait *end = part->waits + part->wait_count;
    for (const shown_wait *wait = part->waits; wait < end; wait++) {
        uint64_t number = arrow(wait->from, part);
        if (number) { /* a submission's own record may come later */
            if (acui_track_kind(wait->from) == ACUI_TRACK_SUBMISSION)
                acui_trace_track(out, wait->from, "submissions", false);
            acui_trace_instant(out, &(acui_trace_event){.track = wait->from, .at = part->entered,
                                                        .name = "awaited", .flow = number});
        }
        char text[192];
        const acui_trace_note notes[] = {
            {.name = "why", .text = reason(part, wait, text, sizeof text)},
            {.name = "how", .text = how[wait->how]},
            {.name = "submission", .number = wait->owner}};
        acui_trace_instant(out, &(acui_trace_event){.track = track, .at = part->entered,
                                                    .name = "behind", .file = wait->file,
                                                    .line = wait->line, .flow_to = number,
                                                    .notes = notes, .note_count = 3});
    }
}

/* On the track of the stream, if the device's times are known; a stream runs one part at a time. */
static void write_device(acui_trace_out *out, const shown_part *part, const acui_trace_event *like)
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

/* What became of the part: it waited, was issued, was on the device or on its way there, and ended
 * before that was noticed. */
static void write_stages(acui_trace_out *out, uint64_t track, const shown_part *part)
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

static void write_part(const shown_part *part, acui_trace_out *out)
{
    char name[TEXT + 32];
    snprintf(name, sizeof name, part->more ? "%s and %u more" : "%s", part->name, part->more);
    const acui_trace_note notes[] = {
        {.name = "submission", .number = part->submission},
        {.name = "part", .number = (uint64_t)part->number},
        {.name = "kind", .text = part->kind},
        {.name = "issued as", .text = part->as},
        {.name = "device", .number = (uint64_t)part->device},
        {.name = "stream", .number = part->stream},
        {.name = part->ended ? "device_ns" : "not timed",
         .number = part->ended ? part->ended - part->began : 1}};
    acui_trace_event event = {.track = acui_track(ACUI_TRACK_PART, part->id), .at = part->entered,
                              .name = name, .file = part->file, .line = part->line, .notes = notes,
                              .note_count = part->ended || part->spared ? 7 : 6};
    acui_trace_track(out, event.track, "parts", true);
    acui_trace_begin(out, &event);
    write_stages(out, event.track, part);
    acui_trace_end(out, event.track, at_least(part->over, part->entered));
    if (part->ended)
        write_device(out, part, &event);
    if (part->issued && part->issuer) {
        event.track = acui_trace_thread(out, part->issuer);
        event.at = part->issue;
        event.note_count = 2;
        slice(out, &event, part->issued);
    }
}

static void write_itself(const shown_submission *s, acui_trace_out *out)
{
    const acui_trace_note notes[] = {{.name = "submission", .number = s->number},
                                     {.name = "parts", .number = s->parts},
                                     {.name = "status", .text = acu_status_name(s->status)}};
    acui_trace_event event = {.track = acui_track(ACUI_TRACK_SUBMISSION, s->number),
                              .at = s->composed, .name = s->name, .notes = notes, .note_count = 3};
    acui_trace_track(out, event.track, "submissions", false);
    acui_trace_begin(out, &event);
    slice(out, &(acui_trace_event){.track = event.track, .at = s->composed, .name = "plan"},
          s->planned);
    acui_trace_end(out, event.track, at_least(s->over, s->planned));
    event.track = acui_trace_thread(out, s->thread);
    slice(out, &event, s->planned);
    acui_trace_count(out, "submissions in flight", 0, false, s->composed, s->flying);
    acui_trace_count(out, "submissions in flight", 0, false, s->over, s->flying_then);
}

static void write_submission(const void *record, acui_trace_out *out)
{
    const shown_submission *s = record;
    const char *part = (const char *)(s + 1);
    if (!s->again)
        write_itself(s, out);
    for (uint32_t i = 0; i < s->told; i++) {
        write_part((const shown_part *)(const void *)part, out);
        part += ((const shown_part *)(const void *)part)->bytes;
    }
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

/* ---- a submission is over ---- */

static const char *served(const acui_task_record *part)
{
    if (part->host)
        return "host";
    if (part->together > 1)
        return "one graph with others";
    return part->runs && part->runs->hit ? "executable graph" : "direct";
}

static const char *why(const acui_wait_record *wait)
{
    return wait->memory  ? "memory"
           : wait->load   ? "loading"
           : wait->data   ? "reads what that wrote"
           : wait->wished ? "was to come later"
                          : "overwrites what that uses";
}

static size_t text_bytes(const char *text)
{
    return strnlen(text, TEXT - 1) + 1;
}

/* Copies the text to *at, which moves on. */
static const char *put_text(char **at, const char *text)
{
    char *copy = *at;
    size_t bytes = text_bytes(text);
    memcpy(copy, text, bytes - 1);
    copy[bytes - 1] = 0;
    *at += bytes;
    return copy;
}

/* What was over when the part was entered, or issued, did not make it wait: it is left out. */
static bool is_told(const acui_wait_record *wait)
{
    return wait->how != ACUI_HOW_OVER;
}

static bool says_what(const acui_wait_record *wait)
{
    return wait->load && !wait->memory && wait->loaded;
}

/* With texts from `text` on; returns where they end. */
static char *tell_waits(shown_part *told, const acui_task_record *part, char *text)
{
    shown_wait *to = told->waits;
    for (const acui_wait_record *wait = part->waits; wait < part->waits + part->wait_count; wait++)
        if (is_told(wait)) {
            *to = (shown_wait){
                .from = wait->part    ? acui_track(ACUI_TRACK_PART, wait->part->id)
                        : wait->owner ? acui_track(ACUI_TRACK_SUBMISSION, wait->owner)
                                      : 0,
                .owner = wait->owner,
                .file = wait->file,
                .line = wait->line,
                .why = why(wait),
                .how = wait->how};
            if (says_what(wait))
                to->loaded = (uint32_t)(put_text(&text, wait->loaded) - (char *)told);
            to++;
        }
    told->wait_count = (size_t)(to - told->waits);
    return text;
}

/* Of what is told of the part; 0: nothing became of it. */
static size_t part_bytes(const acui_task_record *part)
{
    size_t bytes = sizeof(shown_part) + text_bytes(part->name);
    for (const acui_wait_record *wait = part->waits; wait < part->waits + part->wait_count; wait++)
        if (is_told(wait))
            bytes += sizeof(shown_wait) + (says_what(wait) ? text_bytes(wait->loaded) : 0);
    return part->entered ? (bytes + 7) & ~(size_t)7 : 0;
}

/* Returns the end of what part_bytes said that it takes. */
static char *tell_part(shown_part *told, const acui_record *record, const acui_task_record *part)
{
    size_t waits = 0;
    for (uint32_t i = 0; i < part->wait_count; i++)
        waits += is_told(&part->waits[i]);
    char *text = (char *)&told->waits[waits];
    *told = (shown_part){.submission = record->number,
                         .id = part->id,
                         .stream = part->stream,
                         .entered = part->entered,
                         .issue = part->issue,
                         .issued = part->issued,
                         .began = part->began,
                         .ended = part->ended,
                         .over = part->over,
                         .kind = part->kind,
                         .as = served(part),
                         .file = part->site.file,
                         .line = part->site.line,
                         .name = put_text(&text, part->name),
                         .device = part->device,
                         .number = part->number,
                         .more = part->more,
                         .issuer = part->issuer,
                         .spared = part->spared};
    text = tell_waits(told, part, text);
    told->bytes = ((size_t)(text - (char *)told) + 7) & ~(size_t)7;
    return (char *)told + told->bytes;
}

/* Parts from `part` on, before the first the submission. Returns the first that is left for the
 * next piece; NULL: none. */
static const acui_task_record *tell_piece(const acui_submission *submission,
                                          const acui_task_record *part)
{
    const acui_record *record = submission->record;
    const acui_task_record *end = part;
    size_t bytes = sizeof(shown_submission);
    for (; end && bytes < PIECE; end = end->next)
        bytes += part_bytes(end);
    shown_submission *told = acui_trace_get(write_submission, bytes);
    if (!told)
        return end;
    *told = (shown_submission){.number = record->number,
                               .composed = record->composed,
                               .planned = record->planned,
                               .over = record->over,
                               .flying = record->flying,
                               .flying_then = record->flying_then,
                               .parts = (uint32_t)record->count,
                               .again = part != record->parts,
                               .thread = record->thread,
                               .status = record->status};
    const char *name = submission->asked.name;
    if (!name[0])
        name = record->parts ? record->parts->name : "submission";
    acui_text_copy(told->name, sizeof told->name, name);
    char *at = (char *)(told + 1);
    for (; part != end; part = part->next)
        if (part->entered) {
            at = tell_part((shown_part *)(void *)at, record, part);
            told->told++;
        }
    acui_trace_put();
    return end;
}

void acui_trace_submission(const acui_submission *submission)
{
    const acui_task_record *part = submission->record->parts;
    if (!acui_tracing())
        return;
    acui_trace_set_sample(sample);
    do
        part = tell_piece(submission, part);
    while (part);
}

/* ---- what threads do besides ---- */

typedef struct span {
    const char *what; /* static */
    uint64_t from, to;
    uint64_t number; /* of the submission, which is over; 0: of none in particular */
    pid_t thread;
    char name[ACUI_OP_NAME];
} span;

static void write_span(const void *record, acui_trace_out *out)
{
    const span *s = record;
    const acui_trace_note notes[] = {{.name = "submission", .number = s->number},
                                     {.name = "of", .text = s->name}};
    acui_trace_event event = {.track = acui_trace_thread(out, s->thread), .at = s->from,
                              .name = s->what, .notes = notes, .note_count = s->number ? 2 : 0};
    if (s->to > s->from)
        slice(out, &event, s->to);
    else
        acui_trace_instant(out, &event);
    if (!s->number)
        return;
    event.track = acui_track(ACUI_TRACK_SUBMISSION, s->number);
    acui_trace_track(out, event.track, "submissions", false); /* what was given up is not over */
    acui_trace_instant(out, &event);
}

void acui_trace_span(const char *what, acu_future *future, uint64_t from, uint64_t to)
{
    /* What was given up early may be in a runtime thread's hands still. */
    bool there = future && atomic_load_explicit(&future->planned, memory_order_acquire);
    const acui_submission *of = there && future->submission->record ? future->submission : NULL;
    pid_t thread = acui_thread_id();
    span *s = acui_trace_get(write_span, sizeof *s);
    if (!s)
        return;
    *s = (span){.what = what, .from = from, .to = to, .thread = thread,
                .number = of ? of->record->number : 0};
    if (of)
        acui_text_copy(s->name, sizeof s->name, of->asked.name);
    acui_trace_put();
}
