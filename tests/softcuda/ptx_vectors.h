/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Instructions with known answers, run through the driver API on whatever driver is there: the same
 * vectors hold the software device to what PTX documents, and these tests to what a GPU does.
 *
 * A case is a piece of PTX that computes one result from three inputs. It finds them as integers of
 * 64, 32 and 16 bits and as floats, and leaves the result in one register:
 *
 *              inputs           result   kind
 *     64 bits  %a %b %c         %d       'd'
 *     32 bits  %x %y %z         %w       'w'   (low halves of the 64-bit inputs)
 *     16 bits  %hx %hy %hz      %hw      'h'
 *     f32      %fx %fy %fz      %fw      'f'   (the same bits as %x %y %z)
 *     f64      %gx %gy %gz      %gw      'g'   (the same bits as %a %b %c)
 *     .pred                     %p       'p'   (also %q %r %s to work with)
 *
 * %t0..%t7 (.b32), %u0..%u7 (.b64), %h0..%h7 (.b16) and %f0..%f7 (.f32) are scratch. Results of
 * kinds 'f' and 'g' match where both are NaN, whatever their payloads.
 */
#ifndef TESTS_SOFTCUDA_PTX_VECTORS_H
#define TESTS_SOFTCUDA_PTX_VECTORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <acuda/driver.h>

/* ---- the device ----------------------------------------------------------------------------- */

static struct {
    const acu_driver_table *cu;
    unsigned capability; /* 75 for 7.5 */
} vec;

static inline void vec_must(unsigned result, const char *what)
{
    if (result != ACU_CUDA_SUCCESS)
        fail_msg("%s: %s", what, acu_driver_result_name(result));
}
#define VEC_MUST(call) vec_must(vec.cu->call, #call)

