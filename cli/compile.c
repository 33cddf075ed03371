/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda compile [options] FILE.cu
 * Compiles as a program would at run time, so that programs which load this source with the same
 * options find it in the cache of compiled code.
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write the PTX there; - is the standard output", 0},
    {"cache", 'c', "FOLDER", 0, "keep it there (else in ACUDA_CACHE_DIR)", 0},
    {"arch", 'a', "N", 0, "for compute capability N, as 75 or 90 (else that of the first device)",
     0},
    {"nvrtc", 'n', NULL, 0, "with NVRTC, not with clang", 0},
    {"define", 'D', "NAME[=VALUE]", 0, "define a macro", 0},
    {"include", 'I', "FOLDER", 0, "look for headers there", 0},
    {"line-info", 'g', NULL, 0, "with source lines for profilers and messages", 0},
    {"fast-math", 'f', NULL, 0, "with fast, less exact mathematics", 0},
    {0}};

typedef struct call {
    const char *file, *output, *cache;
    const char *defines[64], *folders[64];
    acu_compile_options o;
} call;

static void add(struct argp_state *state, const char **list, size_t *count, const char *value)
{
    if (*count == 64)
        argp_error(state, "at most 64 of one kind");
    else
        list[(*count)++] = value;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    char *end;
    switch (key) {
    case 'o':
        c->output = value;
        return 0;
    case 'c':
        c->cache = value;
        return 0;
    case 'a':
        c->o.arch = (unsigned)strtoul(value, &end, 10);
        if (*end || c->o.arch < 10 || c->o.arch > 999)
            argp_error(state, "--arch takes a number such as 75, not %s", value);
        return 0;
    case 'n':
        c->o.compiler = ACU_COMPILER_NVRTC;
        return 0;
    case 'g':
        c->o.line_info = true;
        return 0;
    case 'f':
        c->o.fast_math = true;
        return 0;
    case 'D':
        add(state, c->defines, &c->o.define_count, value);
        return 0;
    case 'I':
        add(state, c->folders, &c->o.include_dir_count, value);
        return 0;
    case ARGP_KEY_ARG:
        if (c->file)
            argp_error(state, "one file at a time");
        c->file = value;
        return 0;
    case ARGP_KEY_END:
        if (!c->file)
            argp_error(state, "which file?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp compile = {
    options, parse, "FILE.cu", "Compile CUDA C++ to PTX, and into the cache of compiled code.",
    NULL,    NULL,  NULL};

static int write_ptx(const char *path, const char *ptx)
{
    FILE *to = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    bool written = to && fputs(ptx, to) >= 0;
    if (to && (to == stdout ? fflush(to) : fclose(to)) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "acuda: %s: %s\n", path, strerror(errno));
    return written ? CLI_OK : CLI_FAILED;
}

static int compile_for(acu_device *device, call *c, const char *source)
{
    acu_code *code;
    acu_compile_statistics s = {.size = sizeof s};
    if (acu_compile(device, source, &c->o, &code) != ACU_OK)
        return cli_fail(c->file);
    acu_compile_stats(&s);
    fputs(acu_code_log(code), stderr); /* warnings */
    fprintf(stderr, "%s: %s, %s\n", c->file, acu_code_compiler(code),
            s.from_disk     ? "in the cache already"
            : s.written     ? "written to the cache"
            : s.disk_errors ? "not cached: the folder can not be used (acuda doctor says why)"
                            : "not cached: name a folder with --cache or ACUDA_CACHE_DIR");
    int result = c->output ? write_ptx(c->output, acu_code_ptx(code)) : CLI_OK;
    acu_code_release(code);
    return s.disk_errors && !s.written && !c->output ? CLI_FAILED : result;
}

int cli_compile(int count, char **words)
{
    call c = {.o = {.size = sizeof c.o}};
    size_t bytes;
    acu_device *device = NULL;
    argp_parse(&compile, count, words, 0, NULL, &c);
    c.o.defines = c.defines;
    c.o.include_dirs = c.folders;
    char *source = cli_read_file(c.file, &bytes);
    if (!source)
        return CLI_FAILED;
    acu_compile_settings settings = {.size = sizeof settings, .cache_dir = c.cache};
    acu_open_options open = {.size = sizeof open, .allow_software = true};
    int result;
    if (c.cache && acu_compile_configure(&settings) != ACU_OK)
        result = cli_fail(c.cache);
    else if (!c.o.arch && acu_open(&open, &device) != ACU_OK)
        result = cli_fail("no device to compile for; say --arch");
    else
        result = compile_for(device, &c, source);
    if (device)
        acu_close(device);
    free(source);
    return result;
}
