/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a trace that acuda wrote (acuda/trace.h), for `acuda trace`. */
#ifndef ACUDA_CLI_TRACE_READ_H
#define ACUDA_CLI_TRACE_READ_H

#include "cli.h"

typedef struct trace_slice {
    uint64_t at, end; /* ns; the same for an instant */
    uint64_t track;
    const char *name, *file; /* "" where there is none; strings live as long as the trace */
    unsigned line;
    const char *why, *how, *kind, *as, *status, *action; /* notes; "" */
    uint64_t submission, device;
    bool not_timed; /* a part that could have had timing events */
    uint64_t flow, flow_to; /* an arrow that begins here, one that ends here; 0: none */
    int depth; /* 0: nothing of its track is around it; -1: an instant */
} trace_slice;

typedef struct trace_track {
    uint64_t id;
    const char *name;
    uint64_t thread; /* its number in the system; 0: it is no thread */
} trace_track;

typedef struct trace_file {
    trace_slice *slices; /* in the order in which they begin in the file */
    size_t count, room;
    trace_track *tracks; /* by id */
    size_t track_count, track_room;
    char **strings; /* each once: a hash table */
    size_t string_count, string_room;
    const char *process;
    uint64_t pid;
    size_t open[64]; /* slices that have not ended */
    size_t open_count;
} trace_file;

/* Adds what is in the file. false: an error was printed. A file that ends in the middle of a
 * packet, as of a process that was killed, is read up to there. */
bool trace_add(trace_file *trace, const char *path);
void trace_sort(trace_file *trace); /* once all files are read: tracks can be found */
const trace_track *trace_track_of(const trace_file *trace, uint64_t id); /* NULL: not described */
void trace_free(trace_file *trace);

/* From `from_ms` behind the trace's beginning on, for `for_ms` (0: all the rest). */
void trace_window(const trace_file *trace, double from_ms, double for_ms, uint64_t *from,
                  uint64_t *to);

/* In trace_svg.c: draws what happened from `from_ms` on, for `for_ms` (0: all the rest). Returns
 * the exit status; an error was printed. */
int trace_svg(const trace_file *trace, const char *path, double from_ms, double for_ms);
/* In trace_plan.c: draws what came behind what in that time, by Graphviz where the path ends in
 * .svg, or else writes the graph for it. */
int trace_plan(const trace_file *trace, const char *path, double from_ms, double for_ms);

#endif
