/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads do besides submissions and seldom, and what takes long: slices on their tracks. */
#include "base/trace.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct slice {
    acui_trace_record record;
    const char *what; /* static */
    uint64_t from, to;
    pid_t thread;
    char name[128];
} slice;

static void write_slice(acui_trace_record *record, acui_trace_out *out)
{
    const slice *s = (const slice *)record;
    const acui_trace_note note = {.name = "action", .text = s->what};
    acui_trace_event event = {.track = acui_trace_thread(out, s->thread), .at = s->from,
                              .name = s->name, .notes = &note, .note_count = 1};
    acui_trace_begin(out, &event);
    acui_trace_end(out, event.track, s->to);
}

static void drop_slice(acui_trace_record *record)
{
    acui_free(record);
}

void acui_trace_slice(uint64_t from, const char *what, const char *format, ...)
{
    va_list args;
    if (!from || !acui_tracing())
        return;
    slice *s = ACUI_NEW(slice);
    if (!s) {
        acui_trace_lose();
        return;
    }
    s->record = (acui_trace_record){.write = write_slice, .drop = drop_slice};
    s->what = what;
    s->from = from;
    s->to = acui_now();
    s->thread = acui_thread_id();
    int used = snprintf(s->name, sizeof s->name, "%s ", what);
    va_start(args, format);
    vsnprintf(s->name + used, sizeof s->name - (size_t)used, format, args);
    va_end(args);
    acui_trace_push(&s->record);
}