/* Group setup: device 0's primary context, current on this thread. */
static inline int vec_setup(void **state)
{
    (void)state;
    const acu_driver_options options = {.size = sizeof options, .allow_software = true};
    CUcontext context;
    int major = 0, minor = 0;
    if (acu_driver_open(&options, &vec.cu) != ACU_OK) {
        print_error("%s\n", acu_last_error()->message);
        return -1;
    }
    if (vec.cu->DevicePrimaryCtxRetain(&context, 0) != 0 || vec.cu->CtxSetCurrent(context) != 0)
        return -1;
    vec.cu->DeviceGetAttribute(&major, ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    vec.cu->DeviceGetAttribute(&minor, ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    vec.capability = (unsigned)(major * 10 + minor);
    return 0;
}

static inline int vec_teardown(void **state)
{
    (void)state;
    return vec.cu->DevicePrimaryCtxRelease(0) == 0 ? 0 : -1;
}

/* Loads a text; what the driver has against it ends up in the test's failure. */
static inline CUmodule vec_load(const char *name, const char *ptx)
{
    char log[1024] = "";
    unsigned options[] = {ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    const unsigned result = vec.cu->ModuleLoadDataEx(&module, ptx, 2, options, values);
    if (result != ACU_CUDA_SUCCESS)
        fail_msg("%s: loading: %s %s", name, acu_driver_result_name(result), log);
    return module;
}

static inline CUdeviceptr vec_to_device(const void *host, size_t bytes)
{
    CUdeviceptr memory = 0;
    VEC_MUST(MemAlloc(&memory, bytes));
    if (host)
        VEC_MUST(MemcpyHtoD(memory, host, bytes));
    else
        VEC_MUST(MemsetD8(memory, 0, bytes));
    return memory;
}

static inline void vec_from_device(void *host, CUdeviceptr memory, size_t bytes)
{
    VEC_MUST(MemcpyDtoH(host, memory, bytes));
    VEC_MUST(MemFree(memory));
}

/* Waits. */
static inline void vec_launch(CUmodule module, const char *name, const unsigned grid[3],
                              const unsigned block[3], unsigned shared, void **params)
{
    CUfunction kernel = NULL;
    vec_must(vec.cu->ModuleGetFunction(&kernel, module, name), name);
    vec_must(vec.cu->LaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                  shared, NULL, params, NULL),
             name);
    vec_must(vec.cu->CtxSynchronize(), name);
}

/* ---- kernels with one in and one out buffer ------------------------------------------------- */

#define VEC_HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"
#define VEC_HEADER_80 ".version 7.0\n.target sm_80\n.address_size 64\n"

/*
 * The start of `.entry k(in, out)`: %rd1 is the address of in, %rd2 of out, %r1 the linear thread
 * index in the block, %rd3 the address of this thread's 32-bit slot of out
 * (one block), %r2 the lane.
 */
#define VEC_ENTRY \
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" \
    ".reg .pred %p<16>;\n.reg .b16 %rs<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n" \
    ".reg .f32 %f<16>;\n.reg .f64 %fd<16>;\n" \
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n" \
    "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n" \
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\n" \
    "mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd3, %rd2, %rd3;\n"

/* Runs k over `blocks` blocks of `threads` threads; `in` may be NULL. `out` starts as zeros. */
static inline void vec_run_grid(const char *ptx, const void *in, size_t in_bytes, void *out,
                                size_t out_bytes, const unsigned grid[3], const unsigned block[3],
                                unsigned shared)
{
    CUmodule module = vec_load("k", ptx);
    CUdeviceptr from = vec_to_device(in, in_bytes ? in_bytes : 4);
    CUdeviceptr to = vec_to_device(NULL, out_bytes);
    void *params[] = {&from, &to};
    vec_launch(module, "k", grid, block, shared, params);
    vec_from_device(out, to, out_bytes);
    VEC_MUST(MemFree(from));
    VEC_MUST(ModuleUnload(module));
}

static inline void vec_run(const char *ptx, const void *in, size_t in_bytes, void *out,
                           size_t out_bytes, unsigned threads)
{
    vec_run_grid(ptx, in, in_bytes, out, out_bytes, (unsigned[3]){1, 1, 1},
                 (unsigned[3]){threads, 1, 1}, 0);
}

/* ---- cases ---------------------------------------------------------------------------------- */

typedef struct vec_case {
    const char *name, *body;
    char kind;
    unsigned target;  /* capability needed; 0: any */
    unsigned version; /* PTX version needed; 0: 7.0 */
    uint64_t (*expect)(uint64_t a, uint64_t b, uint64_t c);
    bool (*defined)(uint64_t a, uint64_t b, uint64_t c); /* inputs for which PTX states a result */
} vec_case;

static const char vec_prologue[] =
    ".address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
    ".reg .pred %p, %q, %r, %s;\n"
    ".reg .b64 %a, %b, %c, %d, %u<8>;\n.reg .b32 %x, %y, %z, %w, %t<8>;\n"
    ".reg .b16 %hx, %hy, %hz, %hw, %h<8>;\n"
    ".reg .f32 %fx, %fy, %fz, %fw, %f<8>;\n.reg .f64 %gx, %gy, %gz, %gw;\n"
    "mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %ntid.x;\nmov.u32 %t2, %tid.x;\n"
    "mad.lo.u32 %t0, %t0, %t1, %t2;\nld.param.u32 %t1, [n];\n"
    "setp.ge.u32 %p, %t0, %t1;\n@%p bra DONE;\n"
    "ld.param.u64 %u0, [in];\nmul.wide.u32 %u1, %t0, 24;\nadd.u64 %u0, %u0, %u1;\n"
    "ld.global.u64 %a, [%u0];\nld.global.u64 %b, [%u0+8];\nld.global.u64 %c, [%u0+16];\n"
    "ld.param.u64 %u0, [out];\nmul.wide.u32 %u1, %t0, 8;\nadd.u64 %u7, %u0, %u1;\n"
    "cvt.u32.u64 %x, %a;\ncvt.u32.u64 %y, %b;\ncvt.u32.u64 %z, %c;\n"
    "cvt.u16.u64 %hx, %a;\ncvt.u16.u64 %hy, %b;\ncvt.u16.u64 %hz, %c;\n"
    "mov.b32 %fx, %x;\nmov.b32 %fy, %y;\nmov.b32 %fz, %z;\n"
    "mov.b64 %gx, %a;\nmov.b64 %gy, %b;\nmov.b64 %gz, %c;\n";

/* From the result register of the kind to %d. */
static inline const char *vec_epilogue(char kind)
{
    switch (kind) {
    case 'd':
        return "";
    case 'w':
        return "cvt.u64.u32 %d, %w;\n";
    case 'h':
        return "cvt.u64.u16 %d, %hw;\n";
    case 'f':
        return "mov.b32 %w, %fw;\ncvt.u64.u32 %d, %w;\n";
    case 'g':
        return "mov.b64 %d, %gw;\n";
    default:
        return "selp.u64 %d, 1, 0, %p;\n";
    }
}

static inline bool vec_is_nan(char kind, uint64_t bits)
{
    if (kind == 'f')
        return (bits & 0x7FFFFFFF) > 0x7F800000;
    return kind == 'g' && (bits & INT64_MAX) > 0x7FF0000000000000;
}

static inline bool vec_same(char kind, uint64_t got, uint64_t expected)
{
    if (kind == 'w' || kind == 'f')
        expected &= UINT32_MAX;
    if (kind == 'h')
        expected &= UINT16_MAX;
    return got == expected || (vec_is_nan(kind, got) && vec_is_nan(kind, expected));
}

/* Runs `body` for all `count` triples of inputs; results, 64 bits each, go to `out`. */
static inline void vec_run_body(const vec_case *it, const uint64_t (*in)[3], uint64_t *out,
                                uint32_t count)
{
    static char text[64 * 1024];
    const unsigned version = it->version ? it->version : 70, target = it->target ? it->target : 75;
    const int length = snprintf(
        text, sizeof text,
        ".version %u.%u\n.target sm_%u\n%s%s\n%sst.global.u64 [%%u7], %%d;\nDONE:\nret;\n}\n",
        version / 10, version % 10, target, vec_prologue, it->body, vec_epilogue(it->kind));
    assert_in_range(length, 1, (int)sizeof text - 1);
    CUmodule module = vec_load(it->name, text);
    CUdeviceptr from = vec_to_device(in, count * sizeof *in);
    CUdeviceptr to = vec_to_device(NULL, count * sizeof *out);
    void *params[] = {&from, &to, &count};
    vec_launch(module, "k", (unsigned[3]){(count + 191) / 192, 1, 1}, (unsigned[3]){192, 1, 1}, 0,
               params);
    vec_from_device(out, to, count * sizeof *out);
    VEC_MUST(MemFree(from));
    VEC_MUST(ModuleUnload(module));
}

enum { VEC_VALUES_MAX = 40 };

/* All pairs of values as %a and %b, each with some third value as %c. Returns their number. */
static inline uint32_t vec_triples(const uint64_t *values, size_t count, uint64_t (*triples)[3])
{
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++, n++) {
            triples[n][0] = values[i];
            triples[n][1] = values[j];
            triples[n][2] = values[(i * 7 + j * 3 + 1) % count];
        }
    }
    return n;
}

