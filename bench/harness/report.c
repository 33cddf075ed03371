/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table, printed row by row as they are measured, and the JSON of all of them. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bench_record *bench_record_new(bench *b, const char *what)
{
    bench_record *record = calloc(1, sizeof *record);
    if (!record)
        bench_die("no memory");
    snprintf(record->what, sizeof record->what, "%s", what);
    snprintf(record->title, sizeof record->title, "%s", b->title);
    if (!b->records)
        b->last_record = &b->records;
    *b->last_record = record;
    b->last_record = &record->next;
    return record;
}

static bool is_met(const bench_record *record, double value, double goal)
{
    return record->at_least ? value >= goal : value <= goal;
}

/* "0.812 (<= 0.85)", with what tells a missed goal. */
static void print_ratio(bench *b, const bench_record *record, double ratio, double goal)
{
    char text[64] = "";
    if (goal > 0) {
        bool met = is_met(record, ratio, goal);
        snprintf(text, sizeof text, "(%s %.2f)%s", record->at_least ? ">=" : "<=", goal,
                 met || b->quick ? "" : " MISSED");
        b->missed += !met;
    }
    printf("  %7.3f %-18s", ratio, text);
}

static void print_side(bench *b, const bench_record *record, int i)
{
    const bench_figures *f = &record->side[i];
    printf("  %-26s %10.2f %10.2f %-3s", f->name, f->p50, f->p99, record->unit);
    if (i > 0) {
        print_ratio(b, record, f->p50_ratio, f->p50_goal);
        print_ratio(b, record, f->p99_ratio, f->p99_goal);
    }
    printf("\n");
}

static void print_number(bench *b, const bench_record *record)
{
    bool goal = !isnan(record->goal), met = !goal || is_met(record, record->value, record->goal);
    printf("%-60s %10.3f %-6s", record->what, record->value, record->unit);
    if (goal)
        printf("  (%s %g)%s", record->at_least ? ">=" : "<=", record->goal,
               met || b->quick ? "" : " MISSED");
    printf("\n");
    b->missed += !met;
}

void bench_report(bench *b, bench_record *record)
{
    if (record->sides == 0) {
        print_number(b, record);
    } else {
        if (!b->in_table)
            printf("  %-26s %10s %10s      acuda's over it: %-19s %s\n", "", "p50", "p99", "p50",
                   "p99");
        b->in_table = true;
        printf("%s\n", record->what);
        for (int i = 0; i < record->sides; i++)
            print_side(b, record, i);
    }
    fflush(stdout);
}

void bench_title(bench *b, const char *text)
{
    printf("\n== %s\n", text);
    snprintf(b->title, sizeof b->title, "%s", text);
    b->in_table = false;
}

/* ---- JSON: names and texts are this program's own, without anything to escape ---- */

static void json_goal(FILE *file, const bench_record *record, const char *of, double ratio,
                      double goal)
{
    fprintf(file, ", \"%s_ratio\": %.4f", of, ratio);
    if (goal > 0)
        fprintf(file, ", \"%s_goal\": %g, \"%s_met\": %s", of, goal, of,
                is_met(record, ratio, goal) ? "true" : "false");
}

static void json_sides(FILE *file, const bench_record *record)
{
    fprintf(file, ", \"samples\": %d, \"sides\": [", record->samples);
    for (int i = 0; i < record->sides; i++) {
        const bench_figures *f = &record->side[i];
        fprintf(file, "%s\n    {\"name\": \"%s\", \"p50\": %.4f, \"p99\": %.4f", i ? "," : "",
                f->name, f->p50, f->p99);
        if (i > 0) {
            json_goal(file, record, "p50", f->p50_ratio, f->p50_goal);
            json_goal(file, record, "p99", f->p99_ratio, f->p99_goal);
        }
        fprintf(file, "}");
    }
    fprintf(file, "]");
}

static void json_number(FILE *file, const bench_record *record)
{
    fprintf(file, ", \"value\": %.4f", record->value);
    if (!isnan(record->goal))
        fprintf(file, ", \"goal\": %g, \"met\": %s", record->goal,
                is_met(record, record->value, record->goal) ? "true" : "false");
}

void bench_write_json(const bench *b)
{
    FILE *file = fopen(b->json, "w");
    if (!file)
        bench_die("%s can not be written", b->json);
    fprintf(file,
            "{\"bench\": \"%s\", \"device\": \"%s\", \"driver\": %d, \"quick\": %s,\n \"rows\": [",
            b->name, acu_device_info_of(b->device)->name, acu_driver_info_of()->version,
            b->quick ? "true" : "false");
    for (const bench_record *r = b->records; r; r = r->next) {
        fprintf(file, "%s\n  {\"title\": \"%s\", \"what\": \"%s\", ", r == b->records ? "" : ",",
                r->title, r->what);
        fprintf(file, "\"unit\": \"%s\", \"goals\": \"%s\"", r->unit,
                r->at_least ? "at least" : "at most");
        if (r->sides)
            json_sides(file, r);
        else
            json_number(file, r);
        fprintf(file, "}");
    }
    fprintf(file, "]}\n");
    if (fclose(file) != 0)
        bench_die("%s can not be written", b->json);
}
