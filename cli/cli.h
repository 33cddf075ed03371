/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The command `acuda`: what its subcommands share. Each is a file of its own, uses only acuda's
 * public headers, and returns the exit status. */
#ifndef ACUDA_CLI_H
#define ACUDA_CLI_H

#include <acuda/acuda.h>
#include <argp.h>
#include <stdio.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

int cli_devices(int count, char **words);
int cli_doctor(int count, char **words);
int cli_bench(int count, char **words);
int cli_run(int count, char **words);
int cli_compile(int count, char **words);
int cli_soft(int count, char **words);
int cli_trace(int count, char **words);

/* The options that several subcommands have: --json, --driver; their parser is a child of argp's,
 * with a cli_common as its input, and refuses arguments. */
typedef struct cli_common {
    const char *driver; /* NULL: not given */
    bool json;
} cli_common;
extern const struct argp cli_common_args;

/* Prints "acuda: what: why" with the thread's record, and the compiler's whole log; CLI_FAILED. */
int cli_fail(const char *what);
/* The whole file, with a NUL behind it; NULL: an error was printed. The caller frees it. */
char *cli_read_file(const char *path, size_t *bytes);
/* "a,b,c" to three numbers, missing ones 1. false: it is no such list. */
bool cli_read_dims(const char *text, unsigned dims[3]);
/* Opens the driver that --driver names; NULL: as for any program, the software device allowed. */
acu_status cli_open_driver(const char *driver);

#endif
