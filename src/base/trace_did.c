/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads do besides submissions and seldom, and what takes long: slices on their tracks. */
#include "base/trace.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct deed {
    acui_trace_record record;
    const char *what; /* static */
    uint64_t from, to;
    pid_t thread;
    char name[128];
} deed;

static void write_deed(acui_trace_record *record, acui_trace_out *out)
{
    const deed *d = (const deed *)record;
    const acui_trace_note note = {.name = "did", .text = d->what};
    acui_trace_event event = {.track = acui_trace_thread(out, d->thread), .at = d->from,
                              .name = d->name, .notes = &note, .note_count = 1};
    acui_trace_begin(out, &event);
    acui_trace_end(out, event.track, d->to);
}

static void drop_deed(acui_trace_record *record)
{
    acui_free(record);
}

void acui_trace_did(uint64_t from, const char *what, const char *format, ...)
{
    va_list args;
    if (!from || !acui_tracing())
        return;
    deed *d = ACUI_NEW(deed);
    if (!d) {
        acui_trace_lose();
        return;
    }
    d->record = (acui_trace_record){.write = write_deed, .drop = drop_deed};
    d->what = what;
    d->from = from;
    d->to = acui_now();
    d->thread = acui_thread_id();
    int used = snprintf(d->name, sizeof d->name, "%s ", what);
    va_start(args, format);
    vsnprintf(d->name + used, sizeof d->name - (size_t)used, format, args);
    va_end(args);
    acui_trace_push(&d->record);
}
