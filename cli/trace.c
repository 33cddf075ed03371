/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda trace [options] FILE...
 * Sums a trace up: where the time of submissions went, how busy the devices were, which operations
 * took how long, what waited for what, and which copies had the device to themselves.
 */
#include "trace_read.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "print JSON", 0},
    {"top", 'n', "N", 0, "lines of each list (10)", 0},
    {"svg", 's', "FILE", 0, "draw a picture instead, as SVG (-: to the standard output)", 0},
    {"plan", 'p', "FILE", 0,
     "draw what came behind what, as a graph: FILE.svg, by Graphviz's program dot; any other FILE "
     "(-: the standard output) gets the text that dot reads", 0},
    {"from", 'f', "MS", 0, "draw from so many milliseconds behind the beginning on", 0},
    {"for", 'l', "MS", 0, "draw so many milliseconds", 0},
    {0}};

typedef struct call {
    bool json;
    unsigned top;
    const char *svg, *plan; /* pictures; NULL: not asked for. Neither: sum up */
    double from, length;
    trace_file trace;
    struct json_object *summary;
} call;

static double milliseconds(const char *value, struct argp_state *state)
{
    char *end;
    double ms = strtod(value, &end);
    if (end == value || *end || !(ms >= 0 && ms <= 1e9))
        argp_error(state, "--from and --for take milliseconds, as 1.5, not \"%s\"", value);
    return ms;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    char *end;
    switch (key) {
    case 'j':
        c->json = true;
        return 0;
    case 'n':
        c->top = (unsigned)strtoul(value, &end, 10);
        if (*value < '1' || *value > '9' || *end)
            argp_error(state, "--top takes a number from 1 on, not \"%s\"", value);
        return 0;
    case 's':
        c->svg = value;
        return 0;
    case 'p':
        c->plan = value;
        return 0;
    case 'f':
        c->from = milliseconds(value, state);
        return 0;
    case 'l':
        c->length = milliseconds(value, state);
        return 0;
    case ARGP_KEY_ARG:
        if (!trace_add(&c->trace, value))
            exit(CLI_FAILED);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state,
                   "name a trace, and those that were put aside: work.pftrace.1 work.pftrace");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp args = {
    options,
    parse,
    "FILE...",
    "Sum up a trace that a program wrote with ACUDA_TRACE=FILE or acu_trace_start.\v"
    "https://ui.perfetto.dev shows the same file in time. Exit status: 0, or 1 if a file is no "
    "trace or has no submissions.",
    NULL,
    NULL,
    NULL};

/* ---- sums by a name ---- */

typedef struct total {
    char name[320];
    size_t count;
    uint64_t ns;
} total;

typedef struct totals {
    total *list;
    size_t count, room;
} totals;

static void add(totals *t, const char *name, uint64_t ns)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->list[i].name, name) == 0) {
            t->list[i].count++;
            t->list[i].ns += ns;
            return;
        }
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 32;
        total *grown = realloc(t->list, room * sizeof *grown);
        if (!grown)
            return;
        t->list = grown;
        t->room = room;
    }
    total *new = &t->list[t->count++];
    *new = (total){.count = 1, .ns = ns};
    snprintf(new->name, sizeof new->name, "%s", name);
}

static int by_time(const void *a, const void *b)
{
    const total *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* Into the summary, as a list; the largest first, or in the order in which they came. */
static void put(call *c, const char *title, totals *t, bool sorted)
{
    struct json_object *list = json_object_new_array();
    if (sorted && t->count)
        qsort(t->list, t->count, sizeof *t->list, by_time);
    for (size_t i = 0; i < t->count && (!sorted || i < c->top); i++) {
        struct json_object *o = json_object_new_object();
        json_object_object_add(o, "what", json_object_new_string(t->list[i].name));
        json_object_object_add(o, "count", json_object_new_int64((int64_t)t->list[i].count));
        json_object_object_add(o, "ns", json_object_new_int64((int64_t)t->list[i].ns));
        json_object_array_add(list, o);
    }
    json_object_object_add(c->summary, title, list);
    free(t->list);
    *t = (totals){0};
}

static const char *track_name(const call *c, const trace_slice *s)
{
    const trace_track *track = trace_track_of(&c->trace, s->track);
    return track ? track->name : "";
}

static bool is_on(const call *c, const trace_slice *s, const char *track)
{
    return strcmp(track_name(c, s), track) == 0;
}

static bool on_stream(const call *c, const trace_slice *s)
{
    const char *name = track_name(c, s);
    return s->depth >= 0 && strncmp(name, "device ", 7) == 0 && strstr(name, " stream ");
}

static bool is_copy(const trace_slice *s)
{
    return strstr(s->kind, "copy") || strstr(s->kind, "upload");
}

/* ---- where the time went ---- */

static void sum_stages(call *c)
{
    static const char *const stages[] = {"plan", "waits", "issue", "on its way", "on the device",
                                         "to be noticed"};
    totals t = {0};
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++)
        for (size_t i = 0; i < c->trace.count; i++) {
            const trace_slice *s = &c->trace.slices[i];
            if (s->depth == 1 && strcmp(s->name, stages[k]) == 0)
                add(&t, stages[k], s->end - s->at);
        }
    put(c, "stages", &t, false);
}

