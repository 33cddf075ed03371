/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda soft [options] -- program arguments...
 * Runs a program with the stand-in libcuda.so.1 in front of the loader's path, and acuda's own
 * programs on the built-in software device.
 */
#include "cli.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"devices", 'd', "N", 0, "so many devices (SOFTCUDA_DEVICES)", 0},
    {"memory", 'm', "BYTES", 0, "memory of each, with K, M, G or T (SOFTCUDA_MEMORY)", 0},
    {"seed", 's', "N", 0, "the order in which streams interleave (SOFTCUDA_SEED)", 0},
    {"faults", 'f', "SCRIPT", 0, "calls and kernels that fail (SOFTCUDA_FAULTS)", 0},
    {"trace", 't', "FILE", 0, "write what runs in which order (SOFTCUDA_TRACE)", 0},
    {"report", 'r', "FILE", 0,
     "write the reason of each kernel fault and each refusal there; stderr: to the standard error "
     "(SOFTCUDA_REPORT)", 0},
    {"exact", 'x', NULL, 0,
     "reads of memory that was never written, and accesses behind the end of any buffer, are "
     "faults (SOFTCUDA_EXACT)", 0},
    {"races", 'R', NULL, 0, "so are races in shared memory (SOFTCUDA_RACES)", 0},
    {"set", 'e', "NAME=VALUE", 0, "any other setting of the software device", 0},
    {0}};

static const struct {
    int key;
    const char *variable;
} variables[] = {{'d', "SOFTCUDA_DEVICES"},
                 {'m', "SOFTCUDA_MEMORY"},
                 {'s', "SOFTCUDA_SEED"},
                 {'f', "SOFTCUDA_FAULTS"},
                 {'t', "SOFTCUDA_TRACE"},
                 {'r', "SOFTCUDA_REPORT"},
                 {'x', "SOFTCUDA_EXACT"},
                 {'R', "SOFTCUDA_RACES"}};

typedef struct call {
    char **program; /* NULL: none was named */
} call;

static void set(struct argp_state *state, const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        argp_failure(state, CLI_FAILED, errno, "%s", name);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (key == variables[i].key) {
            set(state, variables[i].variable, value ? value : "1");
            return 0;
        }
    if (key == 'e') {
        char *equals = strchr(value, '=');
        if (!equals || strncmp(value, "SOFTCUDA_", 9) != 0)
            argp_error(state, "-e takes SOFTCUDA_NAME=VALUE, not %s", value);
        else {
            *equals = '\0';
            set(state, value, equals + 1);
        }
        return 0;
    }
    if (key == ARGP_KEY_ARG) { /* the program; what follows is its own */
        c->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    }
    if (key == ARGP_KEY_END && !c->program)
        argp_error(state, "which program?");
    return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

static const struct argp soft = {
    options,
    parse,
    "-- PROGRAM [ARGUMENTS...]",
    "Run a program of the CUDA driver API on the software device, without a GPU.\v"
    "Programs find the stand-in libcuda.so.1 by LD_LIBRARY_PATH; programs that use acuda get the "
    "built-in device by ACUDA_DRIVER.",
    NULL,
    NULL,
    NULL};

/* The stand-in's folder: beside this program where both are installed, or built. */
static bool find_standin(char folder[PATH_MAX])
{
    char self[PATH_MAX], file[PATH_MAX + 32];
    static const char *const places[] = {ACUDA_CLI_STANDIN, "../lib/softcuda",
                                         "../lib/acuda/softcuda"};
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    char *here = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(file, sizeof file, "%.2000s/%.1000s/libcuda.so.1", here, places[i]);
        if (access(file, R_OK) == 0 && realpath(file, folder)) {
            snprintf(folder, PATH_MAX, "%.2000s/%.1000s", here, places[i]);
            return true;
        }
    }
    return false;
}

int cli_soft(int count, char **words)
{
    call c = {0};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    argp_parse(&soft, count, words, ARGP_IN_ORDER, NULL, &c);
    if (!find_standin(folder)) {
        fprintf(stderr, "acuda: the stand-in libcuda.so.1 is not installed beside this program "
                        "(Debian: libacuda-softcuda)\n");
        return CLI_FAILED;
    }
    const char *before = getenv("LD_LIBRARY_PATH");
    snprintf(path, sizeof path, "%s%s%s", folder, before && *before ? ":" : "",
             before ? before : "");
    if (setenv("LD_LIBRARY_PATH", path, 1) != 0 || setenv("ACUDA_DRIVER", "software", 1) != 0) {
        perror("acuda");
        return CLI_FAILED;
    }
    execvp(c.program[0], c.program);
    fprintf(stderr, "acuda: %s: %s\n", c.program[0], strerror(errno));
    return CLI_FAILED;
}
