/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a trace, by the field numbers of Perfetto's public schema. */
#include "trace_read.h"

#include <stdlib.h>
#include <string.h>

typedef struct part { /* of the file: a message, or a string */
    const unsigned char *at, *end;
} part;

typedef struct field {
    unsigned number;
    uint64_t value;
    part body;
} field;

static bool read_varint(part *p, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; p->at < p->end && shift < 64; shift += 7) {
        unsigned char byte = *p->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* false: there is no more, or what follows is cut off, or is no field. */
static bool next(part *p, field *f)
{
    uint64_t key, length;
    if (p->at >= p->end || !read_varint(p, &key))
        return false;
    *f = (field){.number = (unsigned)(key >> 3)};
    switch (key & 7) {
    case 0:
        return read_varint(p, &f->value);
    case 1:
    case 5:
        length = (key & 7) == 1 ? 8 : 4;
        break;
    case 2:
        if (!read_varint(p, &length))
            return false;
        break;
    default:
        return false;
    }
    if (length > (uint64_t)(p->end - p->at))
        return false;
    f->body = (part){p->at, p->at + length};
    p->at += length;
    return true;
}

static uint64_t fixed64(part p)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8 && p.at + i < p.end; i++)
        value |= (uint64_t)p.at[i] << 8 * i;
    return value;
}

/* ---- strings ---- */

static size_t place_of(char *const *strings, size_t room, const unsigned char *text, size_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ text[i]) * 1099511628211u;
    size_t place = (size_t)hash & (room - 1);
    while (strings[place] && (strlen(strings[place]) != length ||
                              memcmp(strings[place], text, length) != 0))
        place = (place + 1) & (room - 1);
    return place;
}

static bool grow_strings(trace_file *trace)
{
    size_t room = trace->string_room ? 2 * trace->string_room : 256;
    char **strings = calloc(room, sizeof *strings);
    if (!strings)
        return false;
    for (size_t i = 0; i < trace->string_room; i++)
        if (trace->strings[i])
            strings[place_of(strings, room, (const unsigned char *)trace->strings[i],
                             strlen(trace->strings[i]))] = trace->strings[i];
    free(trace->strings);
    trace->strings = strings;
    trace->string_room = room;
    return true;
}

static const char *keep(trace_file *trace, part text)
{
    const void *nul = memchr(text.at, 0, (size_t)(text.end - text.at));
    size_t length = (size_t)((nul ? (const unsigned char *)nul : text.end) - text.at);
    if (2 * trace->string_count >= trace->string_room && !grow_strings(trace))
        return "";
    size_t place = place_of(trace->strings, trace->string_room, text.at, length);
    if (!trace->strings[place]) {
        char *copy = malloc(length + 1);
        if (!copy)
            return "";
        memcpy(copy, text.at, length);
        copy[length] = 0;
        trace->strings[place] = copy;
        trace->string_count++;
    }
    return trace->strings[place];
}

/* ---- tracks ---- */

static void read_thread(trace_file *trace, trace_track *track, part p)
{
    for (field f; next(&p, &f);) {
        if (f.number == 2)
            track->thread = f.value;
        else if (f.number == 5)
            track->name = keep(trace, f.body);
    }
}

static void read_process(trace_file *trace, part p)
{
    for (field f; next(&p, &f);) {
        if (f.number == 1)
            trace->pid = f.value;
        else if (f.number == 6)
            trace->process = keep(trace, f.body);
    }
}

static bool read_track(trace_file *trace, part p)
{
    trace_track track = {.name = ""};
    for (field f; next(&p, &f);) {
        if (f.number == 1)
            track.id = f.value;
        else if (f.number == 2)
            track.name = keep(trace, f.body);
        else if (f.number == 3)
            read_process(trace, f.body);
        else if (f.number == 4)
            read_thread(trace, &track, f.body);
    }
    if (trace->track_count == trace->track_room) {
        size_t room = trace->track_room ? 2 * trace->track_room : 256;
        trace_track *grown = realloc(trace->tracks, room * sizeof *grown);
        if (!grown)
            return false;
        trace->tracks = grown;
        trace->track_room = room;
    }
    trace->tracks[trace->track_count++] = track;
    return true;
}

/* ---- events ---- */

static void read_note(trace_file *trace, trace_slice *slice, part p)
{
    const char *name = "", *text = "";
    uint64_t number = 0;
    for (field f; next(&p, &f);) {
        if (f.number == 10)
            name = keep(trace, f.body);
        else if (f.number == 6)
            text = keep(trace, f.body);
        else if (f.number == 3)
            number = f.value;
    }
    const struct {
        const char *name, **to;
    } texts[] = {{"why", &slice->why}, {"how", &slice->how}, {"kind", &slice->kind},
                 {"issued as", &slice->as}, {"status", &slice->status}, {"action", &slice->action}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0)
            *texts[i].to = text;
    if (strcmp(name, "submission") == 0)
        slice->submission = number;
    else if (strcmp(name, "device") == 0)
        slice->device = number;
    else if (strcmp(name, "not timed") == 0)
        slice->not_timed = number != 0;
}

