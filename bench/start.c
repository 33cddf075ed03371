/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Start: how long it takes from main to the first result, and what an idle process costs, against
 * the same with the driver's calls by hand, stream-ordered and pinned memory included. Each
 * measurement is a process of its own; the two kinds take turns. Prints medians and ratios, and
 * writes JSON to the file named by the first argument.
 *
 *   bench/start [--quick] [result.json]   ACUDA_BENCH_RUNS: pairs of processes (default 7)
 *
 * --quick: one pair, on the software device too, where there is no GPU; for tests.
 *
 *   ACUDA_DRIVER=software ACUDA_BENCH_LIBCUDA=<build>/lib/softcuda/libcuda.so.1 bench/start
 */
#include "harness/child.h"

#include <acuda/acuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const char start_ptx[];

enum { N = 1024, MOST_RUNS = 101 };

typedef struct result {
    double ms, open_ms; /* main to first result; of that, opening the device */
    long rss_kib, threads;
} result;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static long status_line(const char *key)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key) + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static void report(double start, double opened, const float *host)
{
    double end = now_ms();
    for (int i = 0; i < N; i++)
        if (host[i] != 2.0f * (float)i)
            exit(3);
    struct timespec idle = {.tv_nsec = 50000000};
    nanosleep(&idle, NULL);
    printf("%.4f %.4f %ld %ld\n", end - start, opened - start, status_line("VmRSS:"),
           status_line("Threads:"));
}

static void must(acu_status status)
{
    char text[1024];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s\n", text);
    exit(2);
}

static int run_acuda(void)
{
    double start = now_ms();
    acu_device *device;
    acu_module *module;
    acu_kernel *kernel;
    acu_tensor *x;
    float host[N];
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    acu_open_options options = {.size = sizeof options};
    must(acu_open(&options, &device));
    double opened = now_ms();
    must(acu_module_load(device, ACU_PTX(NULL, start_ptx), &module));
    must(acu_kernel_get(module, "twice", &kernel));
    acu_op *in = acu_const(ACU_F32, ACU_SHAPE(N), host);
    must(acu_sync(device, acu_first(acu_launch(kernel, acu_for_num_elems(N), acu_inout(in),
                                               acu_u32(N))), &x));
    must(acu_read_sync(x, host, sizeof host));
    report(start, opened, host);
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    acu_module_release(module);
    must(acu_close(device));
    return 0;
}

