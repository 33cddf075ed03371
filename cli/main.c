/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda COMMAND ...: finds the subcommand. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *words;
    int (*run)(int count, char **words);
} commands[] = {
    {"devices", "the devices of this machine: GPUs and the software device", cli_devices},
    {"doctor", "what was found where, what is missing, and what to do about it", cli_doctor},
    {"bench", "what this machine's driver takes, and acuda beside it", cli_bench},
    {"run", "compile a .cu file and launch a kernel of it on arrays and numbers", cli_run},
    {"compile", "compile a .cu file to PTX, and into the cache of compiled code", cli_compile},
    {"soft", "run any program of the CUDA driver API on the software device", cli_soft},
    {"trace", "sum up a trace: where the time went, gaps, waits, copies", cli_trace},
};

#define COUNT (sizeof commands / sizeof *commands)

static void usage(FILE *to)
{
    fprintf(to, "usage: acuda COMMAND [options]; acuda COMMAND --help\n");
    for (size_t i = 0; i < COUNT; i++)
        fprintf(to, "  %-8s  %s\n", commands[i].name, commands[i].words);
}

int main(int count, char **words)
{
    argp_err_exit_status = CLI_USAGE;
    const char *name = count > 1 ? words[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        usage(stdout);
        return CLI_OK;
    }
    if (strcmp(name, "--version") == 0) {
        int v = acu_version();
        printf("acuda %d.%d.%d\n", v / 10000, v / 100 % 100, v % 100);
        return CLI_OK;
    }
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(name, commands[i].name) == 0) {
            char program[32];
            snprintf(program, sizeof program, "acuda %s", name);
            words[1] = program; /* what argp calls it */
            return commands[i].run(count - 1, words + 1);
        }
    if (*name)
        fprintf(stderr, "acuda: there is no command \"%s\"\n", name);
    usage(stderr);
    return CLI_USAGE;
}
