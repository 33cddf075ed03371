/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda trace --plan: what came behind what, as a graph. A box is a part of a submission, in a
 * frame for each submission; an arrow leads to it from what it came behind. dot.c has it drawn.
 */
#include "dot.h"
#include "trace_read.h"

#include <stdlib.h>
#include <string.h>

#define MOST 300 /* boxes: more can not be looked at, and take dot minutes */

typedef struct box { /* a part of a submission */
    const trace_slice *slice;
    uint64_t device_ns; /* 0: not known */
    unsigned loads;     /* that it waited for: no arrows, since many parts wait for the same ones */
} box;

typedef struct plan {
    const trace_file *trace;
    uint64_t from, to;
    box *boxes;
    size_t count;
    FILE *out; /* while the graph is written */
} plan;

static bool is_wait(const trace_slice *s)
{
    return s->depth < 0 && strcmp(s->name, "behind") == 0;
}

static bool is_load(const trace_slice *s)
{
    return strncmp(s->why, "loading", 7) == 0;
}

static bool is_on(const plan *p, const trace_slice *s, const char *name)
{
    const trace_track *track = trace_track_of(p->trace, s->track);
    return track && strcmp(track->name, name) == 0;
}

/* ---- what is in it ---- */

static int by_submission(const void *a, const void *b)
{
    const trace_slice *x = ((const box *)a)->slice, *y = ((const box *)b)->slice;
    return x->submission != y->submission ? (x->submission > y->submission ? 1 : -1)
                                          : (x > y) - (x < y);
}

/* The parts that were there in the window, those of a submission behind each other. */
static bool find_boxes(plan *p)
{
    box *last = NULL;
    p->boxes = calloc(p->trace->count + 1, sizeof *p->boxes);
    for (size_t i = 0; p->boxes && i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i];
        if (s->depth == 0 && is_on(p, s, "parts")) {
            last = s->end >= p->from && s->at <= p->to ? &p->boxes[p->count++] : NULL;
            if (last)
                *last = (box){.slice = s};
        } else if (last && s->track == last->slice->track) { /* what became of it follows it */
            if (s->depth == 1 && strcmp(s->name, "on the device") == 0)
                last->device_ns = s->end - s->at;
            last->loads += is_wait(s) && is_load(s);
        }
    }
    if (p->count)
        qsort(p->boxes, p->count, sizeof *p->boxes, by_submission);
    return p->boxes != NULL;
}

/* ---- as a graph ---- */