/* The driver's functions by hand. */
static void *library;
static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(2);
    }
    return found;
}
#define RAW(name, params)                                                                          \
    unsigned(*name) params;                                                                        \
    *(void **)&name = symbol(#name) /* as POSIX has it: C itself has no such conversion */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        unsigned result_ = (call);                                                                 \
        if (result_) {                                                                             \
            fprintf(stderr, "%s: %u\n", #call, result_);                                           \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

/* The library that the environment names, or the system's; in quick runs, if there is none, the
 * stand-in of this build. */
static void open_library(void)
{
    const char *path = getenv("ACUDA_BENCH_LIBCUDA");
    char self[3072], standin[4096];
    library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!library && !path && length > 0 && getenv("ACUDA_ALLOW_SOFTWARE")) {
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        snprintf(standin, sizeof standin, "%s/../lib/softcuda/libcuda.so.1", self);
        library = dlopen(standin, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
}

static int run_raw(void)
{
    double start = now_ms();
    open_library();
    RAW(cuInit, (unsigned));
    RAW(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice));
    RAW(cuCtxSetCurrent, (CUcontext));
    RAW(cuModuleLoadData, (CUmodule *, const void *));
    RAW(cuModuleGetFunction, (CUfunction *, CUmodule, const char *));
    RAW(cuStreamCreate, (CUstream *, unsigned));
    RAW(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream));
    RAW(cuMemHostAlloc, (void **, size_t, unsigned));
    RAW(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream));
    RAW(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, CUstream, void **, void **));
    RAW(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream));
    RAW(cuStreamSynchronize, (CUstream));
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    CUdeviceptr x;
    unsigned n = N;
    float host[N], *back;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    double opened = now_ms();
    MUST(cuModuleLoadData(&module, start_ptx));
    MUST(cuModuleGetFunction(&kernel, module, "twice"));
    MUST(cuStreamCreate(&stream, 1));
    MUST(cuMemAllocAsync(&x, sizeof host, stream));
    MUST(cuMemHostAlloc((void **)&back, sizeof host, 0));
    MUST(cuMemcpyHtoDAsync_v2(x, host, sizeof host, stream));
    void *params[] = {&x, &n};
    MUST(cuLaunchKernel(kernel, N / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    MUST(cuMemcpyDtoHAsync_v2(back, x, sizeof host, stream));
    MUST(cuStreamSynchronize(stream));
    report(start, opened, back);
    return 0;
}

static result measure(const char *kind)
{
    result r = {0};
    char line[128];
    if (!bench_child((const char *[]){"start", kind, NULL}, line, sizeof line) ||
        sscanf(line, "%lf %lf %ld %ld", &r.ms, &r.open_ms, &r.rss_kib, &r.threads) != 4) {
        fprintf(stderr, "a process of kind %s failed\n", kind);
        exit(2);
    }
    return r;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef double (*field_fn)(const result *);
static double field_ms(const result *r) { return r->ms; }
static double field_open(const result *r) { return r->open_ms; }
static double field_rss(const result *r) { return (double)r->rss_kib; }
static double field_threads(const result *r) { return (double)r->threads; }

static double median(const result *runs, int n, field_fn field)
{
    double values[MOST_RUNS];
    for (int i = 0; i < n; i++)
        values[i] = field(&runs[i]);
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[n / 2];
}

int main(int argc, char **argv)
{
    static result acuda[MOST_RUNS], raw[MOST_RUNS];
    if (argc > 1 && strcmp(argv[1], "acuda") == 0)
        return run_acuda();
    if (argc > 1 && strcmp(argv[1], "raw") == 0)
        return run_raw();
    int runs = getenv("ACUDA_BENCH_RUNS") ? atoi(getenv("ACUDA_BENCH_RUNS")) : 7;
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) {
        setenv("ACUDA_ALLOW_SOFTWARE", "1", 1); /* for the processes that it starts */
        runs = 1;
        argc--;
        argv++;
    }
    runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : runs;
    measure("raw"); /* warm the file cache */
    measure("acuda");
    for (int i = 0; i < runs; i++) {
        raw[i] = measure("raw");
        acuda[i] = measure("acuda");
    }
    double ms[2] = {median(acuda, runs, field_ms), median(raw, runs, field_ms)};
    double opened[2] = {median(acuda, runs, field_open), median(raw, runs, field_open)};
    double rss[2] = {median(acuda, runs, field_rss), median(raw, runs, field_rss)};
    double threads[2] = {median(acuda, runs, field_threads), median(raw, runs, field_threads)};
    printf("                          acuda       by hand\n");
    printf("main to first result  %8.2f ms  %8.2f ms   ratio %.3f\n", ms[0], ms[1], ms[0] / ms[1]);
    printf("of that, opening      %8.2f ms  %8.2f ms   ratio %.3f\n", opened[0], opened[1],
           opened[0] / opened[1]);
    printf("idle, memory         %8.0f KiB %8.0f KiB   difference %.0f KiB\n", rss[0], rss[1],
           rss[0] - rss[1]);
    printf("idle, threads         %8.0f     %8.0f      difference %.0f\n", threads[0], threads[1],
           threads[0] - threads[1]);
    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (json) {
        fprintf(json,
                "{\"bench\": \"start\", \"runs\": %d,\n \"first_result_ms\": [%.4f, %.4f],\n"
                " \"open_ms\": [%.4f, %.4f],\n \"idle_rss_kib\": [%.0f, %.0f],\n"
                " \"idle_threads\": [%.0f, %.0f]}\n",
                runs, ms[0], ms[1], opened[0], opened[1], rss[0], rss[1], threads[0], threads[1]);
        fclose(json);
    }
    return 0;
}
