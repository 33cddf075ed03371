/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all benchmarks share (harness.h): options, the device, giving up, time. */
#include "harness.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- giving up ---- */

void bench_must(acu_status status, const char *what, const char *file, int line)
{
    char text[1024];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    bench_die("%s:%d: %s: %s\n%s", file, line, what, acu_status_name(status), text);
}

void bench_must_cu(unsigned result, const char *what, const char *file, int line)
{
    if (result != 0)
        bench_die("%s:%d: %s: %s", file, line, what, acu_driver_result_name(result));
}

void bench_call(int status, const char *what)
{
    if (status != 0)
        bench_die("%s answered %d", what, status);
}

void *bench_library(const bench *b, acu_vendor vendor)
{
    if (acu_vendor_load(b->device, vendor) != ACU_OK)
        return NULL;
    void *library = dlopen(acu_vendor_path(vendor), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        bench_die("%s", dlerror());
    return library;
}

void bench_find(void *library, const char *symbol, void *field)
{
    void *address = dlsym(library, symbol);
    if (!address)
        bench_die("there is no %s", symbol);
    memcpy(field, &address, sizeof address);
}

static void complain(const char *format, va_list args)
{
    fflush(stdout);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
    _Exit(2);
}

void bench_wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
    _Exit(3);
}

/* ---- time ---- */

static double us_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

double bench_now_us(void)
{
    return us_of(CLOCK_MONOTONIC);
}

double bench_cpu_us(void)
{
    return us_of(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_nap_us(double us)
{
    struct timespec t = {.tv_sec = (time_t)(us * 1e-6)};
    t.tv_nsec = (long)((us - (double)t.tv_sec * 1e6) * 1e3);
    nanosleep(&t, NULL);
}

void bench_settle(const bench *b)
{
    MUST(acu_device_wait(b->device, ACU_FOREVER));
    bench_nap_us(300);
}

void bench_enter(const bench *b)
{
    MUST_CU(b->cu->CtxSetCurrent(acu_device_context(b->device)));
}

void bench_leave(const bench *b)
{
    MUST_CU(b->cu->CtxSetCurrent(NULL));
}

/* ---- one program ---- */

static void read_options(bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            b->quick = true;
        else if (argv[i][0] != '-' && !b->json)
            b->json = argv[i];
        else
            bench_die("usage: %s [--quick] [result.json]", b->name);
}

static bench open_any(const char *name, int argc, char **argv, const acu_open_options *options,
                      bool host)
{
    bench b = {.name = name};
    acu_open_options o = {.size = sizeof o};
    read_options(&b, argc, argv);
    if (options)
        o = *options;
    o.allow_software = true;
    if (b.quick)
        setenv("SOFTCUDA_DEVICES", "4", 0); /* in case it is the software device */
    MUST(acu_open(&o, &b.device));
    b.cu = acu_driver();
    const acu_device_info *info = acu_device_info_of(b.device);
    if (info->software && !b.quick && !host)
        bench_die("%s: times need a GPU; --quick runs it on %s", name, info->name);
    int version = acu_driver_info_of()->version;
    printf("%s: %s, CUDA %d.%d%s\n", name, info->name, version / 1000, version % 1000 / 10,
           b.quick ? ", quick: the figures mean nothing" : "");
    return b;
}

bench bench_open(const char *name, int argc, char **argv, const acu_open_options *options)
{
    return open_any(name, argc, argv, options, false);
}

bench bench_open_host(const char *name, int argc, char **argv)
{
    return open_any(name, argc, argv, NULL, true);
}

void bench_reopen(bench *b, const acu_open_options *options)
{
    acu_open_options o = *options;
    o.allow_software = true;
    MUST(acu_close(b->device));
    MUST(acu_open(&o, &b->device));
}

int bench_close(bench *b)
{
    if (b->json)
        bench_write_json(b);
    while (b->records) {
        bench_record *next = b->records->next;
        free(b->records);
        b->records = next;
    }
    MUST(acu_close(b->device));
    if (!b->quick)
        printf("%s: %d goals missed\n", b->name, b->missed);
    return 0;
}

acu_kernel *bench_kernel(const bench *b, const char *ptx, const char *name)
{
    acu_module *module;
    acu_kernel *kernel;
    MUST(acu_module_load(b->device, ACU_PTX(NULL, ptx), &module));
    MUST(acu_kernel_get(module, name, &kernel));
    acu_module_release(module);
    return kernel;
}