static uint64_t vec_in[VEC_VALUES_MAX * VEC_VALUES_MAX][3];
static uint64_t vec_out[VEC_VALUES_MAX * VEC_VALUES_MAX];

/* Runs the cases over all pairs of `values`; reports and counts the cases that differ. */
static inline unsigned vec_wrong(const vec_case *cases, size_t case_count, const uint64_t *values,
                                 size_t value_count)
{
    assert_true(value_count <= VEC_VALUES_MAX);
    const uint32_t n = vec_triples(values, value_count, vec_in);
    unsigned wrong = 0;
    for (size_t k = 0; k < case_count; k++) {
        const vec_case *it = &cases[k];
        if (it->target > vec.capability)
            continue;
        vec_run_body(it, (const uint64_t(*)[3])vec_in, vec_out, n);
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t a = vec_in[i][0], b = vec_in[i][1], c = vec_in[i][2];
            if (it->defined && !it->defined(a, b, c))
                continue;
            const uint64_t expected = it->expect(a, b, c);
            if (vec_same(it->kind, vec_out[i], expected))
                continue;
            print_error("%s(%#llx, %#llx, %#llx) = %#llx, expected %#llx\n", it->name,
                        (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                        (unsigned long long)vec_out[i], (unsigned long long)expected);
            wrong++;
            break; /* one line a case */
        }
    }
    return wrong;
}

static inline void vec_check(const vec_case *cases, size_t case_count, const uint64_t *values,
                             size_t value_count)
{
    assert_int_equal(vec_wrong(cases, case_count, values, value_count), 0);
}

#define VEC_COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
