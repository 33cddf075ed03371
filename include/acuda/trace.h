/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A trace of a program's work, to be looked at in a browser (https://ui.perfetto.dev, "Open trace
 * file"), or summed up by the command `acuda trace file`. No profiler is needed.
 *
 *   ACUDA_TRACE=work.pftrace ./program          from outside, without a change to the program
 *   acu_trace_start("work.pftrace", NULL);      or from inside
 *   ...
 *   acu_trace_stop();
 *
 * What is in it, for each submission: when it was composed and planned; for each of its parts (one
 * stream, or one call on the host), what it waited for, with the source lines on both sides and
 * arrows between them; when it was issued, by which thread, and whether as an executable graph;
 * when it ran on the device; when its end was noticed, and its callback called. Threads show what
 * they submitted and issued, and how long they waited; streams show what ran on them, and when.
 * Submissions in flight and the memory of each device are counters. What is seldom done and takes
 * long is there too, on the thread that did it: opening the driver, a device or a vendor's library,
 * closing a device, compiling, loading a module (by its name, or its kernels'), getting memory from
 * the driver, and making an executable graph.
 *
 * The times on the device come from CUDA's timing events, one before and one behind a part, so they
 * are those of the device's own clock; they are set against the host's clock by what is known for
 * certain (no part begins before it is issued, or ends after its end was noticed). How many parts a
 * second get them is bounded, since they take some microseconds each: see `timed_per_second`. Of
 * parts that are issued as one graph with others, the first has the times of all.
 *
 * Times of single kernels within a part are not in it: only CUPTI has them. That library is part of
 * the toolkit, serves one user in a process (until CUDA 13.2), and has its records in another form
 * in each version. A profiler that brings it shows operations by acuda's names (NVTX). To have the
 * time of one operation, submit it by itself (acu_sync_timed).
 *
 * The file is in Perfetto's own format. It grows as the program runs, so a program that crashes
 * leaves all but the last tenth of a second.
 */
#ifndef ACUDA_TRACE_H
#define ACUDA_TRACE_H

#include <acuda/base.h>
#include <acuda/status.h>

ACU_BEGIN

/* Zero-initialise, set `size`, change what you need. */
typedef struct acu_trace_options {
    size_t size;        /* sizeof(acu_trace_options) */
    uint64_t max_bytes; /* about how large a file may become (one record more); 0: 64 MiB; at least
                         * 4096 */
    unsigned files;     /* how many to keep: when `path` is full it becomes `path`.1, that one
                         * `path`.2, and so on; the oldest is deleted. 0: two */
    unsigned timed_per_second; /* parts that get timing events, in each second, of which each tenth
                                * of a second gets a tenth; 0: 250 */
    bool untimed;              /* no timing events: the trace has times of the host only */
} acu_trace_options;

/*
 * Begin a trace. A file that exists is overwritten, with what it kept of older traces. "%p" in the
 * path stands for the number of the process. Submissions made from now on are traced, by all
 * threads, on all devices.
 *
 * ACUDA_TRACE in the environment does the same when the first device is opened: that fails if the
 * file can not be written. ACUDA_TRACE_TIMED is then `timed_per_second`; 0: `untimed`. A program
 * that runs with somebody else's privileges ignores both.
 *
 * While a trace is on, a thread of acuda's (acuda-trace) writes it. A submission of a few
 * operations costs those that submit and complete it some 0.3 us more. On H200s training epochs of
 * 0.5 ms took 1 % less to 4 % more, requests to a server 4 % less to 4 % more with one in flight,
 * and 5 to 8 % more with many in flight, at 14 to 17 us each (docs/driver-floors.md). If
 * acuda-trace can not keep pace, records are left out, and counted. When writing fails (a full
 * disk), tracing ends by itself, and acu_trace_stop says why; nothing else changes.
 * Blocks while the file is opened. Errors: BUSY (a trace is on already), IO (with the path and the
 * system's reason), INVALID, NO_MEMORY, FORKED.
 */
ACU_API acu_status acu_trace_start(const char *path, const acu_trace_options *options);

/*
 * End the trace. What is complete by now is in the file; submissions that are still in flight are
 * not. The last acu_close writes everything too, and leaves the trace on for what is opened later.
 * Blocks while the rest is written. Errors: INVALID (no trace is on), IO (something could not be
 * written; then the file ends before that), NO_MEMORY (of something there was no record), FORKED.
 */
ACU_API acu_status acu_trace_stop(void);

/* What the trace that is on has done so far, or the last one. Writes what waits first, and blocks
 * meanwhile: so this is also how to bring the file up to date. Errors: INVALID, FORKED. */
typedef struct acu_trace_statistics {
    size_t size;      /* sizeof(acu_trace_statistics), set by the caller */
    bool on;
    uint64_t records; /* written: submissions with their parts, callbacks, waits, loads and such */
    uint64_t dropped; /* left out, because the thread could not keep pace or there was no memory */
    uint64_t timed;   /* parts that got timing events */
    uint64_t bytes;   /* written to all files, also to those deleted since */
    uint64_t rotated; /* times that a new file was begun */
} acu_trace_statistics;
ACU_API acu_status acu_trace_stats(acu_trace_statistics *stats);

ACU_END
#endif
