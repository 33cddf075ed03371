/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda bench [options]
 * This machine's floors, by the driver's own calls, and beside them the same by acuda.
 */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { BLOCK = 8, LEAST = 2 }; /* samples of a side in a row; blocks of each side */

static const struct argp_option options[] = {
    {"seconds", 's', "N", 0, "how long to measure, 1 to 120 (30)", 0},
    {"device", 'n', "N", 0, "which device, counted from 0 (0)", 0},
    {"html", 'H', "FILE", 0, "write a page with plots, to be attached to a report", 0},
    {"svg", 'S', "FILE", 0, "write the plots alone", 0},
    {0}};

typedef struct call {
    cli_common common;
    double seconds;
    int device;
    const char *html, *svg;
    struct json_object *report;
} call;

static double number(const char *value, double least, double most, const char *what,
                     struct argp_state *state)
{
    char *end;
    double n = strtod(value, &end);
    if (end == value || *end || !(n >= least && n <= most))
        argp_error(state, "%s takes a number from %g to %g, not \"%s\"", what, least, most, value);
    return n;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &c->common;
        return 0;
    case 's':
        c->seconds = number(value, 1, 120, "--seconds", state);
        return 0;
    case 'n':
        c->device = (int)number(value, 0, 1000, "--device", state);
        return 0;
    case 'H':
        c->html = value;
        return 0;
    case 'S':
        c->svg = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_common_args, 0, NULL, 0}, {0}};

static const struct argp args = {
    options,
    parse,
    NULL,
    "Measure what a launch, a submission, a wait, a replay and copies take on this machine: by the "
    "driver's own calls, which is the floor, and by acuda.\v"
    "Sides alternate; p50 is the median. Run it on an otherwise idle machine. Numbers of the "
    "software device say nothing about a GPU. Exit status: 1 if something failed.",
    children,
    NULL,
    NULL};

/* ---- measuring ---- */

typedef struct samples {
    double values[BENCH_MOST];
    int count;
} samples;

/* By hand with a context, as the driver wants it; acuda as in a program that has it alone. */
static bool run_block(bench *b, const bench_row *row, samples *s, bool by_hand, bool keep)
{
    bool right = true;
    if (by_hand)
        b->cu->CtxSetCurrent(acu_device_context(b->device));
    for (int i = 0; i < BLOCK && right && s->count < BENCH_MOST; i++) {
        double value = 0;
        right = (by_hand ? row->by_hand : row->acuda)(b, &value);
        if (right && keep)
            s->values[s->count++] = value;
    }
    if (by_hand)
        b->cu->CtxSetCurrent(NULL);
    if (!right && by_hand)
        fprintf(stderr, "acuda: %s: the driver's own calls fail\n", row->name);
    else if (!right)
        cli_fail(row->name);
    return right;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bench_figures figures_of(samples *s, bool rate)
{
    qsort(s->values, (size_t)s->count, sizeof *s->values, ascending);
    int far = (int)((s->count - 1) * 0.99);
    return (bench_figures){.p50 = s->values[s->count / 2],
                           .p99 = s->values[rate ? s->count - 1 - far : far],
                           .count = s->count};
}

static bool measure(bench *b, const bench_row *row, double seconds, bench_result *result)
{
    static samples acuda, by_hand;
    acuda.count = by_hand.count = 0;
    /* Twice, so that what acuda prepares for work that comes again is ready and used. */
    for (int warm = 0; warm < 2; warm++)
        if (!run_block(b, row, &by_hand, true, false) ||
            !run_block(b, row, &acuda, false, false) ||
            acu_graph_cache_wait(b->device) != ACU_OK)
            return false;
    uint64_t end = acu_now() + (uint64_t)(seconds * 1e9);
    for (int block = 0; block < LEAST || (acu_now() < end && acuda.count < BENCH_MOST); block++) {
        bool first = block % 2; /* neither always runs after the other */
        if (!run_block(b, row, first ? &by_hand : &acuda, first, true) ||
            !run_block(b, row, first ? &acuda : &by_hand, !first, true))
            return false;
    }
    *result = (bench_result){.row = row,
                             .acuda = figures_of(&acuda, row->rate),
                             .by_hand = figures_of(&by_hand, row->rate)};
    result->times = row->rate ? result->by_hand.p50 / result->acuda.p50
                              : result->acuda.p50 / result->by_hand.p50;
    return bench_right(b);
}

/* ---- telling ---- */

static void add(struct json_object *to, const char *name, struct json_object *value)
{
    json_object_object_add(to, name, value);
}

static struct json_object *text(const char *words)
{
    return json_object_new_string(words);
}

/* "model name : ..." of /proc/cpuinfo */
static void processor(char *name, size_t bytes)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, bytes, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *at = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!at)
            continue;
        at[strcspn(at, "\n")] = '\0';
        snprintf(name, bytes, "%s", at + 2);
        break;
    }
    if (file)
        fclose(file);
}

