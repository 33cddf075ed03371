/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The process's heap, watched: a program that uses this has malloc and its like counted, by who
 * called: acuda, the GPU's driver, or anybody else (libc on acuda's behalf, the program). A block
 * counts for whoever frees it as for whoever allocates it. The software device, being in acuda's
 * library, counts as acuda. Not under sanitizers, which have their own.
 */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum heap_who { HEAP_ACUDA, HEAP_DRIVER, HEAP_OTHER, HEAP_WHO } heap_who;

/* Start counting, once all libraries are loaded; false where it can not be done. */
bool heap_watch(void);
int64_t heap_calls(heap_who who); /* that allocated */
int64_t heap_bytes(heap_who who); /* allocated and not freed since */

#endif
