/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules and kernels: loaded code, and the functions in it that a launch names.
 */
#ifndef ACUDA_KERNEL_H
#define ACUDA_KERNEL_H

#include <acuda/compile.h>
#include <acuda/device.h>
#include <acuda/memory.h>
#include <acuda/tensor.h>

ACU_BEGIN

typedef struct acu_module acu_module;
typedef struct acu_kernel acu_kernel;

/*
 * Where the code of a module comes from: exactly one of `ptx`, `image`, `path`, `cuda`, `module`
 * and `library`.
 */
typedef struct acu_module_source {
    size_t size;       /* sizeof(acu_module_source) */
    const char *name;  /* by which acu_kernel_find can find the module again; NULL: it can not. A
                        * name that a living module of the device has is refused (BUSY), as is one
                        * that begins with "acuda." (INVALID) */
    const char *ptx;   /* PTX text, NUL-terminated */
    const void *image; /* a cubin, fat binary or PTX in memory, of `bytes` bytes. The software
                        * device refuses cubins; of a fat binary it takes the PTX */
    size_t bytes;
    const char *path;  /* a file that holds one of these */
    const char *cuda;  /* CUDA C++ source, to be compiled (compile.h) */
    const acu_compile_options *compile; /* how to compile `cuda`; NULL: all defaults */
    /* A module, or a library of the driver (CUDA 12.0 and newer), that somebody else loaded on the
     * device, to be wrapped: its kernels can be launched and its variables used like others. It
     * stays theirs: acuda does not unload it, and it must live until `user.release` is called,
     * after the last use. acuda itself loads modules only: the driver turns a library into a module
     * on each device anyway, and if it put that off until the first launch, that launch would load
     * code. */
    CUmodule module;
    CUlibrary library;
    acu_user user; /* of `module` or `library`. If the load fails, its release has been called
                    * (except if `size` is not set: then nothing in the struct is looked at) */
} acu_module_source;

/*
 * Sources for a call, without writing out the struct:
 *   acu_module_load(device, ACU_PTX("saxpy", saxpy_ptx), &module);
 */
#ifdef __cplusplus
ACU_END /* a temporary has no address in C++: it turns into one where it is passed */
struct acui_source {
    acu_module_source source;
    operator const acu_module_source *() const { return &source; }
};
static inline acui_source acui_source_of(const char *name)
{
    acui_source s = {};
    s.source.size = sizeof s.source;
    s.source.name = name;
    return s;
}
static inline acui_source acui_source_ptx(const char *name, const char *ptx)
{
    acui_source s = acui_source_of(name);
    s.source.ptx = ptx;
    return s;
}
static inline acui_source acui_source_image(const char *name, const void *image, size_t bytes)
{
    acui_source s = acui_source_of(name);
    s.source.image = image;
    s.source.bytes = bytes;
    return s;
}
static inline acui_source acui_source_file(const char *name, const char *path)
{
    acui_source s = acui_source_of(name);
    s.source.path = path;
    return s;
}
static inline acui_source acui_source_cuda(const char *name, const char *cuda,
                                           const acu_compile_options *compile)
{
    acui_source s = acui_source_of(name);
    s.source.cuda = cuda;
    s.source.compile = compile;
    return s;
}
ACU_BEGIN
#define ACU_PTX(name, text) acui_source_ptx((name), (text))
#define ACU_IMAGE(name, data, count) acui_source_image((name), (data), (count))
#define ACU_FILE(name, file) acui_source_file((name), (file))
#define ACU_CUDA(name, text, options) acui_source_cuda((name), (text), (options))
#else
#define ACUI_SOURCE(called, ...)                                                                   \
    (&(acu_module_source){.size = sizeof(acu_module_source), .name = (called), __VA_ARGS__})
#define ACU_PTX(called, text) ACUI_SOURCE((called), .ptx = (text))
#define ACU_IMAGE(called, data, count) ACUI_SOURCE((called), .image = (data), .bytes = (count))
#define ACU_FILE(called, file) ACUI_SOURCE((called), .path = (file))
#define ACU_CUDA(called, text, options) ACUI_SOURCE((called), .cuda = (text), .compile = (options))
#endif

