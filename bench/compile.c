/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Run-time compilation: loading 10 KiB of source that is compiled already, from the cache in memory
 * and from the one on disk; beside it NVRTC and cuModuleLoadData by hand. ACUDA_NVRTC names the
 * library where it is not found.
 *
 * In quick runs clang compiles if there is no NVRTC; without clang too, nothing is shown.
 */
#include "harness/harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE = 10 << 10, MOST = 2000 };

static char source[SOURCE + 256], folder[] = "/tmp/acuda-bench-XXXXXX";
static acu_compile_options options = {.size = sizeof options};
static acu_device *device;
static const acu_driver_table *cu;
static char *ptx;

/* One kernel, and functions that it calls. */
static void write_source(void)
{
    size_t n = 0;
    int functions = 0;
    for (; n < SOURCE - 256; functions++)
        n += (size_t)snprintf(source + n, sizeof source - n,
                              "__device__ float f%d(float x)\n"
                              "{ return x * %d.0f + sqrtf(x + %d.0f); }\n",
                              functions, functions % 7, functions);
    n += (size_t)snprintf(source + n, sizeof source - n,
                          "extern \"C\" __global__ void go(float *x) { float v = x[threadIdx.x];\n"
                          "v = f0(v) + f1(v) + f%d(v); x[threadIdx.x] = v; }\n", functions - 1);
    while (n < SOURCE)
        source[n++] = ' ';
}

static void configure(bool memory, bool disk)
{
    acu_compile_settings settings = {.size = sizeof settings, .no_memory = !memory,
                                     .no_disk = !disk, .cache_dir = disk ? folder : NULL};
    MUST(acu_compile_configure(&settings));
}

static double compile_once(void)
{
    acu_code *code = NULL;
    double start = bench_now_us();
    MUST(acu_compile(device, source, &options, &code));
    double took = bench_now_us() - start;
    if (!strstr(acu_code_ptx(code), "go"))
        bench_wrong("the code has no kernel");
    acu_code_release(code);
    return took;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void hits(bench *b, const char *what, bool disk, double goal)
{
    static double samples[MOST];
    int count = bench_count(b, disk ? MOST / 4 : MOST, 5);
    char text[100];
    configure(true, disk);
    compile_once();
    for (int i = -count / 10; i < count; i++) {
        if (disk)
            acu_compile_forget();
        double took = compile_once();
        if (i >= 0)
            samples[i] = took;
    }
    qsort(samples, (size_t)count, sizeof *samples, by_value);
    bench_at_most(b, what, "us", bench_percentile(samples, count, 50), goal);
    snprintf(text, sizeof text, "%s, p99", what);
    bench_at_most(b, text, "us", bench_percentile(samples, count, 99), NAN);
}

/* ---- NVRTC by hand ---- */

typedef struct nvrtc_program *program;
static int (*create)(program *, const char *, const char *, int, const char *const *,
                     const char *const *);
static int (*compile)(program, int, const char *const *);
static int (*ptx_size)(program, size_t *);
static int (*get_ptx)(program, char *);
static int (*destroy)(program *);

static bool resolve(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool open_nvrtc(void)
{
    const char *names[] = {getenv("ACUDA_NVRTC"), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                           "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = names[i] ? dlopen(names[i], RTLD_NOW | RTLD_LOCAL) : NULL;
    return library && resolve(library, "nvrtcCreateProgram", &create) &&
           resolve(library, "nvrtcCompileProgram", &compile) &&
           resolve(library, "nvrtcGetPTXSize", &ptx_size) &&
           resolve(library, "nvrtcGetPTX", &get_ptx) &&
           resolve(library, "nvrtcDestroyProgram", &destroy);
}

static char *compile_by_hand(void)
{
    char arch[64];
    const acu_device_info *info = acu_device_info_of(device);
    snprintf(arch, sizeof arch, "--gpu-architecture=compute_%d%d", info->compute_major,
             info->compute_minor);
    const char *args[] = {arch, "--std=c++17"};
    program p = NULL;
    size_t bytes = 0;
    if (create(&p, source, "source.cu", 0, NULL, NULL) || compile(p, 2, args) ||
        ptx_size(p, &bytes))
        bench_wrong("NVRTC by hand");
    char *text = malloc(bytes);
    if (!text || get_ptx(p, text))
        bench_wrong("NVRTC by hand");
    destroy(&p);
    return text;
}

static double sample_compile(void *unused)
{
    (void)unused;
    return compile_once();
}

static double sample_by_hand(void *unused)
{
    (void)unused;
    double start = bench_now_us();
    char *text = compile_by_hand();
    double took = bench_now_us() - start;
    free(text);
    return took;
}

/* ---- loading ---- */

static double sample_load(void *unused)
{
    (void)unused;
    acu_module *module = NULL;
    acu_module_source from = {.size = sizeof from, .cuda = source, .compile = &options};
    double start = bench_now_us();
    MUST(acu_module_load(device, &from, &module));
    double took = bench_now_us() - start;
    acu_module_release(module);
    return took;
}

static double sample_load_by_hand(void *unused)
{
    (void)unused;
    CUmodule module = NULL;
    CUfunction function = NULL;
    double start = bench_now_us();
    MUST_CU(cu->ModuleLoadData(&module, ptx));
    MUST_CU(cu->ModuleGetFunction(&function, module, "go"));
    double took = bench_now_us() - start;
    MUST_CU(cu->ModuleUnload(module));
    return took;
}

static void keep_ptx(void)
{
    acu_code *code = NULL;
    MUST(acu_compile(device, source, &options, &code));
    ptx = strdup(acu_code_ptx(code));
    printf("compiled by %s\n", acu_code_compiler(code));
    acu_code_release(code);
}

static void remove_folder(void)
{
    char path[512];
    DIR *dir = opendir(folder);
    struct dirent *d;
    while (dir && (d = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    bench b = bench_open("compile", argc, argv, NULL);
    device = b.device;
    cu = b.cu;
    write_source();
    acu_code *code = NULL;
    if (acu_compile(device, "", &options, &code) == ACU_ERR_NOT_FOUND) {
        printf("there is no compiler here: %s\n", acu_last_error()->message);
        return bench_close(&b);
    }
    acu_code_release(code);
    if (!mkdtemp(folder))
        bench_die("no folder could be made in /tmp");
    keep_ptx();
    hits(&b, "10 KiB of source, compiled before: in memory", false, 5);
    hits(&b, "the same, on disk", true, 1000);
    bench_compare(&b, &(bench_row){
                          .what = "a module of what is in memory",
                          .samples = bench_count(&b, 60, 3),
                          .warm = 2,
                          .sides = {{.name = "acu_module_load", .sample = sample_load},
                                    {.name = "cuModuleLoadData", .sample = sample_load_by_hand}}});
    configure(false, false);
    if (open_nvrtc() && !acu_device_info_of(device)->software)
        bench_compare(&b, &(bench_row){.what = "compiling, nothing kept",
                                       .samples = bench_count(&b, 40, 2),
                                       .warm = 2,
                                       .sides = {{.name = "acu_compile", .sample = sample_compile},
                                                 {.name = "NVRTC", .sample = sample_by_hand}}});
    configure(true, false);
    free(ptx);
    remove_folder();
    return bench_close(&b);
}