static void sum_operations(call *c)
{
    totals t = {0};
    char name[320];
    for (size_t i = 0; i < c->trace.count; i++) {
        const trace_slice *s = &c->trace.slices[i];
        if (!on_stream(c, s))
            continue;
        snprintf(name, sizeof name, "%s (%s) %s:%u", s->name, s->kind, s->file, s->line);
        add(&t, name, s->end - s->at);
    }
    put(c, "operations", &t, true);
}

/* What a part waited for is told by instants on its track, ahead of the slice "waits". */
static void sum_waits(call *c)
{
    totals t = {0};
    char name[320];
    const trace_slice *part = NULL;
    for (size_t i = 0; i < c->trace.count; i++) {
        const trace_slice *s = &c->trace.slices[i];
        if (s->depth == 0 && is_on(c, s, "parts"))
            part = s;
        if (!part || s->track != part->track || strcmp(s->name, "behind") != 0)
            continue;
        const trace_slice *waits = s;
        while (waits->track != part->track || strcmp(waits->name, "waits") != 0)
            if (++waits == c->trace.slices + c->trace.count)
                break;
        if (waits == c->trace.slices + c->trace.count)
            break;
        snprintf(name, sizeof name, "%s %s:%u behind %s%s%.0u: %s, %s", part->name, part->file,
                 part->line, *s->file ? s->file : "other work", *s->file ? ":" : "", s->line,
                 s->why, s->how);
        add(&t, name, waits->end - waits->at);
    }
    put(c, "waits", &t, true);
}

static void sum_threads(call *c)
{
    totals t = {0};
    char name[320];
    for (size_t i = 0; i < c->trace.count; i++) {
        const trace_slice *s = &c->trace.slices[i];
        const trace_track *track = trace_track_of(&c->trace, s->track);
        if (s->depth < 0 || !track || !track->thread)
            continue;
        bool special = strcmp(s->name, "wait") == 0 || strcmp(s->name, "callback") == 0;
        const char *what = special      ? s->name
                           : *s->action ? s->action
                           : *s->kind   ? "issue"
                                        : "submit";
        if (strcmp(s->name, "taken from a queue") == 0)
            continue;
        snprintf(name, sizeof name, "%s (%llu): %s", *track->name ? track->name : "a thread",
                 (unsigned long long)track->thread, what);
        add(&t, name, s->end - s->at);
    }
    put(c, "threads", &t, true);
}

/* What was done once, or seldom, and takes long: opening, compiling, loading, memory, graphs. */
static void sum_seldom(call *c)
{
    totals t = {0};
    char name[320];
    for (size_t i = 0; i < c->trace.count; i++) {
        const trace_slice *s = &c->trace.slices[i];
        bool sized = strcmp(s->action, "get") == 0 || strcmp(s->action, "make") == 0;
        snprintf(name, sizeof name, "%s", s->name);
        if (sized) /* one line for all sizes */
            name[strcspn(name, ",")] = 0;
        if (*s->action)
            add(&t, name, s->end - s->at);
    }
    put(c, "seldom", &t, true);
}

/* ---- devices ---- */

static int by_begin(const void *a, const void *b)
{
    const trace_slice *x = *(const trace_slice *const *)a, *y = *(const trace_slice *const *)b;
    return x->device != y->device ? (x->device > y->device) - (x->device < y->device)
                                  : (x->at > y->at) - (x->at < y->at);
}

