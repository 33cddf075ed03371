/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda doctor: tries the devices and the compilers. */
#include "doctor.h"

#include <string.h>

enum { N = 1000 };

/* ---- one device ---- */

static bool is_right(const float *have, float want)
{
    for (int i = 0; i < N; i++)
        if (have[i] != want)
            return false;
    return true;
}

/* What a trial came to. */
static void judge(const doctor *d, const char *name, acu_status status, bool right,
                  const char *what)
{
    if (status != ACU_OK)
        doctor_find_error(d, name, DOCTOR_FAIL, "");
    else if (!right)
        doctor_find(d, name, DOCTOR_FAIL, "test the hardware",
                    "%s gave wrong numbers: the device or its driver is broken", what);
    else
        doctor_find(d, name, DOCTOR_OK, "", "%s", what);
}

static void try_copy(const doctor *d)
{
    float have[N], sent[N];
    acu_tensor *x = NULL;
    doctor_begin(d, "copy");
    for (int i = 0; i < N; i++)
        sent[i] = 3, have[i] = 0;
    acu_status status = acu_tensor_alloc(d->device, ACU_F32, ACU_SHAPE(N), &x);
    if (status == ACU_OK)
        status = acu_write_sync(x, sent, sizeof sent);
    if (status == ACU_OK)
        status = acu_read_sync(x, have, sizeof have);
    judge(d, "copy", status, is_right(have, 3), "to the device and back");
    acu_tensor_release(x);
}

static void try_kernel(const doctor *d)
{
    float have[N] = {0};
    acu_tensor *x = NULL;
    doctor_begin(d, "kernel");
    acu_status status = acu_sync(d->device, acu_add(acu_ones(ACU_F32, ACU_SHAPE(N)), 4), &x);
    if (status == ACU_OK)
        status = acu_read_sync(x, have, sizeof have);
    judge(d, "kernel", status, is_right(have, 5), "a built-in kernel");
    acu_tensor_release(x);
}

static void try_graph(const doctor *d)
{
    float have[N] = {0};
    acu_tensor *x = NULL;
    acu_graph *graph = NULL;
    doctor_begin(d, "graph");
    acu_status status = acu_sync(d->device, acu_zeros(ACU_F32, ACU_SHAPE(N)), &x);
    if (status == ACU_OK)
        status = acu_graph_load(d->device, acu_into(x, acu_add(x, 1)), NULL, &graph);
    for (int i = 0; i < 3 && status == ACU_OK; i++)
        status = acu_sync(d->device, acu_replay(graph), NULL);
    if (status == ACU_OK)
        status = acu_read_sync(x, have, sizeof have);
    judge(d, "graph", status, is_right(have, 3), "replayed three times");
    acu_graph_release(graph);
    acu_tensor_release(x);
}

static const char source[] =
    "extern \"C\" __global__ void five(float *x, int n)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 5; }\n";

static acu_status launch_five(const doctor *d, acu_kernel *five, float *have)
{
    acu_tensor *x = NULL;
    acu_status status =
        acu_sync(d->device,
                 acu_first(acu_launch(five, acu_for_num_elems(N),
                                      acu_out(acu_empty(ACU_F32, ACU_SHAPE(N))), acu_i32(N))),
                 &x);
    if (status == ACU_OK)
        status = acu_read_sync(x, have, N * sizeof *have);
    acu_tensor_release(x);
    return status;
}

static void try_compile(const doctor *d)
{
    float have[N] = {0};
    acu_module *module = NULL;
    acu_kernel *five = NULL;
    doctor_begin(d, "compile");
    acu_module_source of = {.size = sizeof of, .cuda = source};
    acu_status status = acu_module_load(d->device, &of, &module);
    if (status == ACU_ERR_NOT_FOUND) { /* no compiler: that is reported with the compilers */
        doctor_find(d, "compile", DOCTOR_NOTE, "", "not tried, for want of a compiler");
        return;
    }
    if (status == ACU_OK)
        status = acu_kernel_get(module, "five", &five);
    if (status == ACU_OK)
        status = launch_five(d, five, have);
    judge(d, "compile", status, is_right(have, 5), "CUDA C++ was compiled and ran");
    acu_kernel_release(five);
    acu_module_release(module);
}

