/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is to be compiled, and by what; and the key under which that is found again. */
#ifndef ACUI_KERNEL_REQUEST_H
#define ACUI_KERNEL_REQUEST_H

#include "base/arena.h"
#include "kernel/bytes.h"
#include "kernel/code.h"

#include <acuda/compile.h>

typedef struct acui_request {
    const char *what;   /* for messages and as the source's name */
    const char *source;
    acu_compile_options options; /* what it points to is borrowed */
    bool nvrtc;         /* else clang */
    unsigned arch;      /* wanted */
    bool exact;         /* ... by the program: no other will do */
    bool keep;          /* the key says all that the result depends on */
    acui_bytes key;
    acui_hash hash;
} acui_request;

/* Options as a program gives them, checked; `waits`: of a call that does. Errors: INVALID,
 * NOT_SUPPORTED. */
acu_status acui_compile_options_read(acu_compile_options *known, const acu_compile_options *given,
                                     bool waits, const char *function);
/* A copy of all that they point to, in the arena. False: no memory. */
bool acui_compile_options_copy(acui_arena *arena, const acu_compile_options *options,
                               acu_compile_options *copy);

/* Choose the compiler, and make the key; to be ended in any case. `device` may be NULL. Errors:
 * NOT_FOUND (no compiler), INVALID, NO_MEMORY. */
acu_status acui_request_begin(acui_request *request, const acu_device *device, const char *what,
                              const char *source, const acu_compile_options *options);
void acui_request_end(acui_request *request);

/* ---- includes.c ---- */
/* Put what the include folders have of what the source includes into the key; false: that can not
 * be said. */
bool acui_request_put_includes(acui_request *request);

/* ---- compiled.c ---- */
/* From the caches, or by compiling; *code is there on failure too, with the log, if a compiler was
 * asked. Blocks. */
acu_status acui_compile(const acui_request *request, acu_code **code);
void acui_compile_set_memory(uint64_t limit); /* bytes; 0: nothing is kept */
/* Counters of acu_compile_counts, by their fields. */
void acui_compile_count(size_t field);
#define ACUI_COMPILE_COUNT(name) acui_compile_count(offsetof(acu_compile_counts, name))

/* ---- disk.c ---- */
acu_status acui_disk_set(const char *folder, uint64_t limit); /* NULL: none */
/* NULL: not there. */
acu_code *acui_disk_read(const acui_request *request);
void acui_disk_write(const acui_request *request, const acu_code *code);

/* ---- nvrtc.c, clang.c ---- */
/* What `acu_compile_configure` says; NULL: nothing. BUSY, NO_MEMORY. */
acu_status acui_nvrtc_set(const char *path);
acu_status acui_clang_set(const char *path);
/* Whether it is there; puts its identity into the key, if that is not NULL. If not: where it was
 * looked for, into the thread's record (NOT_FOUND). */
acu_status acui_nvrtc_find(acui_bytes *key, int *version);
acu_status acui_clang_find(acui_bytes *key);
/* Compile; *bytes get what code.h says, the log also on failure. Block. */
acu_status acui_nvrtc_compile(const acui_request *request, acui_bytes *bytes);
acu_status acui_clang_compile(const acui_request *request, acui_bytes *bytes);

/* The library's own headers, as text: X(name of the array, name for #include, given to NVRTC). */
#define ACUI_HEADERS(X)                                                                            \
    X(device, "acuda/device.cuh", 1) X(tile, "acuda/tile.h", 1)                                    \
    X(prelude, "acuda-prelude/prelude.cuh", 0) X(math, "acuda-prelude/math.cuh", 0)               \
    X(math_f64, "acuda-prelude/math_f64.cuh", 0)
#define ACU_X(array, name, nvrtc) extern const char acui_header_##array[];
ACUI_HEADERS(ACU_X)
#undef ACU_X

#endif