static void put_quoted(FILE *to, const char *text)
{
    for (; *text; text++)
        fprintf(to, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* Above its frame, unless it has its name of its first operation, as what has none of its own. */
static void put_name(const plan *p, uint64_t submission, const char *first)
{
    for (size_t i = 0; i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i];
        if (s->depth != 0 || s->submission != submission || !is_on(p, s, "submissions"))
            continue;
        if (strncmp(first, s->name, strlen(s->name)) != 0)
            put_quoted(p->out, s->name);
        return;
    }
}

static void put_box(const plan *p, size_t i)
{
    const box *b = &p->boxes[i];
    const trace_slice *s = b->slice;
    const char *file = strrchr(s->file, '/');
    fprintf(p->out, "    p%zu [label=\"", i);
    put_quoted(p->out, s->name);
    if (*s->file) {
        fprintf(p->out, "\\n");
        put_quoted(p->out, file ? file + 1 : s->file);
        fprintf(p->out, ":%u", s->line);
    }
    if (b->loads)
        fprintf(p->out, "\\nwaited for %u load%s", b->loads, b->loads > 1 ? "s" : "");
    if (b->device_ns)
        fprintf(p->out, b->device_ns < 1000000 ? "\\n%.1f us" : "\\n%.3f ms",
                (double)b->device_ns / (b->device_ns < 1000000 ? 1e3 : 1e6));
    if (b->device_ns)
        fprintf(p->out, " on device %llu", (unsigned long long)s->device);
    else if (strcmp(s->as, "host") == 0)
        fprintf(p->out, "\\non the host");
    fprintf(p->out, "\"];\n");
}

static void put_boxes(const plan *p)
{
    uint64_t submission = 0;
    for (size_t i = 0; i < p->count; i++) {
        uint64_t of = p->boxes[i].slice->submission;
        if (i == 0 || of != submission) {
            fprintf(p->out, "%s  subgraph cluster_%llu {\n    label=\"", i ? "  }\n" : "",
                    (unsigned long long)of);
            put_name(p, of, p->boxes[i].slice->name);
            fprintf(p->out, "\";\n");
        }
        submission = of;
        put_box(p, i);
    }
    fprintf(p->out, "  }\n");
}

static size_t box_on(const plan *p, uint64_t track)
{
    size_t i = 0;
    while (i < p->count && p->boxes[i].slice->track != track)
        i++;
    return i;
}

/* Of another submission the trace has the line of what was waited for. If none of its parts is of
 * that line, the arrow begins at its frame, which needs any part of it. */
static size_t box_of(const plan *p, const trace_slice *wait, bool *of_line)
{
    size_t found = p->count;
    *of_line = false;
    for (size_t i = 0; i < p->count && !*of_line; i++) {
        const trace_slice *s = p->boxes[i].slice;
        if (s->submission != wait->submission)
            continue;
        *of_line = s->line == wait->line && strcmp(s->file, wait->file) == 0;
        found = i;
    }
    return found;
}

/* What no box stands for: memory, or work outside of the window. */
static void put_other(const plan *p, const trace_slice *wait)
{
    char text[320];
    const char *file = strrchr(wait->file, '/');
    if (*wait->file)
        snprintf(text, sizeof text, "%s:%u", file ? file + 1 : wait->file, wait->line);
    else
        snprintf(text, sizeof text, "%s", *wait->why ? wait->why : "other work");
    fprintf(p->out, "  \"");
    put_quoted(p->out, text);
    fprintf(p->out, "\" [shape=plaintext, style=\"\"];\n  \"");
    put_quoted(p->out, text);
    fprintf(p->out, "\"");
}

/* `before` has the arrow's other end: it stands right before the wait. */
static void put_wait(const plan *p, size_t to, const trace_slice *wait, const trace_slice *before)
{
    bool of_line = true;
    bool waits = strcmp(wait->how, "event") == 0 || strcmp(wait->how, "on the host") == 0;
    size_t from = p->count;
    if (wait->flow_to && before->flow == wait->flow_to)
        from = box_on(p, before->track);
    if (from == p->count && wait->submission)
        from = box_of(p, wait, &of_line);
    if (from < p->count)
        fprintf(p->out, "  p%zu", from);
    else
        put_other(p, wait);
    fprintf(p->out, " -> p%zu [style=%s", to, waits ? "bold" : "dashed");
    if (from < p->count && !of_line)
        fprintf(p->out, ", ltail=cluster_%llu", (unsigned long long)wait->submission);
    if (from < p->count || *wait->file)
        fprintf(p->out, ", label=\"%s\"", wait->why);
    fprintf(p->out, "];\n");
}

static void put_graph(void *of, FILE *out)
{
    plan *p = of;
    p->out = out;
    fprintf(p->out, "strict digraph plan {\n  compound=true;\n"
                    "  graph [fontname=\"sans-serif\", fontsize=11, style=\"rounded,filled\", "
                    "fillcolor=\"#f2f4f7\", color=\"#d0d5dd\"];\n"
                    "  node [fontname=\"sans-serif\", fontsize=11, shape=box, "
                    "style=\"rounded,filled\", fillcolor=\"#d3f8df\", color=\"#087443\"];\n"
                    "  edge [fontname=\"sans-serif\", fontsize=9, color=\"#7a271a\"];\n");
    put_boxes(p);
    for (size_t i = 1; i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i];
        size_t to = is_wait(s) && !is_load(s) ? box_on(p, s->track) : p->count;
        if (to < p->count)
            put_wait(p, to, s, s - 1);
    }
    fprintf(p->out, "}\n");
}

int trace_plan(const trace_file *trace, const char *path, double from_ms, double for_ms)
{
    plan p = {.trace = trace};
    int status = CLI_FAILED;
    trace_window(trace, from_ms, for_ms, &p.from, &p.to);
    if (!find_boxes(&p))
        fprintf(stderr, "acuda: out of memory\n");
    else if (!p.count)
        fprintf(stderr, "acuda: nothing happened in that time\n");
    else if (p.count > MOST)
        fprintf(stderr, "acuda: %zu parts of submissions within %.3f ms: too many for a picture "
                        "(%d); name a shorter time with --from and --for, in milliseconds\n",
                p.count, (double)(p.to - p.from) / 1e6, MOST);
    else
        status = dot_write(path, put_graph, &p);
    free(p.boxes);
    return status;
}
