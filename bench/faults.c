/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a kernel's fault leaves behind, by the driver's own calls: does it spread to the other
 * contexts of the process, and does it end when the context is destroyed, or the primary context
 * reset or released? Each experiment is a process of its own. Prints a table of what each step
 * answered, and writes JSON to the file named by the first argument.
 *
 *   bench/faults [--quick] [result.json]
 *
 * --quick: runs on the software device too, where there is no GPU; for tests. Experiments with a
 * second device are left out if there is only one.
 */
#include "harness/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char faults_ptx[];

enum { MOST_STEPS = 16, STEP = 40, HANGS_S = 60 };

typedef struct step {
    char name[STEP];
    unsigned result;
    double ms;
} step;

typedef struct outcome {
    step steps[MOST_STEPS];
    int count;
    int wait_status;
} outcome;

/* ---- in the child ---------------------------------------------------------------------------- */

static const acu_driver_table *cu;
static int out; /* the pipe */
static double started; /* microseconds */
static const char *fault_kernel;

/* What the step answered, and how long it took since the one before. */
static void say(unsigned result, const char *name)
{
    step s = {.result = result, .ms = (bench_now_us() - started) * 1e-3};
    snprintf(s.name, sizeof s.name, "%s", name);
    if (write(out, &s, sizeof s) != sizeof s)
        _exit(9);
    started = bench_now_us();
}

static void need(unsigned result, const char *name)
{
    if (result == 0)
        return;
    say(result, name);
    _exit(8);
}

/* One launch of the kernel in the current context, from loading it to its result. */
static unsigned launch(const char *name)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr x;
    int one = 1, value = 41;
    void *params[] = {&x, &one};
    unsigned result = cu->ModuleLoadData(&module, faults_ptx);
    if (!result)
        result = cu->ModuleGetFunction(&function, module, name);
    if (!result)
        result = cu->MemAlloc(&x, sizeof value);
    if (!result)
        result = cu->MemcpyHtoD(x, &value, sizeof value);
    if (!result)
        result = cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (!result)
        result = cu->CtxSynchronize();
    if (!result)
        result = cu->MemcpyDtoH(&value, x, sizeof value);
    if (!result && strcmp(name, "well") == 0 && value != 42)
        result = ACU_CUDA_ERROR_UNKNOWN;
    return result;
}

static void works(CUcontext context, const char *name)
{
    unsigned result = cu->CtxSetCurrent(context);
    say(result ? result : launch("well"), name);
}

static void fault(CUcontext context)
{
    need(cu->CtxSetCurrent(context), "making it current");
    say(launch(fault_kernel), "fault");
}

static CUcontext own(int device, const char *name)
{
    CUcontext context = NULL;
    unsigned result = cu->CtxCreate(&context, 0, device);
    if (name)
        say(result, name);
    else
        need(result, "a context of its own");
    return context;
}

static CUcontext primary(int device, const char *name)
{
    CUcontext context = NULL;
    unsigned result = cu->DevicePrimaryCtxRetain(&context, device);
    if (name)
        say(result, name);
    else
        need(result, "a primary context");
    return context;
}

/* ---- experiments: the last step tells whether it is healed ---- */

static void own_destroyed(void)
{
    CUcontext c = own(0, NULL);
    works(c, "before");
    fault(c);
    say(cu->CtxDestroy(c), "destroy");
    c = own(0, "create");
    works(c, "works");
}

static void own_beside_primary(void)
{
    CUcontext p = primary(0, NULL), c = own(0, NULL);
    works(p, "primary before");
    fault(c);
    works(p, "primary after");
    say(cu->CtxDestroy(c), "destroy");
    works(p, "primary then");
    c = own(0, "create");
    works(c, "works");
}

static void all_contexts_gone(void)
{
    CUcontext p = primary(0, NULL), c = own(0, NULL);
    works(p, "primary before");
    fault(c);
    say(cu->CtxDestroy(c), "destroy");
    say(cu->DevicePrimaryCtxReset(0), "reset primary");
    p = primary(0, "retain");
    works(p, "works");
}

static void primary_reset(void)
{
    CUcontext p = primary(0, NULL);
    works(p, "before");
    fault(p);
    say(cu->DevicePrimaryCtxReset(0), "reset");
    p = primary(0, "retain");
    works(p, "works");
}