/* All that ran on devices, by device and time; *n of them. The caller frees the list. */
static const trace_slice **timed(const call *c, size_t *n)
{
    const trace_slice **list = calloc(c->trace.count + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < c->trace.count; i++)
        if (on_stream(c, &c->trace.slices[i]))
            list[(*n)++] = &c->trace.slices[i];
    if (list && *n)
        qsort(list, *n, sizeof *list, by_begin);
    return list;
}

/* Parts of the device that have no times because of the bound (timed_per_second). */
static uint64_t count_not_timed(const call *c, uint64_t device)
{
    uint64_t count = 0;
    for (size_t i = 0; i < c->trace.count; i++) {
        const trace_slice *s = &c->trace.slices[i];
        count += s->depth == 0 && s->not_timed && s->device == device && is_on(c, s, "parts");
    }
    return count;
}

typedef struct usage {
    uint64_t first, last, busy, longest; /* `longest`: of the gaps */
    uint64_t timed;
    const trace_slice *after;            /* what came behind the longest */
    size_t gaps;
} usage;

static void put_usage(struct json_object *list, uint64_t device, uint64_t not_timed,
                      const usage *u)
{
    char after[320] = "";
    struct json_object *o = json_object_new_object();
    if (u->after)
        snprintf(after, sizeof after, "%s %s:%u", u->after->name, u->after->file, u->after->line);
    const struct { const char *name; uint64_t value; } numbers[] = {
        {"device", device}, {"timed", u->timed}, {"not_timed", not_timed},
        {"span_ns", u->last - u->first}, {"busy_ns", u->busy},
        {"gaps", u->gaps}, {"longest_gap_ns", u->longest}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_object_add(o, numbers[i].name,
                               json_object_new_int64((int64_t)numbers[i].value));
    json_object_object_add(o, "longest_gap_before", json_object_new_string(after));
    json_object_array_add(list, o);
}

static void sum_devices(call *c)
{
    size_t n;
    struct json_object *devices = json_object_new_array();
    const trace_slice **list = timed(c, &n);
    for (size_t i = 0; list && i < n;) {
        uint64_t device = list[i]->device;
        usage u = {.first = list[i]->at, .last = list[i]->at};
        for (; i < n && list[i]->device == device; i++) {
            const trace_slice *s = list[i];
            u.timed++;
            if (s->at > u.last) {
                u.gaps++;
                if (s->at - u.last > u.longest) {
                    u.longest = s->at - u.last;
                    u.after = s;
                }
                u.last = s->at;
            }
            if (s->end > u.last) {
                u.busy += s->end - u.last;
                u.last = s->end;
            }
        }
        put_usage(devices, device, count_not_timed(c, device), &u);
    }
    free(list);
    json_object_object_add(c->summary, "devices", devices);
}

/* How much of the copy's time nothing but copies ran on its device. */
static uint64_t alone(const trace_slice **list, size_t n, size_t at)
{
    const trace_slice *copy = list[at];
    uint64_t from = copy->at, sum = 0;
    for (size_t i = 0; i < n && from < copy->end; i++) {
        const trace_slice *s = list[i];
        if (s->device != copy->device || is_copy(s) || s->end <= from)
            continue;
        if (s->at >= copy->end)
            break;
        sum += s->at > from ? s->at - from : 0;
        from = s->end;
    }
    return sum + (from < copy->end ? copy->end - from : 0);
}

static void sum_copies(call *c)
{
    size_t n;
    totals t = {0};
    char name[320];
    const trace_slice **list = timed(c, &n);
    for (size_t i = 0; list && i < n; i++) {
        uint64_t ns = is_copy(list[i]) ? alone(list, n, i) : 0;
        if (!ns)
            continue;
        snprintf(name, sizeof name, "%s %s:%u", list[i]->name, list[i]->file, list[i]->line);
        add(&t, name, ns);
    }
    free(list);
    put(c, "copies_alone", &t, true);
}

static void sum_all(call *c)
{
    int64_t submissions = 0, failed = 0;
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < c->trace.count; i++) {
        const trace_slice *s = &c->trace.slices[i];
        if (s->depth != 0 || !is_on(c, s, "submissions"))
            continue;
        submissions++;
        failed += strcmp(s->status, "ACU_OK") != 0;
        first = s->at < first ? s->at : first;
        last = s->end > last ? s->end : last;
    }
    struct json_object *o = c->summary = json_object_new_object();
    json_object_object_add(o, "process",
                           json_object_new_string(c->trace.process ? c->trace.process : ""));
    json_object_object_add(o, "pid", json_object_new_int64((int64_t)c->trace.pid));
    json_object_object_add(o, "submissions", json_object_new_int64(submissions));
    json_object_object_add(o, "failed", json_object_new_int64(failed));
    json_object_object_add(o, "span_ns",
                           json_object_new_int64(submissions ? (int64_t)(last - first) : 0));
    sum_stages(c);
    sum_devices(c);
    sum_operations(c);
    sum_waits(c);
    sum_copies(c);
    sum_seldom(c);
    sum_threads(c);
}