/*
 * Load a module on `device`. acu_module_load_async (future.h) does it without blocking. All kernels
 * are resolved here, so that no launch ever loads code.
 *
 * Blocks: while the driver compiles (0.1 s for the first PTX of a process on a GPU), or loads what
 * it had put off. Driver: cuModuleLoadDataEx, cuModuleGetFunction, cuFuncLoad, cuFuncGetAttribute,
 * cuFuncGetParamInfo; for what is wrapped cuLibraryGetModule, cuModuleGetFunctionCount,
 * cuModuleEnumerateFunctions, cuFuncGetName.
 * Errors: PTX (the record has the driver's log, with the line), those of acu_compile, IO (the
 * file), NOT_SUPPORTED (also a library, before CUDA 12.0), BUSY, INVALID, DRIVER.
 */
ACU_API acu_status acu_module_load(acu_device *device, const acu_module_source *source,
                                   acu_module **module);
ACU_API acu_module *acu_module_retain(acu_module *module);
ACU_API void acu_module_release(acu_module *module); /* its kernels keep the module as long as they
                                                      * live */

/*
 * A module exists before it is loaded: acu_future_module returns it at once, and so does
 * acu_kernel_find for built-in kernels. While it loads, its kernels can be had, declared and
 * launched, and submitting never waits; launches wait on the host for the load to end, as they
 * would for other work. Whatever can be checked against the device and a declared signature is
 * checked at submit. The rest is checked before the launch is issued, with the same messages; then
 * it is the submission that fails. If the load fails, the submission fails with the load's error,
 * including what the compiler said.
 *
 * acu_module_poll, acu_kernel_poll: ACU_OK if loaded, NOT_READY while loading, else why it failed
 * (for a kernel also NOT_FOUND, or ARGUMENTS if it was declared wrongly). Never block.
 * acu_module_wait, acu_kernel_wait: wait for that. Block; further errors: TIMEOUT, IN_CALLBACK.
 */
ACU_API acu_status acu_module_poll(acu_module *module);
ACU_API acu_status acu_module_wait(acu_module *module, uint64_t timeout);
/* The compiler's output for a module from CUDA C++: warnings, and errors if it failed; of a module
 * whose code the driver refused, what the driver said. NULL while the module is being loaded; "" if
 * there is no output. Lives as long as the module. acu_last_log (status.h) is for a load that made
 * no module. */
ACU_API const char *acu_module_log(acu_module *module);

/* A kernel of the module, by its name in PTX (extern "C", or mangled), or as one of the module's
 * `expressions` spells it. The handle keeps the module. Never blocks, except for a cubin on an old
 * driver (before CUDA 12.4).
 * Errors: NOT_FOUND (with the names that the module has, where known), that of a load that
 * failed. */
ACU_API acu_status acu_kernel_get(acu_module *module, const char *name, acu_kernel **kernel);
/*
 * A kernel of a module that was loaded under a name on `device`. The modules "acuda.<family>" are
 * acuda's built-in kernels and exist on every device: the first request for a kernel of a family
 * begins the family's load, and the device keeps it. Never blocks.
 */
ACU_API acu_status acu_kernel_find(acu_device *device, const char *module, const char *kernel_name,
                                   acu_kernel **kernel);
ACU_API acu_status acu_kernel_poll(acu_kernel *kernel);
ACU_API acu_status acu_kernel_wait(acu_kernel *kernel, uint64_t timeout);

/*
 * Declare what the kernel's parameters are, beyond the sizes that acuda finds out by itself. The
 * signature has one entry per parameter, separated by commas: a dtype for a scalar ("f32"); "in
 * f32", "out f32" or "inout f32" for a pointer to a tensor's elements; "tile f32" for a tile of a
 * partition; "any" for a struct, a list of tensors, or no check. Example: "tile f32, f32, in f32".
 * Launches with this handle then check dtypes and directions too. Other handles of the same kernel
 * are not declared: acu_kernel_get and acu_kernel_find make a new one each time. If a kernel's
 * parameters are not known, the declaration supplies them; declare such a kernel before other
 * threads use it.
 * Errors: INVALID (with the word), ARGUMENTS (the count or a size differs from the kernel's).
 */