static void primary_given_back(void)
{
    CUcontext p = primary(0, NULL);
    works(p, "before");
    fault(p);
    say(cu->DevicePrimaryCtxRelease(0), "release");
    p = primary(0, "retain");
    works(p, "works");
}

static void primary_faults_beside_own(void)
{
    CUcontext p = primary(0, NULL), c = own(0, NULL);
    works(c, "own before");
    fault(p);
    works(c, "own after");
    c = own(0, "create another");
    works(c, "works");
}

static void second_primary(void)
{
    CUcontext p = primary(0, NULL), q = primary(1, NULL);
    works(q, "second before");
    fault(p);
    works(q, "second after");
    say(cu->DevicePrimaryCtxReset(0), "reset first");
    works(q, "second then");
    p = primary(0, "retain first");
    works(p, "works");
}

static void second_own(void)
{
    CUcontext c = own(0, NULL), d = own(1, NULL);
    works(d, "second before");
    fault(c);
    works(d, "second after");
    say(cu->CtxDestroy(c), "destroy first");
    works(d, "second then");
    c = own(0, "create first");
    works(c, "works");
}

static void both_reset(void)
{
    CUcontext p = primary(0, NULL), q = primary(1, NULL);
    works(q, "second before");
    fault(p);
    say(cu->DevicePrimaryCtxReset(0), "reset first");
    say(cu->DevicePrimaryCtxReset(1), "reset second");
    q = primary(1, "retain second");
    works(q, "second works");
    p = primary(0, "retain first");
    works(p, "works");
}

static void second_begun_later(void)
{
    CUcontext p = primary(0, NULL);
    works(p, "before");
    fault(p);
    CUcontext q = primary(1, "retain second");
    works(q, "works");
}

static void reset_without_fault(void)
{
    CUcontext p = primary(0, NULL);
    works(p, "before");
    say(cu->DevicePrimaryCtxReset(0), "reset");
    CUcontext again = primary(0, "retain");
    say(again != p, "other handle");
    works(again, "works");
}

/* Old handles, which acuda must never pass on: a call with one may return anything, or end the
 * process. */
static void old_handles(void)
{
    CUcontext p = primary(0, NULL);
    CUstream stream = NULL;
    CUevent event = NULL;
    works(p, "before");
    need(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING), "a stream");
    need(cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING), "an event");
    say(cu->DevicePrimaryCtxReset(0), "reset");
    p = primary(0, "retain");
    works(p, "new works");
    say(cu->EventQuery(event), "old event");
    say(cu->StreamQuery(stream), "old stream");
    works(p, "works");
}

typedef struct experiment {
    const char *name;
    void (*run)(void);
    int devices;
    bool faults;
} experiment;

static const experiment experiments[] = {
    {"own context, destroyed", own_destroyed, 1, true},
    {"own beside primary, destroyed", own_beside_primary, 1, true},
    {"own beside primary, all gone", all_contexts_gone, 1, true},
    {"primary, reset", primary_reset, 1, true},
    {"primary, given back", primary_given_back, 1, true},
    {"primary, an own one beside", primary_faults_beside_own, 1, true},
    {"second device's primary beside", second_primary, 2, true},
    {"second device's own beside", second_own, 2, true},
    {"two primaries, both reset", both_reset, 2, true},
    {"second device begun later", second_begun_later, 2, true},
    {"no fault, reset", reset_without_fault, 1, false},
    {"no fault, old handles", old_handles, 1, false},
};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

static const char *const faults[] = {"address",   "misaligned", "trap",
                                     "assertion", "shared",     "local"};
enum { FAULTS = sizeof faults / sizeof *faults };

/* ---- in the parent, which never opens a driver ----------------------------------------------- */

static bool quick;

static void open_driver(void)
{
    acu_driver_options options = {.size = sizeof options, .allow_software = quick};
    if (acu_driver_open(&options, &cu) == ACU_OK)
        return;
    char text[1024];
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s\n", text);
    _exit(2);
}