static void tell_device(const doctor *d, const char *name)
{
    const acu_device_info *info = acu_device_info_of(d->device);
    size_t free_bytes = 0, total = 0;
    acu_device_memory(d->device, &free_bytes, &total);
    bool low = free_bytes < ((size_t)64 << 20);
    doctor_find(d, name, low ? DOCTOR_NOTE : DOCTOR_OK,
                low ? "other processes have the rest: nvidia-smi names them" : "",
                "%s, compute capability %d.%d, %zu of %zu MiB free", info->name,
                info->compute_major, info->compute_minor, free_bytes >> 20, total >> 20);
    if (strstr(info->name, " MIG "))
        doctor_find(d, name, DOCTOR_NOTE, "",
                    "it is an instance of a GPU in MIG mode: it has a part of the GPU's memory and "
                    "processors, and no peers");
}

/* The libraries that operations can call. They need a GPU. */
static void try_libraries(const doctor *d)
{
    for (int i = 0; i < ACU_VENDOR_COUNT; i++) {
        acu_vendor vendor = (acu_vendor)i;
        const char *name = acu_vendor_name(vendor), *path = NULL;
        doctor_begin(d, name);
        if (acu_vendor_load(d->device, vendor) != ACU_OK) {
            doctor_find_error(d, name, DOCTOR_NOTE,
                              "acuda's own kernels are used instead where there are any");
            continue;
        }
        int version = acu_vendor_version(vendor);
        path = acu_vendor_path(vendor);
        doctor_find(d, name, DOCTOR_OK, "", "%d.%d, %s", version / 10000, version / 100 % 100,
                    path ? path : "");
    }
}

static void check_device(doctor *d, int ordinal)
{
    char name[32];
    snprintf(name, sizeof name, "device %d", ordinal);
    doctor_begin(d, name);
    acu_open_options options = {.size = sizeof options, .ordinal = ordinal, .allow_software = true};
    if (acu_open(&options, &d->device) != ACU_OK) {
        d->device = NULL;
        doctor_find_error(d, name, DOCTOR_FAIL,
                          acu_last_error()->status == ACU_ERR_DEVICE_MEMORY
                              ? "other processes have the memory: nvidia-smi names them"
                              : "");
        return;
    }
    tell_device(d, name);
    try_copy(d);
    try_kernel(d);
    try_graph(d);
    try_compile(d);
    if (ordinal == 0 && !acu_device_info_of(d->device)->software)
        try_libraries(d);
    acu_close(d->device);
}

/* How many pairs of devices can use each other's memory directly. */
static void check_peers(const doctor *d)
{
    const acu_driver_table *cu = acu_driver();
    int pairs = 0, able = 0;
    doctor_begin(d, "peers");
    for (int a = 0; a < d->devices; a++)
        for (int b = 0; b < d->devices; b++) {
            int can = 0;
            pairs += a != b;
            if (a != b && cu->DeviceCanAccessPeer(&can, a, b) == 0)
                able += can != 0;
        }
    doctor_find(d, "peers", able < pairs ? DOCTOR_NOTE : DOCTOR_OK, "",
                able < pairs
                    ? "%d of %d pairs of devices reach each other; copies of the others go "
                      "through host memory"
                    : "%d of %d pairs of devices reach each other",
                able, pairs);
}

void doctor_devices(doctor *d)
{
    for (int i = 0; i < d->devices; i++)
        check_device(d, i);
    if (d->devices > 1)
        check_peers(d);
}

/* ---- compilers ---- */

static bool has_compiler(const doctor *d, acu_compiler which, const char *name, const char *advice,
                         const char *repair)
{
    acu_code *code = NULL;
    acu_compile_options options = {.size = sizeof options, .compiler = which, .arch = 75};
    doctor_begin(d, name);
    if (acu_compile(NULL, source, &options, &code) != ACU_OK) {
        bool absent = acu_last_error()->status == ACU_ERR_NOT_FOUND;
        doctor_find_error(d, name, absent ? DOCTOR_NOTE : DOCTOR_FAIL, absent ? advice : repair);
        return false;
    }
    doctor_find(d, name, DOCTOR_OK, "", "%s", acu_code_compiler(code));
    acu_code_release(code);
    return true;
}

void doctor_compilers(doctor *d)
{
    bool clang = has_compiler(d, ACU_COMPILER_CLANG, "clang",
                              "to compile kernels at run time: apt-get install clang",
                              "install it again, or name another one: ACUDA_CLANG");
    bool nvrtc = has_compiler(d, ACU_COMPILER_NVRTC, "NVRTC",
                              "only if clang's code is not fast enough: install CUDA's NVRTC",
                              "install it again, with its libnvrtc-builtins, or name another one: "
                              "ACUDA_NVRTC");
    d->has_compiler = clang || nvrtc;
}
