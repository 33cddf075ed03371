/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUDA C++ compiled at run time: to PTX here, or as the source of a module (kernel.h), which then
 * loads what comes out.
 *
 * Two compilers: NVRTC, of CUDA's toolkit, opened where it is found, and clang, run as a process,
 * with no toolkit. By itself acuda takes NVRTC for a GPU if it is there and not newer than the
 * driver, else clang; and clang for the software device. (The licence of NVIDIA's toolkit restricts
 * translating what its compilers put out for other platforms: see "Limitations" in the CUDA Toolkit
 * End User License Agreement. What you load on the software device is your choice.)
 *
 * NVRTC is looked for as `nvrtc` of the settings says, else the environment variable ACUDA_NVRTC,
 * else where the system finds libnvrtc.so, then in CUDA_HOME, CUDA_PATH, /usr/local/cuda*,
 * /opt/cuda; clang by `clang`, else ACUDA_CLANG, else as clang, clang-20 ... clang-14 in PATH.
 *
 * Included in every source, whatever the compiler: <acuda/device.cuh> and <acuda/tile.h> can be;
 * for NVRTC the toolkit's own headers too, where they stand beside it. For clang
 * kernels/prelude.cuh comes first: threadIdx, __syncthreads, shuffles, atomics, and of mathematics
 * what math.cuh and math_f64.cuh list (the usual functions of float, most of double).
 *
 * Identical requests that come while one is being compiled wait for that one. What was compiled is
 * kept in memory until the last device is closed (bounded: least recently used goes first), and on
 * disk in the folder that the program or ACUDA_CACHE_DIR names: nobody else's files, and none
 * unless somebody said so. A request is the same if its source, options, headers (also files that
 * it includes: by their whole path, from include folders, from clang's CPATH), compiler and
 * architecture are. Files on disk carry their whole request
 * and a checksum: one that is torn, or of something else, is removed, and the source compiled anew.
 * What is in a file runs, so one that another user owns (but root) is as if it were not there.
 * Processes share the folder: files appear whole, by renaming. What goes wrong with the disk costs
 * time only.
 */
#ifndef ACUDA_COMPILE_H
#define ACUDA_COMPILE_H

#include <acuda/device.h>

ACU_BEGIN

typedef enum acu_compiler {
    ACU_COMPILER_AUTO,
    ACU_COMPILER_NVRTC,
    ACU_COMPILER_CLANG
} acu_compiler;

typedef struct acu_header {
    const char *name; /* as in #include; a relative path without ".." */
    const char *text;
} acu_header;

/* Zero-initialise, set `size`, change what you need. All is copied where a call returns before it
 * is done. */
typedef struct acu_compile_options {
    size_t size; /* sizeof(acu_compile_options) */
    acu_compiler compiler;
    unsigned arch;      /* 90: compute_90; 0: the device's, or the newest before it that the
                         * compiler knows (clang on the software device: 75) */
    unsigned cplusplus; /* 11, 14, 17 or 20; 0: 17 */
    bool fast_math;     /* denormals are zero, division and roots are approximate, fma */
    bool no_fma;        /* multiplications and additions are not contracted */
    bool line_info;     /* for profilers and faults: lines of the source */
    unsigned max_registers; /* of a thread; 0: no limit */
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    size_t define_count;
    const char *const *include_dirs;
    size_t include_dir_count;
    const acu_header *headers; /* in memory; found first */
    size_t header_count;
    const char *const *arguments; /* for the compiler, as they are. Such as name files (-I,
                                   * -include) keep the result out of the caches */
    size_t argument_count;
    /* Kernels by C++ names, also of templates: "scale<float>", "mine::add". acu_kernel_get takes
     * them as they are written here. */
    const char *const *expressions;
    size_t expression_count;
    /* Where what the compiler says goes, warnings and errors, cut to so many bytes; for calls that
     * wait. acu_code_log and acu_module_log have the whole. */
    char *log;
    size_t log_bytes;
} acu_compile_options;

typedef struct acu_code acu_code;

/*
 * Compile `source` (NUL-terminated) for `device`, or for options->arch where that is NULL.
 *
 * Blocks: tens of milliseconds and more; some microseconds if it is in memory. Driver: none.
 * Errors: COMPILE (the first error that the compiler names), NOT_FOUND (no compiler; says where was
 * looked), NOT_SUPPORTED (it is too old, or does not know the architecture), INVALID, IO,
 * NO_MEMORY.
 */
ACU_API acu_status acu_compile(acu_device *device, const char *source,
                               const acu_compile_options *options, acu_code **code);
/* All strings live as long as the code; NULL, with the thread's record, for what is no code. */
ACU_API const char *acu_code_ptx(const acu_code *code);
ACU_API const char *acu_code_log(const acu_code *code);      /* the compiler's words; may be "" */
ACU_API const char *acu_code_compiler(const acu_code *code); /* "NVRTC 13.0", "clang 14" */
/* The name in PTX of one of the expressions; NULL: it was none. */
ACU_API const char *acu_code_name(const acu_code *code, const char *expression);
ACU_API acu_code *acu_code_retain(acu_code *code);
ACU_API void acu_code_release(acu_code *code);

/* How all of the process compiles; a call replaces the settings of the one before. */
typedef struct acu_compile_settings {
    size_t size;        /* sizeof(acu_compile_settings) */
    const char *nvrtc;  /* the library's path; NULL: looked for. BUSY once another one is open */
    const char *clang;  /* the program's path; NULL: looked for */
    const char *cache_dir;    /* made if its parent is there; NULL: ACUDA_CACHE_DIR, else none */
    bool no_disk;             /* none, whatever ACUDA_CACHE_DIR says */
    uint64_t disk_bytes;      /* 0: 256 MiB */
    uint64_t memory_bytes;    /* 0: 64 MiB */
    bool no_memory;           /* nothing is kept in memory */
} acu_compile_settings;
ACU_API acu_status acu_compile_configure(const acu_compile_settings *settings);
/* What is kept in memory goes; the disk stays as it is. */
ACU_API void acu_compile_forget(void);

/* Since the process began. */
typedef struct acu_compile_counts {
    uint64_t compiled;     /* by a compiler, also in vain */
    uint64_t from_memory, from_disk;
    uint64_t joined;       /* waited for the same request of another thread */
    uint64_t written;      /* files */
    uint64_t dropped;      /* files that were torn or not what they should be */
    uint64_t disk_errors;  /* could not be written */
} acu_compile_counts;
ACU_API void acu_compile_counts_read(acu_compile_counts *counts);

ACU_END
#endif