static void read_location(trace_file *trace, trace_slice *slice, part p)
{
    for (field f; next(&p, &f);) {
        if (f.number == 2)
            slice->file = keep(trace, f.body);
        else if (f.number == 4)
            slice->line = (unsigned)f.value;
    }
}

static bool add_slice(trace_file *trace, const trace_slice *slice)
{
    if (trace->count == trace->room) {
        size_t room = trace->room ? 2 * trace->room : 1024;
        trace_slice *grown = realloc(trace->slices, room * sizeof *grown);
        if (!grown)
            return false;
        trace->slices = grown;
        trace->room = room;
    }
    trace->slices[trace->count++] = *slice;
    return true;
}

static bool begin(trace_file *trace, trace_slice *slice)
{
    slice->depth = 0;
    for (size_t i = 0; i < trace->open_count; i++)
        slice->depth += trace->slices[trace->open[i]].track == slice->track;
    if (trace->open_count < sizeof trace->open / sizeof *trace->open)
        trace->open[trace->open_count++] = trace->count;
    return add_slice(trace, slice);
}

/* The end of what began last on the track. */
static void end(trace_file *trace, uint64_t track, uint64_t at)
{
    for (size_t i = trace->open_count; i-- > 0;)
        if (trace->slices[trace->open[i]].track == track) {
            trace->slices[trace->open[i]].end = at;
            memmove(trace->open + i, trace->open + i + 1,
                    (--trace->open_count - i) * sizeof *trace->open);
            return;
        }
}

static bool read_event(trace_file *trace, part p, uint64_t at)
{
    trace_slice s = {.at = at, .end = at, .name = "", .file = "", .why = "", .how = "", .kind = "",
                     .as = "", .status = "", .action = "", .depth = -1};
    uint64_t type = 0;
    for (field f; next(&p, &f);) {
        switch (f.number) {
        case 4: read_note(trace, &s, f.body); break;
        case 9: type = f.value; break;
        case 11: s.track = f.value; break;
        case 23: s.name = keep(trace, f.body); break;
        case 33: read_location(trace, &s, f.body); break;
        case 47: s.flow = fixed64(f.body); break;
        case 48: s.flow_to = fixed64(f.body); break;
        default: break;
        }
    }
    if (type == 1)
        return begin(trace, &s);
    if (type == 2)
        end(trace, s.track, at);
    return type != 3 || add_slice(trace, &s);
}

static bool read_packet(trace_file *trace, part p)
{
    uint64_t at = 0;
    part event = {0}, track = {0};
    for (field f; next(&p, &f);) {
        if (f.number == 8)
            at = f.value;
        else if (f.number == 11)
            event = f.body;
        else if (f.number == 60)
            track = f.body;
    }
    return (!event.at || read_event(trace, event, at)) && (!track.at || read_track(trace, track));
}

bool trace_add(trace_file *trace, const char *path)
{
    size_t bytes, packets = 0;
    char *data = cli_read_file(path, &bytes);
    if (!data)
        return false;
    part all = {(const unsigned char *)data, (const unsigned char *)data + bytes};
    bool room = true;
    for (field f; room && next(&all, &f) && f.number == 1 && f.body.at; packets++)
        room = read_packet(trace, f.body);
    free(data);
    if (!room)
        fprintf(stderr, "acuda: %s: out of memory\n", path);
    else if (!bytes)
        fprintf(stderr, "acuda: %s: the file is empty\n", path);
    else if (!packets)
        fprintf(stderr, "acuda: %s: this is no trace in Perfetto's format\n", path);
    return room && packets;
}

static int by_id(const void *a, const void *b)
{
    const trace_track *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

void trace_sort(trace_file *trace)
{
    if (trace->track_count)
        qsort(trace->tracks, trace->track_count, sizeof *trace->tracks, by_id);
}

const trace_track *trace_track_of(const trace_file *trace, uint64_t id)
{
    const trace_track key = {.id = id};
    return trace->track_count ? bsearch(&key, trace->tracks, trace->track_count,
                                        sizeof *trace->tracks, by_id) : NULL;
}

void trace_window(const trace_file *trace, double from_ms, double for_ms, uint64_t *from,
                  uint64_t *to)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_slice *s = &trace->slices[i];
        first = s->at < first ? s->at : first;
        last = s->end > last ? s->end : last;
    }
    *from = first + (uint64_t)(from_ms * 1e6);
    *to = for_ms > 0 ? *from + (uint64_t)(for_ms * 1e6) : last;
}

void trace_free(trace_file *trace)
{
    for (size_t i = 0; i < trace->string_room; i++)
        free(trace->strings[i]);
    free(trace->strings);
    free(trace->tracks);
    free(trace->slices);
    *trace = (trace_file){0};
}
