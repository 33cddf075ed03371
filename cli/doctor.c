/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda doctor [options]
 * The checks run in a child process, and report through a pipe: so a driver that crashes or hangs
 * is a finding like any other.
 */
#include "doctor.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 120 /* for all checks together */
#define FIELDS 4    /* of a report: kind or state, name, text, advice; each ends in NUL */

static const struct argp_option options[] = {
    {"strict", 's', NULL, 0, "notes count as failures for the exit status", 0},
    {"root", 'r', "FOLDER", 0, "look at FOLDER/dev and FOLDER/proc, as of a container", 0},
    {0}};

typedef struct call {
    doctor doctor;
    cli_common common;
    bool strict;
    int failures, notes;
    char running[64]; /* the check that has begun and found nothing yet */
    struct json_object *checks;
} call;

static error_t parse(int key, char *value, struct argp_state *state)
{
    call *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &c->common;
        return 0;
    case 's':
        c->strict = true;
        return 0;
    case 'r':
        c->doctor.root = value;
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
    "Find out whether acuda works here, and if not, why.\v"
    "Exit status: 0 if it works, 1 if something fails (with --strict also if something is noted), "
    "2 for wrong options. \"note\" is what acuda can do without.",
    children,
    NULL,
    NULL};

/* ---- in the child ---- */

static void send_report(int to, const char *const fields[FIELDS])
{
    char text[4096];
    size_t used = 0;
    for (int i = 0; i < FIELDS; i++) {
        size_t length = strnlen(fields[i], sizeof text / FIELDS - 1);
        memcpy(text + used, fields[i], length);
        text[used + length] = '\0';
        used += length + 1;
    }
    for (size_t done = 0; done < used;) {
        ssize_t n = write(to, text + done, used - done);
        if (n <= 0 && errno != EINTR)
            _exit(CLI_FAILED);
        done += n > 0 ? (size_t)n : 0;
    }
}

void doctor_begin(const doctor *d, const char *name)
{
    send_report(d->report, (const char *[FIELDS]){"begin", name, "", ""});
}

void doctor_find(const doctor *d, const char *name, doctor_state state, const char *advice,
                 const char *format, ...)
{
    static const char *const states[] = {"ok", "note", "fail"};
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    send_report(d->report, (const char *[FIELDS]){states[state], name, text, advice});
}

void doctor_find_error(const doctor *d, const char *name, doctor_state state, const char *advice)
{
    char text[1000];
    acu_error_describe(acu_last_error(), text, sizeof text);
    doctor_find(d, name, state, advice, "%s", text);
}

static void check_all(doctor *d)
{
    doctor_begin(d, "acuda");
    int v = acu_version();
    doctor_find(d, "acuda", DOCTOR_OK, "", "version %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    bool driver = doctor_driver(d);
    doctor_system(d);
    if (driver)
        doctor_devices(d);
    doctor_compilers(d);
}

/* ---- in the parent ---- */

static void show(call *c, const char *state, const char *name, const char *text, const char *advice)
{
    c->failures += strcmp(state, "fail") == 0;
    c->notes += strcmp(state, "note") == 0;
    if (c->common.json) {
        struct json_object *check = json_object_new_object();
        json_object_object_add(check, "check", json_object_new_string(name));
        json_object_object_add(check, "state", json_object_new_string(state));
        json_object_object_add(check, "text", json_object_new_string(text));
        json_object_object_add(check, "advice", json_object_new_string(advice));
        json_object_array_add(c->checks, check);
        return;
    }
    printf("%-4s  %-10s  %s\n", state, name, text);
    if (*advice)
        printf("      %-10s  -> %s\n", "", advice);
    fflush(stdout);
}

static void take_report(call *c, const char *const fields[FIELDS])
{
    if (strcmp(fields[0], "begin") == 0) {
        snprintf(c->running, sizeof c->running, "%s", fields[1]);
        return;
    }
    show(c, fields[0], fields[1], fields[2], fields[3]);
}

/* Takes the whole reports out of what was read; returns how much that is. */
static size_t take_reports(call *c, const char *text, size_t bytes)
{
    size_t taken = 0;
    for (;;) {
        const char *fields[FIELDS];
        size_t at = taken;
        int i = 0;
        for (; i < FIELDS && at < bytes; i++) {
            const char *end = memchr(text + at, '\0', bytes - at);
            if (!end)
                break;
            fields[i] = text + at;
            at = (size_t)(end - text) + 1;
        }
        if (i < FIELDS)
            return taken;
        take_report(c, fields);
        taken = at;
    }
}

/* false: the time is over. */
static bool follow(call *c, int from)
{
    static char text[8192];
    size_t have = 0;
    uint64_t end = acu_now() + ACU_SECONDS(SECONDS);
    for (;;) {
        uint64_t now = acu_now();
        struct pollfd fd = {.fd = from, .events = POLLIN};
        int ready = poll(&fd, 1, now < end ? (int)((end - now) / 1000000) + 1 : 0);
        if (ready == 0)
            return false;
        ssize_t n = ready > 0 ? read(from, text + have, sizeof text - have) : -1;
        if (n == 0)
            return true;
        if (n < 0)
            continue; /* interrupted */
        have += (size_t)n;
        size_t taken = take_reports(c, text, have);
        memmove(text, text + taken, have -= taken);
    }
}

static void check_in_child(call *c)
{
    int ends[2], status = 0;
    char text[128];
    if (pipe(ends) != 0) {
        show(c, "fail", "doctor", strerror(errno), "");
        return;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        c->doctor.report = ends[1];
        check_all(&c->doctor);
        _exit(CLI_OK);
    }
    close(ends[1]);
    if (child < 0) {
        show(c, "fail", "doctor", strerror(errno), "");
    } else if (!follow(c, ends[0])) {
        kill(child, SIGKILL);
        snprintf(text, sizeof text, "no answer in %d s", SECONDS);
        show(c, "fail", c->running, text, "is the device busy, or does the driver hang? (dmesg)");
        waitpid(child, &status, 0);
    } else {
        waitpid(child, &status, 0);
        snprintf(text, sizeof text, "the process ended with %s %d meanwhile",
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        if (status != 0)
            show(c, "fail", c->running, text, "a driver or library that crashes: reinstall it");
    }
    close(ends[0]);
}

int cli_doctor(int count, char **words)
{
    call c = {.doctor = {.root = ""}};
    argp_parse(&args, count, words, 0, NULL, &c);
    c.doctor.driver = c.common.driver;
    c.checks = c.common.json ? json_object_new_array() : NULL;
    check_in_child(&c);
    bool works = c.failures == 0 && (!c.strict || c.notes == 0);
    if (c.common.json) {
        struct json_object *all = json_object_new_object();
        json_object_object_add(all, "works", json_object_new_boolean(works));
        json_object_object_add(all, "failures", json_object_new_int(c.failures));
        json_object_object_add(all, "notes", json_object_new_int(c.notes));
        json_object_object_add(all, "checks", c.checks);
        puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
        json_object_put(all);
    } else if (c.failures) {
        printf("%d of these must be mended before acuda works here\n", c.failures);
    } else {
        printf(c.notes ? "acuda works here; %d noted\n" : "acuda works here\n", c.notes);
    }
    return works ? CLI_OK : CLI_FAILED;
}
