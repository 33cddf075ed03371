/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda trace --svg: a trace, or a piece of it, as a picture. From above: what threads did; the
 * parts of submissions, each with its stages and arrows from what it waited for; what ran on the
 * devices' streams.
 */
#include "svg.h"
#include "trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEFT 150.0  /* for the names of rows */
#define WIDE 900.0  /* of the time in the window */
#define ROW 20.0    /* one row's height, of which BAR is filled */
#define BAR 15.0
#define TOP 28.0    /* for the marks of the time */
#define MOST 5000   /* boxes; a browser shows that many well, and nobody sees more */
#define LABELLED 80 /* up to so many parts have their names beside them */
#define LETTER 6.3  /* about the width of one */

typedef struct shown_part { /* of a submission */
    const trace_slice *slice;
    uint64_t began, ended; /* on the device, or else: when it was issued, and when it was over */
    double y;
} shown_part;

typedef struct picture {
    const trace_file *trace;
    uint64_t from, to;
    double *rows; /* y, by the index of the track; 0: not shown */
    shown_part *parts;
    size_t part_count;
    double bottom;
    FILE *out;
} picture;

static const struct {
    const char *stage, *colour;
} stages[] = {{"waits", "#cdd5df"},         {"issue", "#f79009"},
              {"on its way", "#fedf89"},    {"on the device", "#12b76a"},
              {"to be noticed", "#b2ddff"}};
#define STAGES (sizeof stages / sizeof *stages)

static double x_of(const picture *p, uint64_t at)
{
    at = at < p->from ? p->from : at > p->to ? p->to : at;
    return LEFT + WIDE * (double)(at - p->from) / (double)(p->to - p->from);
}

static bool in_window(const picture *p, const trace_slice *s)
{
    return s->end >= p->from && s->at <= p->to;
}

static size_t index_of(const picture *p, uint64_t track)
{
    const trace_track *found = trace_track_of(p->trace, track);
    return found ? (size_t)(found - p->trace->tracks) : SIZE_MAX;
}

static bool on_row(const picture *p, const trace_slice *s, const char *name)
{
    const trace_track *track = trace_track_of(p->trace, s->track);
    return track && s->depth >= 0 && strcmp(track->name, name) == 0;
}

static bool is_stream(const trace_track *track)
{
    return strncmp(track->name, "device ", 7) == 0 && strstr(track->name, " stream ");
}

/* ---- where everything is ---- */

static int by_begin(const void *a, const void *b)
{
    const trace_slice *x = ((const shown_part *)a)->slice, *y = ((const shown_part *)b)->slice;
    return (x->at > y->at) - (x->at < y->at);
}

/* The parts in the window, and from their stages when they were on the device. */
static bool find_parts(picture *p)
{
    shown_part *part = NULL;
    p->parts = calloc(p->trace->count + 1, sizeof *p->parts);
    for (size_t i = 0; p->parts && i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i];
        if (s->depth == 0 && on_row(p, s, "parts")) {
            part = in_window(p, s) ? &p->parts[p->part_count++] : NULL;
            if (part)
                *part = (shown_part){.slice = s, .began = s->at, .ended = s->end};
        }
        if (!part || s->track != part->slice->track || s->depth != 1)
            continue;
        if (strcmp(s->name, "waits") == 0)
            part->began = s->end;
        if (strcmp(s->name, "on the device") == 0) {
            part->began = s->at;
            part->ended = s->end;
        }
    }
    if (p->part_count)
        qsort(p->parts, p->part_count, sizeof *p->parts, by_begin);
    return p->parts != NULL;
}

static void part_label(const trace_slice *s, char *text, size_t bytes)
{
    const char *file = strrchr(s->file, '/');
    snprintf(text, bytes, *s->file ? "%s  %s:%u" : "%s", s->name, file ? file + 1 : s->file,
             s->line);
}

/* Where its name is: on its bar where that is long enough, or else behind or before it. */
typedef enum label_place { ON, BEHIND, BEFORE, NOWHERE } label_place;

static label_place place_label(const picture *p, const trace_slice *s, char *text, size_t bytes,
                               double *width)
{
    double x = x_of(p, s->at), end = x_of(p, s->end);
    part_label(s, text, bytes);
    *width = LETTER * (double)strlen(text) + 8;
    if (p->part_count > LABELLED)
        return NOWHERE;
    return *width < end - x             ? ON
           : end + *width < LEFT + WIDE ? BEHIND
           : x - *width > LEFT          ? BEFORE
                                        : NOWHERE;
}

