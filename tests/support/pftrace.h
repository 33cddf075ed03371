/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A reader of traces in Perfetto's format, for tests: by the field numbers of the public schema,
 * and without a line of what writes them. It fails the test where a file is not valid. */
#ifndef ACUDA_TESTS_PFTRACE_H
#define ACUDA_TESTS_PFTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PF_BEGIN = 1, PF_END = 2, PF_INSTANT = 3, PF_COUNTER = 4 };

typedef struct pf_event {
    int type;
    uint64_t at, track;
    char name[64], file[128];
    int line;
    uint64_t flow, flow_end, value;
    char why[64], how[64], kind[64], as[64], status[64]; /* notes */
    uint64_t submission, device_ns;
    uint64_t end; /* of a slice: found by pf_read */
} pf_event;

typedef struct pf_track {
    uint64_t uuid, parent;
    char name[64];
    long pid, tid;
} pf_track;

typedef struct pf_trace {
    pf_event *events; /* as in the file; `end` events too */
    size_t event_count;
    pf_track *tracks;
    size_t track_count;
    size_t bytes;
    bool clocks; /* there is a snapshot of clocks */
} pf_trace;

/* Reads the file; slices are matched with their ends, and must nest on each track. */
pf_trace pf_read(const char *path);
void pf_free(pf_trace *trace);

/* The first slice or instant with that name, on a track with that name, from `after` on (NULL: the
 * first of all); NULL: there is none. `track` NULL: any. */
const pf_event *pf_find(const pf_trace *trace, const char *track, const char *name,
                        const pf_event *after);
const pf_track *pf_track_of(const pf_trace *trace, uint64_t uuid);

#endif
