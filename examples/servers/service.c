/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests: from a line to a submission, and from its completion to a line. */
#include "service.h"

#include "../example.h"

#include <acuda/debug.h>
#include <ctype.h>
#include <string.h>

enum {
    NUMBERS_MOST = 256,      /* in a request */
    ROUNDS_MOST = 10000000,
    REQUESTS_MOST = 32,      /* of a session at a time; beyond that its input waits */
    OUTPUT_MOST = 1 << 16,   /* bytes that wait for a client; likewise */
    INPUT = 4096             /* longest line, including its end */
};

extern const char service_ptx[];

typedef struct request {
    struct request *next; /* of the session, in the order of arrival */
    session *session;
    acu_future *future; /* NULL: refused, and `error` says why */
    bool done;
    char error[ACU_ERROR_MESSAGE];
} request;

typedef struct text {
    char *bytes;
    size_t count, room;
} text;

struct session {
    service *service;
    void *connection;
    session *next, **place; /* in the service's list */
    request *first, **end;
    size_t requests;
    char input[INPUT];
    size_t begin, filled; /* of the input not yet parsed */
    bool ended;           /* no more input */
    bool skipping;        /* to the end of a line that is too long */
    bool dropped, closed;
    text sending, waiting; /* the first is not moved while it is being sent */
    size_t sent;
    bool changed;
    session *next_changed;
};

struct service {
    service_events events;
    acu_device *device;
    acu_kernel *stretch;
    acu_queue *queue;
    session *sessions;
    bool draining, idle;
};

