/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda bench: the results as plots, and as a page to be attached to a report. */
#include "bench.h"
#include "svg.h"

#include <string.h>

#define WIDTH 930.0
#define LEFT 110.0  /* for the names of rows */
#define RIGHT 690.0 /* where the plot ends and the numbers begin */
#define ROW 26.0
#define GREY "#98a2b3"
#define BLUE "#1570ef"
#define DARK "#101828"

/* Powers of ten around a value, so that times of microseconds and of seconds are both seen. */
static double power_below(double value)
{
    double power = 1;
    while (power > value)
        power /= 10;
    while (power * 10 <= value)
        power *= 10;
    return power;
}

/* Base 10, to a thousandth: enough for a pixel, and without the library of mathematics. */
static double decades(double value)
{
    double power = power_below(value), whole = 0, rest = value / power, part = 0, step = 0.5;
    for (; power > 1.5; power /= 10)
        whole++;
    for (; power < 0.75; power *= 10)
        whole--;
    for (int i = 0; i < 12; i++, step /= 2) { /* by squaring */
        rest *= rest;
        if (rest >= 10) {
            rest /= 10;
            part += step;
        }
    }
    return whole + part;
}

typedef struct axis {
    double least, most;
    bool rate; /* from 0 on, even; else by decades */
} axis;

static double x_of(const axis *a, double value)
{
    double at = a->rate ? value / a->most
                        : (decades(value) - decades(a->least)) /
                              (decades(a->most) - decades(a->least));
    return LEFT + (RIGHT - LEFT) * (at < 0 ? 0 : at > 1 ? 1 : at);
}

static axis axis_of(const bench_result *results, int count, bool rate)
{
    axis a = {.least = 1e30, .rate = rate};
    for (int i = 0; i < count; i++) {
        const bench_figures *sides[] = {&results[i].acuda, &results[i].by_hand};
        for (int k = 0; k < 2 && results[i].row->rate == rate; k++) {
            const double values[] = {sides[k]->p50, sides[k]->p99};
            for (int v = 0; v < 2; v++) {
                a.least = values[v] < a.least ? values[v] : a.least;
                a.most = values[v] > a.most ? values[v] : a.most;
            }
        }
    }
    if (!rate) {
        a.least = power_below(a.least);
        a.most = power_below(a.most) * 10;
    }
    return a;
}

static void draw_marks(FILE *to, const axis *a, double top, double bottom)
{
    double step = a->rate ? svg_step(a->most, 5) : 0;
    for (double at = a->rate ? 0 : a->least; at <= a->most * 1.0001;
         at = a->rate ? at + step : at * 10) {
        svg_line(to, x_of(a, at), top - 4, x_of(a, at), bottom, "#eaecf0");
        svg_text(to, x_of(a, at), top - 9, "middle", "%g", at);
    }
    svg_text(to, LEFT - 10, top - 9, "end", a->rate ? "GB/s" : "us");
    svg_text(to, RIGHT + 95, top - 9, "end", "by hand");
    svg_text(to, RIGHT + 160, top - 9, "end", "acuda");
    svg_text(to, RIGHT + 220, top - 9, "end", "times");
}

/* A bar up to the median, and a line on to what one of a hundred samples takes. */
static void draw_side(FILE *to, const axis *a, double y, const bench_figures *f,
                      const char *colour, const char *side, const char *name)
{
    char hover[160];
    double x = x_of(a, f->p50), far = x_of(a, f->p99);
    snprintf(hover, sizeof hover, "%s, %s: %.2f, p99 %.2f, %d samples", name, side, f->p50, f->p99,
             f->count);
    svg_box(to, LEFT, y, x - LEFT > 1 ? x - LEFT : 1, 8, colour, hover);
    svg_line(to, x, y + 4, far, y + 4, a->rate ? DARK : colour); /* of a rate: on the bar */
    svg_line(to, far, y + 1, far, y + 7, a->rate ? DARK : colour);
}

/* All rows of one unit; returns where the next begin. */
static double draw_rows(FILE *to, const bench_result *results, int count, bool rate, double top)
{
    axis a = axis_of(results, count, rate);
    double y = top + 6;
    int rows = 0;
    for (int i = 0; i < count; i++)
        rows += results[i].row->rate == rate;
    draw_marks(to, &a, top, y + ROW * rows);
    for (int i = 0; i < count; i++) {
        const bench_result *r = &results[i];
        if (r->row->rate != rate)
            continue;
        svg_text(to, LEFT - 10, y + 14, "end", "%s", r->row->name);
        draw_side(to, &a, y + 1, &r->by_hand, GREY, "by hand", r->row->name);
        draw_side(to, &a, y + 10, &r->acuda, BLUE, "acuda", r->row->name);
        svg_text(to, RIGHT + 95, y + 14, "end", "%.2f", r->by_hand.p50);
        svg_text(to, RIGHT + 160, y + 14, "end", "%.2f", r->acuda.p50);
        svg_text(to, RIGHT + 220, y + 14, "end", "%.2f", r->times);
        y += ROW;
    }
    return y + 40;
}

void bench_svg(FILE *to, const bench_result *results, int count, const char *title)
{
    svg_begin(to, WIDTH, 110 + ROW * count, title);
    svg_text(to, 10, 18, "start", "%s", title);
    svg_box(to, RIGHT - 190, 8, 12, 12, GREY, NULL);
    svg_text(to, RIGHT - 173, 18, "start", "by hand");
    svg_box(to, RIGHT - 110, 8, 12, 12, BLUE, NULL);
    svg_text(to, RIGHT - 93, 18, "start", "acuda; line: p99");
    double y = draw_rows(to, results, count, false, 48);
    draw_rows(to, results, count, true, y);
    svg_end(to);
}

static const char *field(struct json_object *o, const char *name)
{
    const char *text = json_object_get_string(json_object_object_get(o, name));
    return text ? text : "";
}

static void put(FILE *to, const char *before, const char *text, const char *after)
{
    fputs(before, to);
    svg_escaped(to, text);
    fputs(after, to);
}

void bench_html(FILE *to, const bench_result *results, int count, struct json_object *report)
{
    struct json_object *m = json_object_object_get(report, "machine");
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>acuda bench</title>\n"
          "<style>body { font-family: sans-serif; max-width: 60em; margin: 2em auto }"
          " td, th { text-align: left; padding: 0.1em 1em 0.1em 0 }</style>\n"
          "<h1>acuda bench</h1>\n<table>\n", to);
    json_object_object_foreach(m, key, value)
    {
        put(to, "<tr><th>", key, "</th>");
        put(to, "<td>", json_object_get_string(value), "</td></tr>\n");
    }
    fputs("</table>\n<p>What things take by the driver's own calls, which is the floor, and by "
          "acuda: medians, and what one sample of a hundred exceeds (of rates: does not reach). "
          "\"times\" is what acuda takes as a multiple of the floor.</p>\n", to);
    if (strcmp(field(m, "software"), "true") == 0)
        fputs("<p><b>This is the software device: its numbers say nothing about a GPU.</b></p>\n",
              to);
    bench_svg(to, results, count, "");
    fputs("<table>\n<tr><th>row</th><th>what is done</th></tr>\n", to);
    for (int i = 0; i < count; i++) {
        put(to, "<tr><td>", results[i].row->name, "</td>");
        put(to, "<td>", results[i].row->what, "</td></tr>\n");
    }
    put(to, "</table>\n<details><summary>As JSON</summary><pre>",
        json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY), "</pre></details>\n");
    fputs("</html>\n", to);
}