/* ---- printing ---- */

static long long number(struct json_object *o, const char *name)
{
    return (long long)json_object_get_int64(json_object_object_get(o, name));
}

static const char *text(struct json_object *o, const char *name)
{
    return json_object_get_string(json_object_object_get(o, name));
}

static void print_list(struct json_object *summary, const char *name, const char *title)
{
    struct json_object *list = json_object_object_get(summary, name);
    size_t n = json_object_array_length(list);
    printf("\n%s%s\n", title, n ? "" : ": none");
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        long long ns = number(o, "ns"), count = number(o, "count");
        printf("  %12.3f ms %8lld x %10.1f us  %s\n", (double)ns / 1e6, count,
               (double)ns / 1e3 / (double)count, text(o, "what"));
    }
}

static void print_devices(struct json_object *summary)
{
    struct json_object *list = json_object_object_get(summary, "devices");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        double span = (double)number(o, "span_ns"), busy = (double)number(o, "busy_ns");
        double timed = (double)number(o, "timed"), not_timed = (double)number(o, "not_timed");
        if (not_timed > 0.05 * timed) { /* gaps between those that are known say nothing */
            printf("device %lld: of %.0f parts the times of %.0f are known, %.1f us each: some "
                   "%.3f ms for all (ACUDA_TRACE_TIMED=1000000 times all)\n",
                   number(o, "device"), timed + not_timed, timed, busy / 1e3 / timed,
                   busy / 1e6 * (timed + not_timed) / timed);
            continue;
        }
        printf("device %lld: busy %.1f %% of %.3f ms; %lld gaps, %.3f ms", number(o, "device"),
               span > 0 ? 100 * busy / span : 0, span / 1e6, number(o, "gaps"),
               (span - busy) / 1e6);
        if (number(o, "gaps"))
            printf(", the longest %.3f ms, before %s", (double)number(o, "longest_gap_ns") / 1e6,
                   text(o, "longest_gap_before"));
        printf("\n");
    }
    if (!json_object_array_length(list))
        printf("devices: no part had timing events\n");
}

static void print(struct json_object *s)
{
    printf("%s (%lld): %lld submissions in %.3f ms, of which %lld failed\n", text(s, "process"),
           number(s, "pid"), number(s, "submissions"), (double)number(s, "span_ns") / 1e6,
           number(s, "failed"));
    print_devices(s);
    print_list(s, "stages", "What became of the time of all submissions and their parts together");
    print_list(s, "operations", "Time on the device, by operation (the first of several)");
    print_list(s, "waits", "Waits, by what was waited for (a part behind several counts for each)");
    print_list(s, "copies_alone", "Copies with no kernel beside them, which could overlap some");
    print_list(s, "seldom",
               "Done seldom: devices opened, code compiled and loaded, memory and graphs made");
    print_list(s, "threads", "Threads");
}

int cli_trace(int count, char **words)
{
    call c = {.top = 10};
    argp_parse(&args, count, words, 0, NULL, &c);
    trace_sort(&c.trace);
    if (c.svg || c.plan) {
        int status = c.svg ? trace_svg(&c.trace, c.svg, c.from, c.length) : CLI_OK;
        if (c.plan && status == CLI_OK)
            status = trace_plan(&c.trace, c.plan, c.from, c.length);
        trace_free(&c.trace);
        return status;
    }
    sum_all(&c);
    bool any = number(c.summary, "submissions") > 0;
    if (c.json)
        printf("%s\n", json_object_to_json_string_ext(c.summary, JSON_C_TO_STRING_PRETTY));
    else
        print(c.summary);
    if (!any)
        fprintf(stderr, "acuda: there are no submissions in this trace\n");
    json_object_put(c.summary);
    trace_free(&c.trace);
    return any ? CLI_OK : CLI_FAILED;
}