ACU_API acu_status acu_kernel_declare(acu_kernel *kernel, const char *signature);

typedef struct acu_kernel_info {
    size_t size;           /* of this struct, in the library */
    const char *name;
    bool params_known;     /* false for a cubin on a driver older than CUDA 12.4 */
    size_t param_count;    /* 0 if not known */
    unsigned max_threads;  /* in a block, for this kernel */
    size_t static_shared;  /* bytes */
    size_t local_bytes;    /* per thread */
    int registers;         /* per thread */
} acu_kernel_info;
/* While the kernel is not loaded: NULL, 0 and NULL (info, bytes and raw handle). */
ACU_API const acu_kernel_info *acu_kernel_info_of(const acu_kernel *kernel);
ACU_API size_t acu_kernel_param_bytes(const acu_kernel *kernel, size_t index); /* 0: not known */
ACU_API acu_device *acu_kernel_device(const acu_kernel *kernel); /* borrowed */
ACU_API CUfunction acu_kernel_raw(const acu_kernel *kernel);

/*
 * Get or set one attribute of a kernel: the driver's function attributes, by their values in
 * driver_abi.h (ACU_CU_FUNC_ATTRIBUTE_...). Setting one applies to all handles of this kernel,
 * beginning with the next launch that is issued directly; set attributes before launching. Never
 * block, and return NOT_READY while it is being loaded. Driver: cuFuncGetAttribute,
 * cuFuncSetAttribute. Errors: INVALID, NOT_SUPPORTED.
 */
ACU_API acu_status acu_kernel_attribute(acu_kernel *kernel, unsigned attribute, int *value);
ACU_API acu_status acu_kernel_set_attribute(acu_kernel *kernel, unsigned attribute, int value);
/* How much of the memory that serves as both L1 cache and shared memory should be shared memory, in
 * percent; -1: the driver's choice. */
ACU_API acu_status acu_kernel_prefer_shared(acu_kernel *kernel, int percent);

ACU_API acu_kernel *acu_kernel_retain(acu_kernel *kernel);
ACU_API void acu_kernel_release(acu_kernel *kernel);

/*
 * How a kernel is launched. A grid of zeros means the grid of the launch's partitions. A block of
 * zeros means 256 threads in x, or the kernel's maximum if that is less. If x is set, a y or z of
 * zero counts as one; with an x of zero beside others there are no blocks: the launch is checked
 * and yields its arguments, and nothing runs.
 */
typedef struct acu_config {
    unsigned grid[3], block[3];
    size_t shared; /* dynamic shared memory, bytes; more than 48 KiB is opted into automatically */
    /* Blocks per cluster, which run side by side on one cluster of multiprocessors: at most 8 in
     * all; x zero: no clusters. The grid must be a multiple of it. Compute capability 9 and newer;
     * the software device has no clusters. */
    unsigned cluster[3];
    /* All blocks run at the same time and may wait for each other (grid synchronization). The grid
     * is checked against what the device can hold. */
    bool cooperative;
    /* The kernel may begin before the previous kernel on the same stream has ended (programmatic
     * dependent launch). All its threads execute `griddepcontrol.wait`, and only then read that
     * kernel's results or write global memory, which that kernel may still use, even where it is
     * new to this one. Compute capability 9 and newer; the software device runs the two in turn.
     * Executable graphs do not hold such launches, unlike cooperative and cluster launches: they
     * are issued directly, and acu_graph_load refuses them. */
    bool programmatic;
    uint32_t reserved[4]; /* 0, else NOT_SUPPORTED */
} acu_config;

/* One size of a grid or block. What 32 bits do not hold becomes a size that no device has, and is
 * refused with LIMIT. */
#ifdef __cplusplus
constexpr
#else
static
#endif
inline unsigned acui_dim(int64_t size)
{
    return size < 0 || size > INT64_C(0xffffffff) ? UINT32_MAX : ACUI_CAST(unsigned, size);
}
#define ACUI_DIM(x) acui_dim(ACUI_CAST(int64_t, x))

