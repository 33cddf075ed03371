/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What fake_nvtx.c writes down, by the symbol fake_nvtx_log. */
#ifndef ACUDA_TESTS_FAKE_NVTX_H
#define ACUDA_TESTS_FAKE_NVTX_H

enum { FAKE_NVTX_CALLS = 256, FAKE_NVTX_NAME = 64 };

typedef struct fake_nvtx_log {
    int count;           /* of calls */
    int depth, unmatched; /* of the main thread's ranges; pops without a push */
    int attached;        /* as a profiler's library is */
    struct {
        char what; /* '(' range begins, ')' ends, 's' a stream is named */
        char name[FAKE_NVTX_NAME];
    } calls[FAKE_NVTX_CALLS];
} fake_nvtx_log;

#endif