/* How many devices; the first line tells which. Ends the program where there is no driver. */
static int count_devices(void)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char text[1024];
        open_driver();
        acu_driver_describe(text, sizeof text);
        printf("%.*s\n", (int)strcspn(text, "\n"), text);
        fflush(stdout);
        _exit(100 + (acu_driver_info_of()->devices < 2 ? acu_driver_info_of()->devices : 2));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) <= 100)
        exit(2);
    return WEXITSTATUS(status) - 100;
}

static void run_child(const experiment *e, const char *kernel, int pipe_end)
{
    int nothing = open("/dev/null", O_WRONLY);
    alarm(HANGS_S);
    open_driver();
    dup2(nothing, 1); /* a failed assertion is told by the driver */
    dup2(nothing, 2);
    out = pipe_end;
    fault_kernel = kernel;
    started = bench_now_us();
    e->run();
    _exit(0);
}

static outcome try(const experiment *e, const char *kernel)
{
    outcome o = {.count = 0};
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(2);
    pid_t child = fork();
    if (child < 0)
        exit(2);
    if (child == 0)
        run_child(e, kernel, ends[1]);
    close(ends[1]);
    while (o.count < MOST_STEPS &&
           read(ends[0], &o.steps[o.count], sizeof *o.steps) == (ssize_t)sizeof *o.steps)
        o.count++;
    close(ends[0]);
    if (waitpid(child, &o.wait_status, 0) != child)
        exit(2);
    return o;
}

static const char *verdict(const outcome *o)
{
    if (WIFSIGNALED(o->wait_status))
        return WTERMSIG(o->wait_status) == SIGALRM ? "hangs" : "dies";
    if (WEXITSTATUS(o->wait_status) != 0 || o->count == 0)
        return "not tried";
    return o->steps[o->count - 1].result == 0 ? "works" : "lost";
}

static void show(const experiment *e, const char *kernel, const outcome *o, FILE *json, bool first)
{
    printf("%-11s %-31s %-9s", e->faults ? kernel : "-", e->name, verdict(o));
    for (int i = 0; i < o->count; i++)
        printf(" %s %u%s", o->steps[i].name, o->steps[i].result, i + 1 < o->count ? "," : "");
    printf("\n");
    if (!json)
        return;
    fprintf(json,
            "%s\n  {\"fault\": \"%s\", \"experiment\": \"%s\", \"verdict\": \"%s\", \"steps\": [",
            first ? "" : ",", e->faults ? kernel : "", e->name, verdict(o));
    for (int i = 0; i < o->count; i++)
        fprintf(json, "%s{\"step\": \"%s\", \"result\": %u, \"ms\": %.2f}", i ? ", " : "",
                o->steps[i].name, o->steps[i].result, o->steps[i].ms);
    fprintf(json, "]}");
}

/* There was a fault, and the process came to the experiment's end. */
static bool went_as_meant(const experiment *e, const outcome *o)
{
    bool faulted = !e->faults;
    for (int i = 0; i < o->count; i++)
        faulted |= strcmp(o->steps[i].name, "fault") == 0 && o->steps[i].result != 0;
    /* Without a fault it is about handles of a context that is gone: a process may die of these. */
    return faulted &&
           (!e->faults || (WIFEXITED(o->wait_status) && WEXITSTATUS(o->wait_status) == 0));
}

int main(int argc, char **argv)
{
    quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (quick)
        setenv("SOFTCUDA_DEVICES", "2", 0);
    int devices = count_devices(), wrong = 0;
    const char *path = argc > 1 + quick ? argv[1 + quick] : NULL;
    FILE *json = path ? fopen(path, "w") : NULL;
    if (json)
        fprintf(json, "{\"bench\": \"faults\", \"experiments\": [");
    bool first = true;
    for (int i = 0; i < EXPERIMENTS; i++)
        for (int k = 0; k < (experiments[i].faults ? FAULTS : 1); k++) {
            if (experiments[i].devices > devices)
                continue;
            outcome o = try(&experiments[i], faults[k]);
            show(&experiments[i], faults[k], &o, json, first);
            wrong += !went_as_meant(&experiments[i], &o);
            first = false;
        }
    if (json) {
        fprintf(json, "\n]}\n");
        fclose(json);
    }
    return quick && wrong ? 3 : 0;
}