/* With ACU_BLOCK and ACU_AUTO the grid comes from the partitions; a launch without any
 * arguments is of one block. ACU_BLOCK(4, 4) gives the block; ACU_AUTO uses the default one. */
#ifdef __cplusplus
#define ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz)                                                     \
    (acu_config{{ACUI_DIM(gx), ACUI_DIM(gy), ACUI_DIM(gz)},                                        \
                {ACUI_DIM(bx), ACUI_DIM(by), ACUI_DIM(bz)},                                        \
                0, {0, 0, 0}, false, false, {0, 0, 0, 0}})
ACU_END /* templates can not have C's linkage */
template <typename... N> constexpr acu_config acui_threads(N... threads)
{
    return acu_config{{0, 0, 0}, {acui_dim(static_cast<int64_t>(threads))...}, 0, {0, 0, 0}, false,
                      false,     {0, 0, 0, 0}};
}
ACU_BEGIN
#define ACU_BLOCK(...) acui_threads(__VA_ARGS__)
#define ACU_AUTO (acu_config{})
#else
static inline acu_config acui_threads(const int64_t threads[3])
{
    acu_config c = {.block = {acui_dim(threads[0]), acui_dim(threads[1]), acui_dim(threads[2])}};
    return c;
}
#define ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz)                                                     \
    ((acu_config){                                                                                 \
        .grid = {ACUI_DIM(gx), ACUI_DIM(gy), ACUI_DIM(gz)},                                        \
        .block = {ACUI_DIM(bx), ACUI_DIM(by), ACUI_DIM(bz)}})
#define ACU_BLOCK(...) acui_threads((const int64_t[3]){__VA_ARGS__})
#define ACU_AUTO ((acu_config){.shared = 0})
#endif

/*
 * Occupancy. max_blocks: how many blocks of `threads` threads and `shared` bytes of dynamic shared
 * memory a multiprocessor holds at a time. best_block: the block size that fills it best, and the
 * smallest grid of such blocks that fills the device. max_clusters: how many clusters the device
 * holds at a time, for the config's block, shared memory and cluster. max_cluster: the most blocks
 * that a cluster may have, for the config's block and shared memory. Never block, and return
 * NOT_READY while the kernel is being loaded. Driver: cuOccupancy..., and cuFuncSetAttribute if the
 * shared memory must be opted into, as a launch would.
 * Errors: LIMIT (can not be launched), NOT_SUPPORTED (clusters), INVALID (a config without a
 * cluster).
 */
ACU_API acu_status acu_kernel_max_blocks(acu_kernel *kernel, unsigned threads, size_t shared,
                                         unsigned *blocks);
ACU_API acu_status acu_kernel_best_block(acu_kernel *kernel, size_t shared, unsigned *threads,
                                         unsigned *grid);
ACU_API acu_status acu_kernel_max_clusters(acu_kernel *kernel, const acu_config *config,
                                           unsigned *clusters);
ACU_API acu_status acu_kernel_max_cluster(acu_kernel *kernel, const acu_config *config,
                                          unsigned *blocks);

/*
 * A variable of the module (__device__ or __constant__) as a buffer on the module's device, by its
 * name in PTX (extern "C", or mangled). Tensors can be made over the buffer and copied like any
 * other. The same variable is always the same buffer; it keeps the module alive. While the buffer
 * lives, launches of the module's kernels count as users of it, in order with copies of it: they
 * update a variable and read a constant (for a cubin, they update a constant too). Never blocks;
 * returns NOT_READY while the module is being loaded. Driver: cuModuleGetGlobal. Errors: NOT_FOUND,
 * NO_MEMORY.
 */
ACU_API acu_status acu_module_global(acu_module *module, const char *name, acu_buffer **buffer);

/* One thread for each of `n` elements: 256 threads per block, and as many blocks as that takes,
 * none for 0. If n is negative, or needs more blocks than a grid has, the launch is refused
 * (LIMIT). */
static inline acu_config acu_for_num_elems(int64_t n)
{
    int64_t blocks = n > 0 ? (n - 1) / 256 + 1 : n;
    acu_config c = ACU_GRID_BLOCK(blocks, 1, 1, 256, 1, 1);
    return c;
}

ACU_END
#endif
