/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "support/pftrace.h"

#include "support/support.h"

#include <stdio.h>

typedef struct part { /* of the file */
    const unsigned char *at, *end;
} part;

typedef struct field {
    unsigned number, type;
    uint64_t value;
    part body;
} field;

static uint64_t varint(part *p)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(p->at < p->end && shift < 64);
        value |= (uint64_t)(*p->at & 0x7f) << shift;
        if (!(*p->at++ & 0x80))
            return value;
    }
}

static bool next(part *p, field *f)
{
    if (p->at == p->end)
        return false;
    uint64_t key = varint(p);
    *f = (field){.number = (unsigned)(key >> 3), .type = key & 7};
    if (f->type == 0) {
        f->value = varint(p);
    } else if (f->type == 1) {
        assert_true(p->end - p->at >= 8);
        for (unsigned i = 0; i < 8; i++)
            f->value |= (uint64_t)*p->at++ << 8 * i;
    } else {
        assert_int_equal(f->type, 2);
        uint64_t length = varint(p);
        assert_true(length <= (uint64_t)(p->end - p->at));
        f->body = (part){p->at, p->at + length};
        p->at += length;
    }
    return true;
}

static void text(char *to, size_t room, part body)
{
    size_t n = (size_t)(body.end - body.at);
    n = n < room - 1 ? n : room - 1;
    memcpy(to, body.at, n);
    to[n] = 0;
}
#define TEXT(to, body) text((to), sizeof(to), (body))

static void note(pf_event *e, part p)
{
    char name[64] = "", words[64] = "";
    uint64_t number = 0;
    for (field f; next(&p, &f);) {
        if (f.number == 10)
            TEXT(name, f.body);
        else if (f.number == 6)
            TEXT(words, f.body);
        else if (f.number == 3)
            number = f.value;
    }
    const struct { const char *name; char *to; } texts[] = {{"why", e->why}, {"how", e->how},
        {"kind", e->kind}, {"issued as", e->as}, {"status", e->status}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0)
            memcpy(texts[i].to, words, sizeof words);
    if (strcmp(name, "submission") == 0)
        e->submission = number;
    if (strcmp(name, "device_ns") == 0)
        e->device_ns = number;
}

static void event(pf_event *e, part p)
{
    for (field f; next(&p, &f);) {
        switch (f.number) {
        case 4: note(e, f.body); break;
        case 9: e->type = (int)f.value; break;
        case 11: e->track = f.value; break;
        case 23: TEXT(e->name, f.body); break;
        case 30: e->value = f.value; break;
        case 47: e->flow = f.value; break;
        case 48: e->flow_end = f.value; break;
        case 33:
            for (field g; next(&f.body, &g);) {
                if (g.number == 2)
                    TEXT(e->file, g.body);
                else if (g.number == 4)
                    e->line = (int)g.value;
            }
            break;
        default: break;
        }
    }
}

static void track(pf_track *t, part p)
{
    for (field f; next(&p, &f);) {
        if (f.number == 1)
            t->uuid = f.value;
        else if (f.number == 5)
            t->parent = f.value;
        else if (f.number == 2)
            TEXT(t->name, f.body);
        else if (f.number == 3 || f.number == 4)
            for (field g; next(&f.body, &g);) {
                if (g.number == 1)
                    t->pid = (long)g.value;
                else if (g.number == 2 && f.number == 4)
                    t->tid = (long)g.value;
                else if (g.number == 5 && f.number == 4)
                    TEXT(t->name, g.body);
            }
    }
}

static void packet(pf_trace *trace, part p)
{
    pf_event e = {0};
    pf_track t = {0};
    bool has_event = false, has_track = false;
    for (field f; next(&p, &f);) {
        if (f.number == 8)
            e.at = f.value;
        else if (f.number == 6)
            trace->clocks = true;
        if (f.number == 11) {
            event(&e, f.body);
            has_event = true;
        } else if (f.number == 60) {
            track(&t, f.body);
            has_track = true;
        }
    }
    if (has_event) {
        trace->events = realloc(trace->events, (trace->event_count + 1) * sizeof e);
        assert_non_null(trace->events);
        trace->events[trace->event_count++] = e;
    }
    if (has_track) {
        trace->tracks = realloc(trace->tracks, (trace->track_count + 1) * sizeof t);
        assert_non_null(trace->tracks);
        trace->tracks[trace->track_count++] = t;
    }
}

/* The place of the end of the slice, which lies inside of whatever is open around it. Slices of
 * one track that are written one after the other may lie in any order. */
static void match(pf_trace *trace, size_t from)
{
    pf_event *begin = &trace->events[from];
    size_t depth = 1, i = from + 1;
    for (; i < trace->event_count; i++) {
        const pf_event *e = &trace->events[i];
        if (e->track != begin->track || (e->type != PF_BEGIN && e->type != PF_END))
            continue;
        assert_true(e->at >= begin->at);
        depth += e->type == PF_BEGIN ? 1 : -(size_t)1;
        if (depth == 0)
            break;
    }
    assert_true(i < trace->event_count);
    begin->end = trace->events[i].at;
    for (size_t k = from + 1; k < i; k++)
        if (trace->events[k].track == begin->track)
            assert_true(trace->events[k].at <= begin->end);
}

static unsigned char *load(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    unsigned char *data = malloc((size_t)size + 1);
    assert_non_null(data);
    *bytes = fread(data, 1, (size_t)size, file);
    assert_int_equal(*bytes, (size_t)size);
    fclose(file);
    return data;
}

pf_trace pf_read(const char *path)
{
    pf_trace trace = {0};
    unsigned char *data = load(path, &trace.bytes);
    part all = {data, data + trace.bytes};
    for (field f; next(&all, &f);) {
        assert_true(f.number == 1 && f.type == 2);
        packet(&trace, f.body);
    }
    free(data);
    for (size_t i = 0; i < trace.event_count; i++)
        if (trace.events[i].type == PF_BEGIN)
            match(&trace, i);
    return trace;
}

void pf_free(pf_trace *trace)
{
    free(trace->events);
    free(trace->tracks);
    *trace = (pf_trace){0};
}

const pf_track *pf_track_of(const pf_trace *trace, uint64_t uuid)
{
    for (size_t i = 0; i < trace->track_count; i++)
        if (trace->tracks[i].uuid == uuid)
            return &trace->tracks[i];
    return NULL;
}

const pf_event *pf_find(const pf_trace *trace, const char *track, const char *name,
                        const pf_event *after)
{
    for (size_t i = after ? (size_t)(after - trace->events) + 1 : 0; i < trace->event_count; i++) {
        const pf_event *e = &trace->events[i];
        const pf_track *t = track ? pf_track_of(trace, e->track) : NULL;
        if (e->type != PF_END && strcmp(e->name, name) == 0 &&
            (!track || (t && strcmp(t->name, track) == 0)))
            return e;
    }
    return NULL;
}