/* Each part gets the first row on which nothing is in its way. */
static bool place_parts(picture *p)
{
    double *ends = calloc(p->part_count + 1, sizeof *ends);
    size_t rows = 0;
    for (size_t i = 0; ends && i < p->part_count; i++) {
        const trace_slice *s = p->parts[i].slice;
        size_t row = 0;
        char text[320];
        double x = x_of(p, s->at), end = x_of(p, s->end), width;
        label_place place = place_label(p, s, text, sizeof text, &width);
        x -= place == BEFORE ? width : 0;
        end += place == BEHIND ? width : 0;
        while (row < rows && ends[row] > x)
            row++;
        rows = row == rows ? rows + 1 : rows;
        ends[row] = end + 1;
        p->parts[i].y = p->bottom + ROW * (double)row;
    }
    p->bottom += ROW * (double)rows;
    free(ends);
    return ends != NULL;
}

/* A row for each thread, or stream, of which something is in the window, by their numbers. */
static void place_tracks(picture *p, bool streams)
{
    for (size_t i = 0; i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i];
        size_t at = index_of(p, s->track);
        if (s->depth < 0 || at == SIZE_MAX || p->rows[at] > 0 || !in_window(p, s))
            continue;
        const trace_track *track = &p->trace->tracks[at];
        if (streams ? is_stream(track) : track->thread != 0)
            p->rows[at] = 1;
    }
    for (size_t i = 0; i < p->trace->track_count; i++)
        if (p->rows[i] > 0 && is_stream(&p->trace->tracks[i]) == streams) {
            p->rows[i] = p->bottom;
            p->bottom += ROW;
        }
}

/* ---- drawing ---- */

static void draw_axis(const picture *p)
{
    double us = (double)(p->to - p->from) / 1e3, step = svg_step(us, 6);
    bool ms = step >= 1000;
    for (double at = 0; at <= us; at += step) {
        double x = LEFT + WIDE * at / us;
        svg_line(p->out, x, TOP - 6, x, p->bottom, "#eaecf0");
        svg_text(p->out, x, TOP - 11, "middle", ms ? "%g ms" : "%g us", ms ? at / 1e3 : at);
    }
}

static void draw_bar(const picture *p, const trace_slice *s, double y, double inset,
                     const char *colour, const char *what)
{
    char hover[640], where[320] = "";
    double x = x_of(p, s->at), width = x_of(p, s->end) - x;
    if (*s->file)
        snprintf(where, sizeof where, "\n%s:%u", s->file, s->line);
    snprintf(hover, sizeof hover, "%s%s%s: %.3f us%s", s->name, *what ? ", " : "", what,
             (double)(s->end - s->at) / 1e3, where);
    svg_box(p->out, x, y + inset, width > 0.5 ? width : 0.5, BAR - 2 * inset, colour, hover);
    if (!(inset > 0) && width > LETTER * (double)strlen(s->name) + 4)
        svg_text(p->out, x + width / 2, y + BAR - 3.5, "middle", "%s", s->name);
}

static const char *thread_colour(const trace_slice *s)
{
    return strcmp(s->name, "wait") == 0       ? "#d0d5dd"
           : strcmp(s->name, "callback") == 0 ? "#ee46bc"
           : *s->kind                         ? "#f79009"
                                              : "#9b8afb";
}

static void draw_tracks(const picture *p)
{
    for (size_t i = 0; i < p->trace->track_count; i++) {
        const trace_track *track = &p->trace->tracks[i];
        char name[24];
        snprintf(name, sizeof name, "%s", track->name);
        if (p->rows[i] > 0)
            svg_text(p->out, LEFT - 8, p->rows[i] + BAR - 3, "end", "%s%s", *name ? name : "thread",
                     strlen(track->name) < sizeof name ? "" : "...");
    }
    for (size_t i = 0; i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i];
        size_t at = index_of(p, s->track);
        if (s->depth < 0 || at == SIZE_MAX || !(p->rows[at] > 0) || !in_window(p, s))
            continue;
        if (!p->trace->tracks[at].thread)
            draw_bar(p, s, p->rows[at], 0,
                     strstr(s->kind, "copy") || strstr(s->kind, "upload") ? "#fdb022" : "#32d583",
                     s->kind);
        else
            draw_bar(p, s, p->rows[at], *s->kind ? 3 : 0, thread_colour(s),
                     *s->kind ? "issue" : "");
    }
}

static const shown_part *part_on(const picture *p, uint64_t track)
{
    for (size_t i = 0; i < p->part_count; i++)
        if (p->parts[i].slice->track == track)
            return &p->parts[i];
    return NULL;
}

static void draw_part(const picture *p, const shown_part *part)
{
    const trace_slice *s = part->slice, *last = p->trace->slices + p->trace->count;
    char label[320];
    draw_bar(p, s, part->y, 0.01, "#e4e7ec", s->kind);
    /* What follows it on its track: stages, and what it came behind. */
    for (const trace_slice *in = s + 1; in < last && in->depth != 0; in++) {
        if (in->track != s->track)
            continue;
        for (size_t k = 0; k < STAGES; k++)
            if (strcmp(in->name, stages[k].stage) == 0 && in->end > in->at && in_window(p, in))
                draw_bar(p, in, part->y, 0.01, stages[k].colour, s->name);
    }
    double x = x_of(p, s->at), end = x_of(p, s->end), y = part->y + BAR - 3, width;
    label_place place = place_label(p, s, label, sizeof label, &width);
    if (place == ON)
        svg_text(p->out, x + 4, y, "start", "%s", label);
    else if (place == BEHIND)
        svg_text(p->out, end + 4, y, "start", "%s", label);
    else if (place == BEFORE)
        svg_text(p->out, x - 4, y, "end", "%s", label);
}

