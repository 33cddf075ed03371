/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads do besides submissions and seldom, and what takes long: slices on their tracks. */
#include "base/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct slice {
    const char *what; /* static */
    uint64_t from, to;
    pid_t thread;
    char name[];
} slice;

static void write_slice(const void *record, acui_trace_out *out)
{
    const slice *s = record;
    const acui_trace_note note = {.name = "action", .text = s->what};
    acui_trace_event event = {.track = acui_trace_thread(out, s->thread), .at = s->from,
                              .name = s->name, .notes = &note, .note_count = 1};
    acui_trace_begin(out, &event);
    acui_trace_end(out, event.track, s->to);
}

void acui_trace_slice(uint64_t from, const char *what, const char *format, ...)
{
    va_list args;
    char name[128];
    if (!from || !acui_tracing())
        return;
    uint64_t to = acui_now();
    pid_t thread = acui_thread_id();
    int used = snprintf(name, sizeof name, "%s ", what);
    va_start(args, format);
    vsnprintf(name + used, sizeof name - (size_t)used, format, args);
    va_end(args);
    size_t bytes = strlen(name) + 1;
    slice *s = acui_trace_get(write_slice, sizeof *s + bytes);
    if (!s)
        return;
    *s = (slice){.what = what, .from = from, .to = to, .thread = thread};
    memcpy(s->name, name, bytes);
    acui_trace_put();
}