static void *allocate(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static void append(text *t, const char *bytes, size_t count)
{
    if (t->room - t->count < count) {
        t->room = 2 * t->room + count;
        t->bytes = allocate(t->bytes, t->room);
    }
    memcpy(t->bytes + t->count, bytes, count);
    t->count += count;
}

/* ---- requests ---- */

static request *add_request(session *s)
{
    request *r = allocate(NULL, sizeof *r);
    *r = (request){.session = s};
    *s->end = r;
    s->end = &r->next;
    s->requests++;
    return r;
}

static void refuse(request *r, const char *why)
{
    snprintf(r->error, sizeof r->error, "%s", why);
    r->done = true;
}

/* Reads a whole number up to `most` at *at, and advances *at past it; false if there is none. */
static bool read_number(const char **at, unsigned long long most, unsigned *number)
{
    while (**at == ' ')
        ++*at;
    if (!isdigit((unsigned char)**at))
        return false;
    char *end;
    unsigned long long value = strtoull(*at, &end, 10);
    if (value > most || (*end && *end != ' '))
        return false;
    *at = end;
    *number = (unsigned)value;
    return true;
}

/* Reads the rounds and the numbers, and returns how many; 0: not a request, and *why says why. */
static size_t read_request(const char *line, unsigned *rounds, unsigned *numbers, const char **why)
{
    size_t count = 0;
    *why = "a request is: ROUNDS (at most 10000000) NUMBER ... (at most 256, below 4294967296)";
    if (!read_number(&line, ROUNDS_MOST, rounds))
        return 0;
    while (count < NUMBERS_MOST && read_number(&line, UINT32_MAX, &numbers[count]))
        count++;
    while (*line == ' ')
        line++;
    return *line ? 0 : count;
}

/* Never waits: the numbers are copied, then go to the device, through the kernel and back. */
static void start(request *r, const char *line)
{
    service *s = r->session->service;
    unsigned rounds, numbers[NUMBERS_MOST];
    const char *why;
    size_t count = read_request(line, &rounds, numbers, &why);
    if (count == 0) {
        refuse(r, why);
        return;
    }
    acu_op *op = acu_const(ACU_U32, ACU_SHAPE((int64_t)count), numbers);
    op = acu_launch(s->stretch, acu_for_num_elems((uint32_t)count), acu_inout(op), acu_u32(rounds),
                    acu_u32((uint32_t)count));
    op = acu_to_host(acu_first(op));
    acu_submit_options options = {
        .size = sizeof options, .queue = s->queue, .tag = (uintptr_t)r, .name = "stretch"};
    if (acu_submit(s->device, op, &options, &r->future) != ACU_OK)
        refuse(r, acu_last_error()->message);
}

static void write_reply(text *out, const request *r)
{
    acu_error error;
    char number[16];
    if (r->future && acu_future_error(r->future, &error) == ACU_OK) {
        acu_tensor *result = acu_future_tensor(r->future, 0);
        const uint32_t *numbers = acu_tensor_host(result);
        for (int64_t i = 0; i < acu_tensor_elements(result); i++)
            append(out, number,
                   (size_t)snprintf(number, sizeof number, "%s%u", i ? " " : "", numbers[i]));
    } else {
        const char *why = r->future ? error.message : r->error;
        append(out, "error ", 6);
        append(out, why, strlen(why));
    }
    append(out, "\n", 1);
}

/* ---- sessions ---- */

/* The next line without its end, terminated; NULL: there is no complete one. */
static const char *next_line(session *s)
{
    char *line = s->input + s->begin, *end = memchr(line, '\n', s->filled - s->begin);
    if (!end && (!s->ended || s->begin == s->filled))
        return NULL;
    if (!end)
        end = s->input + s->filled++; /* the last line needs none; there is room (session_input) */
    s->begin = (size_t)(end - s->input) + 1;
    if (memchr(line, '\0', (size_t)(end - line)))
        return "?"; /* not text, so not a request */
    if (end > line && end[-1] == '\r')
        end--;
    *end = '\0';
    return line;
}

/* Start the requests that have come, unless too much is pending. */
static void read_lines(session *s)
{
    const char *line;
    while (s->requests < REQUESTS_MOST && s->waiting.count < OUTPUT_MOST && (line = next_line(s))) {
        if (!s->skipping)
            start(add_request(s), line);
        s->skipping = false;
    }
    if (s->begin == 0 && s->filled == INPUT - 1 && !memchr(s->input, '\n', s->filled)) {
        if (!s->skipping)
            refuse(add_request(s), "the line is too long");
        s->skipping = true;
        s->filled = 0;
    }
}

/* Answers are sent in the order of the requests, however these complete. */
static void write_replies(session *s)
{
    while (s->first && s->first->done) {
        request *r = s->first;
        if (!s->closed)
            write_reply(&s->waiting, r);
        s->first = r->next;
        s->requests--;
        acu_future_release(r->future);
        free(r);
    }
    if (!s->first)
        s->end = &s->first;
}

static void advance(session *s)
{
    size_t before;
    do { /* refused requests are answered at once, and make room */
        before = s->begin;
        read_lines(s);
        write_replies(s);
    } while (s->begin != before);
}

session *session_open(service *owner, void *connection)
{
    session *s = allocate(NULL, sizeof *s);
    *s = (session){.service = owner, .connection = connection, .ended = owner->draining};
    s->end = &s->first;
    s->next = owner->sessions;
    s->place = &owner->sessions;
    if (s->next)
        s->next->place = &s->next;
    owner->sessions = s;
    return s;
}

bool session_wants_input(const session *s)
{
    return !s->ended && s->filled - s->begin < INPUT - 1;
}

char *session_input(session *s, size_t *room)
{
    memmove(s->input, s->input + s->begin, s->filled - s->begin);
    s->filled -= s->begin;
    s->begin = 0;
    *room = s->ended ? 0 : INPUT - 1 - s->filled; /* one for the end of the last line */
    return s->input + s->filled;
}

void session_received(session *s, size_t count)
{
    s->filled += s->ended ? 0 : count;
    advance(s);
}

void session_end_input(session *s)
{
    s->ended = true;
    advance(s);
}

const char *session_output(session *s, size_t *count)
{
    if (s->sent == s->sending.count) {
        text empty = s->sending;
        s->sending = s->waiting;
        s->waiting = empty;
        s->waiting.count = s->sent = 0;
        advance(s);
    }
    *count = s->sending.count - s->sent;
    return s->sending.bytes + s->sent;
}

void session_sent(session *s, size_t count)
{
    s->sent += count;
}

bool session_over(const session *s)
{
    return s->dropped || (s->ended && !s->first && s->begin == s->filled &&
                          s->sent == s->sending.count && s->waiting.count == 0);
}

static void tell_if_idle(service *s)
{
    if (!s->draining || s->sessions || s->idle)
        return;
    s->idle = true;
    s->events.idle(s->events.server);
}

static void free_if_done(session *s)
{
    service *owner = s->service;
    if (!s->closed || s->first)
        return;
    *s->place = s->next;
    if (s->next)
        s->next->place = s->place;
    free(s->sending.bytes);
    free(s->waiting.bytes);
    free(s);
    tell_if_idle(owner);
}

void session_close(session *s)
{
    s->closed = s->ended = true;
    s->begin = s->filled = 0;
    for (request *r = s->first; r; r = r->next)
        if (r->future)
            (void)acu_future_cancel(r->future); /* its completion comes in the loop's next turn */
    write_replies(s); /* frees those that are done */
    free_if_done(s);
}

/* ---- the service ---- */

service *service_open(service_events events)
{
    service *s = allocate(NULL, sizeof *s);
    *s = (service){.events = events, .device = open_device()};
    s->stretch = load_kernel(s->device, service_ptx, "stretch");
    check(acu_queue_create(NULL, &s->queue));
    return s;
}

acu_queue *service_queue(service *s)
{
    return s->queue;
}

/* Takes in the whole batch first, then attends to each client once: one write for many answers. */
void service_completed(void *user, const acu_completion *done, size_t count)
{
    service *s = user;
    session *changed = NULL;
    for (size_t i = 0; i < count; i++) {
        request *r = (request *)(uintptr_t)done[i].tag;
        r->done = true;
        if (!r->session->changed) {
            r->session->changed = true;
            r->session->next_changed = changed;
            changed = r->session;
        }
    }
    for (session *next; changed; changed = next) {
        next = changed->next_changed;
        changed->changed = false;
        advance(changed);
        if (changed->closed)
            free_if_done(changed);
        else
            s->events.changed(changed->connection);
    }
}

/* Ends the input, whether or not the client is ready; an incomplete line is dropped. */
static void cut_input(session *s)
{
    s->ended = true;
    while (s->filled > s->begin && s->input[s->filled - 1] != '\n')
        s->filled--;
    advance(s);
}

void service_drain(service *s)
{
    bool drop = s->draining;
    s->draining = true;
    for (session *client = s->sessions, *next; client; client = next) {
        next = client->next;
        client->dropped |= drop;
        if (client->closed)
            continue;
        cut_input(client);
        s->events.changed(client->connection);
    }
    tell_if_idle(s);
}

int service_close(service *s)
{
    char left[1024] = "";
    acu_queue_release(s->queue);
    acu_kernel_release(s->stretch);
    check(acu_close(s->device));
    if (acu_debug_live_report(left, sizeof left))
        fprintf(stderr, "these are left:\n%s", left);
    free(s);
    return *left ? 1 : 0;
}
