/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The process's heap, watched. In a program that uses this, calls of malloc and its relatives are
 * counted by caller: acuda, the GPU's driver, or anybody else (libc on acuda's behalf, the
 * program). A block's bytes are added to the account of the caller who allocates it, and taken off
 * that of the caller who frees it. The software device is in acuda's library, and counts as acuda.
 * Not under sanitizers, which have their own malloc.
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