/* The awaited part's mark stands before the mark of the one that waits; both have the number. */
static void draw_arrows(const picture *p)
{
    for (size_t i = 1; i < p->trace->count; i++) {
        const trace_slice *s = &p->trace->slices[i], *before = s - 1;
        if (!s->flow_to || before->flow != s->flow_to)
            continue;
        const shown_part *to = part_on(p, s->track), *from = part_on(p, before->track);
        for (size_t k = 0; !from && k < p->part_count; k++)
            if (p->parts[k].slice->submission == s->submission)
                from = &p->parts[k]; /* the whole of another submission was waited for */
        if (from && to)
            svg_line(p->out, x_of(p, from->ended), from->y + BAR / 2, x_of(p, to->began),
                     to->y + BAR / 2, "#7a271a");
    }
}

static void draw_legend(const picture *p)
{
    double x = LEFT;
    for (size_t k = 0; k < STAGES; k++) {
        svg_box(p->out, x, p->bottom + 6, 12, 12, stages[k].colour, NULL);
        svg_text(p->out, x + 17, p->bottom + 16, "start", "%s", stages[k].stage);
        x += 40 + LETTER * (double)strlen(stages[k].stage);
    }
    svg_line(p->out, x, p->bottom + 12, x + 16, p->bottom + 12, "#7a271a");
    svg_text(p->out, x + 21, p->bottom + 16, "start", "waited for");
}

static void draw(picture *p, const char *title, double parts_y)
{
    svg_begin(p->out, LEFT + WIDE + 20, p->bottom + 28, title);
    draw_axis(p);
    draw_tracks(p);
    if (p->part_count)
        svg_text(p->out, LEFT - 8, parts_y + BAR - 3, "end", "parts of submissions");
    for (size_t i = 0; i < p->part_count; i++)
        draw_part(p, &p->parts[i]);
    draw_arrows(p);
    draw_legend(p);
    svg_end(p->out);
}

/* How many boxes there would be; 0: an error was printed. */
static size_t count_boxes(const picture *p)
{
    size_t boxes = 0;
    for (size_t i = 0; i < p->trace->count; i++)
        boxes += p->trace->slices[i].depth >= 0 && in_window(p, &p->trace->slices[i]);
    if (boxes > MOST)
        fprintf(stderr,
                "acuda: %zu things happened within %.3f ms: too many for a picture (%d); name a "
                "shorter time with --from and --for, in milliseconds\n",
                boxes, (double)(p->to - p->from) / 1e6, MOST);
    else if (!boxes)
        fprintf(stderr, "acuda: nothing happened in that time\n");
    return boxes <= MOST ? boxes : 0;
}

static bool place(picture *p, double *parts_y)
{
    p->rows = calloc(p->trace->track_count + 1, sizeof *p->rows);
    if (!p->rows || !find_parts(p))
        return false;
    p->bottom = TOP;
    place_tracks(p, false);
    p->bottom += 6;
    *parts_y = p->bottom;
    if (!place_parts(p))
        return false;
    p->bottom += 6;
    place_tracks(p, true);
    return true;
}

int trace_svg(const trace_file *trace, const char *path, double from_ms, double for_ms)
{
    picture p = {.trace = trace};
    char title[256];
    double parts_y = 0;
    int status = CLI_FAILED;
    trace_window(trace, from_ms, for_ms, &p.from, &p.to);
    if (p.to <= p.from || !count_boxes(&p)) {
        if (p.to <= p.from)
            fprintf(stderr, "acuda: nothing happened in that time\n");
    } else if (!place(&p, &parts_y)) {
        fprintf(stderr, "acuda: out of memory\n");
    } else if (!(p.out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w"))) {
        fprintf(stderr, "acuda: %s: %s\n", path, strerror(errno));
    } else {
        snprintf(title, sizeof title, "%s: %.3f ms of its work",
                 trace->process ? trace->process : "a trace", (double)(p.to - p.from) / 1e6);
        draw(&p, title, parts_y);
        status = CLI_OK;
        if ((p.out == stdout ? fflush(p.out) : fclose(p.out)) != 0) {
            fprintf(stderr, "acuda: %s: %s\n", path, strerror(errno));
            status = CLI_FAILED;
        }
    }
    free(p.rows);
    free(p.parts);
    return status;
}