static struct json_object *machine(const bench *b)
{
    struct json_object *o = json_object_new_object();
    const acu_driver_info *driver = acu_driver_info_of();
    struct utsname system;
    char name[256], version[32];
    int v = acu_version();
    snprintf(version, sizeof version, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    add(o, "acuda", text(version));
    add(o, "device", text(acu_device_info_of(b->device)->name));
    add(o, "software", json_object_new_boolean(driver->software));
    snprintf(version, sizeof version, "%d.%d", driver->version / 1000, driver->version % 1000 / 10);
    add(o, "cuda", text(version));
    processor(name, sizeof name);
    add(o, "processor", text(name));
    add(o, "processors", json_object_new_int((int)sysconf(_SC_NPROCESSORS_ONLN)));
    if (uname(&system) == 0)
        add(o, "system", text(system.release));
    return o;
}

static struct json_object *describe_figures(const bench_figures *f)
{
    struct json_object *o = json_object_new_object();
    add(o, "p50", json_object_new_double(f->p50));
    add(o, "p99", json_object_new_double(f->p99));
    add(o, "samples", json_object_new_int(f->count));
    return o;
}

static struct json_object *describe(const bench_result *r)
{
    struct json_object *o = json_object_new_object();
    add(o, "name", text(r->row->name));
    add(o, "what", text(r->row->what));
    add(o, "unit", text(r->row->rate ? "GB/s" : "us"));
    add(o, "by_hand", describe_figures(&r->by_hand));
    add(o, "acuda", describe_figures(&r->acuda));
    add(o, "times_the_floor", json_object_new_double(r->times));
    return o;
}

static const char *field(struct json_object *o, const char *name)
{
    return json_object_get_string(json_object_object_get(o, name));
}

static void print_head(struct json_object *m)
{
    printf("acuda %s on %s, CUDA %s; %s processors: %s; Linux %s\n", field(m, "acuda"),
           field(m, "device"), field(m, "cuda"), field(m, "processors"), field(m, "processor"),
           field(m, "system"));
    printf("%-12s %4s %10s %10s %10s %10s %7s\n", "", "", "by hand", "p99", "acuda", "p99",
           "times");
    fflush(stdout);
}

static void print_row(const bench_result *r)
{
    printf("%-12s %4s %10.2f %10.2f %10.2f %10.2f %7.2f\n", r->row->name,
           r->row->rate ? "GB/s" : "us", r->by_hand.p50, r->by_hand.p99, r->acuda.p50,
           r->acuda.p99, r->times);
    fflush(stdout);
}

static void print_foot(void)
{
    printf("\n\"times\": what acuda takes, as a multiple of the driver's own calls\n");
    for (int i = 0; i < bench_row_count; i++)
        printf("%-12s %s\n", bench_rows[i].name, bench_rows[i].what);
    if (acu_driver_info_of()->software)
        printf("This is the software device: its numbers say nothing about a GPU.\n");
}

/* ---- files ---- */

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fprintf(stderr, "acuda: %s: %s\n", path, strerror(errno));
    return file;
}

static bool close_file(FILE *file, const char *path)
{
    bool right = !ferror(file);
    right = fclose(file) == 0 && right;
    if (!right)
        fprintf(stderr, "acuda: %s: %s\n", path, strerror(errno));
    return right;
}

static bool write_files(const call *c, FILE *html, FILE *svg, const bench_result *results)
{
    bool right = true;
    char title[300];
    struct json_object *m = json_object_object_get(c->report, "machine");
    snprintf(title, sizeof title, "acuda %s on %s", field(m, "acuda"), field(m, "device"));
    if (html) {
        bench_html(html, results, bench_row_count, c->report);
        right = close_file(html, c->html);
    }
    if (svg) {
        bench_svg(svg, results, bench_row_count, title);
        right = close_file(svg, c->svg) && right;
    }
    return right;
}

static bool run(call *c, bench *b, bench_result *results)
{
    struct json_object *rows = json_object_new_array();
    if (!bench_open(b, c->common.driver, c->device)) {
        json_object_put(rows);
        return false;
    }
    struct json_object *m = machine(b);
    add(c->report, "machine", m);
    add(c->report, "rows", rows);
    if (!c->common.json)
        print_head(m);
    for (int i = 0; i < bench_row_count; i++) {
        if (!measure(b, &bench_rows[i], c->seconds / bench_row_count, &results[i]))
            return false;
        json_object_array_add(rows, describe(&results[i]));
        if (!c->common.json)
            print_row(&results[i]);
    }
    if (c->common.json)
        puts(json_object_to_json_string_ext(c->report, JSON_C_TO_STRING_PRETTY));
    else
        print_foot();
    return true;
}

int cli_bench(int count, char **words)
{
    call c = {.seconds = 30};
    bench b = {0};
    argp_parse(&args, count, words, 0, NULL, &c);
    bench_result *results = calloc((size_t)bench_row_count, sizeof *results);
    FILE *html = NULL, *svg = NULL;
    bool right = results != NULL;
    /* The files first: to fail half a minute later would be unkind. */
    if (right && c.html)
        right = (html = open_file(c.html)) != NULL;
    if (right && c.svg)
        right = (svg = open_file(c.svg)) != NULL;
    c.report = json_object_new_object();
    if (right && run(&c, &b, results)) {
        right = write_files(&c, html, svg, results);
    } else {
        right = false;
        if (html)
            fclose(html);
        if (svg)
            fclose(svg);
    }
    json_object_put(c.report);
    free(results);
    bench_close(&b);
    return right ? CLI_OK : CLI_FAILED;
}
