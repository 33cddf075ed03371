/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The explorer: coroutines, store buffers, and the search over all lists of choices. */
#include "explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { LOCKS = 8, THREADS = 4, STACK = 64 * 1024, BUFFER = 8, DEPTH = 4096, LOCALS = 4 };

typedef struct late_store {
    volatile void *at;
    size_t bytes;
    uint64_t value;
} late_store;

/* Contexts enter the system whenever they are switched, so each is used once, to get onto its
 * stack: runs begin at its bottom. */
typedef struct coroutine {
    ucontext_t context;
    jmp_buf bottom, at;
    void (*run)(void);
    char *stack;
    bool has_bottom, begun;
    bool done;
    const void *sleeps_on;
    late_store buffer[BUFFER];
    int late; /* stores in the buffer, oldest first */
} coroutine;

static coroutine threads[THREADS];
static int count, current;
static jmp_buf scheduler;
static const explore_model *model;
static int interruptions, delays; /* left in this run */
static int bound;                 /* of both, where that is less than the model's */
static bool running, failed;
static const void *locked[LOCKS];
static char why[256];

/* The choices of this run, and among how many each was made. */
static struct {
    unsigned char chosen, among;
} path[DEPTH];
static int depth, known; /* choices made; choices that are given */

/* Variables of which each thread has its own: they hold the values of the thread that is
 * running. */
static struct {
    void *at;
    size_t bytes;
    unsigned char values[THREADS][8];
} locals[LOCALS];
static int local_count;

void explore_local(void *variable, size_t bytes)
{
    if (local_count == LOCALS || bytes > sizeof locals[0].values[0])
        abort();
    locals[local_count].at = variable;
    locals[local_count++].bytes = bytes;
}

static void leave(void)
{
    if (_setjmp(threads[current].at) == 0)
        _longjmp(scheduler, 1);
}

/* Never returns: of a run that is given up, the rest of the stack is. */
static void run_from_bottom(void)
{
    _setjmp(threads[current].bottom);
    threads[current].run();
}

static void prepare(coroutine *t, void (*run)(void))
{
    t->run = run;
    t->begun = t->done = false;
    t->sleeps_on = NULL;
    t->late = 0;
    if (t->stack)
        return;
    t->stack = malloc(STACK);
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = STACK;
    t->context.uc_link = NULL;
    makecontext(&t->context, run_from_bottom, 0);
}

/* The thread goes on, to its next point. */
static void resume(coroutine *t)
{
    size_t i = (size_t)(t - threads);
    for (int k = 0; k < local_count; k++)
        memcpy(locals[k].at, locals[k].values[i], locals[k].bytes);
    if (_setjmp(scheduler) != 0) {
        for (int k = 0; k < local_count; k++)
            memcpy(locals[k].values[current], locals[k].at, locals[k].bytes);
        return;
    }
    if (t->begun)
        _longjmp(t->at, 1);
    t->begun = true;
    if (t->has_bottom)
        _longjmp(t->bottom, 1);
    t->has_bottom = true;
    setcontext(&t->context);
}

_Noreturn void explore_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    failed = true;
    leave();
    abort(); /* a failed run's threads never go on */
}

/* One of 0 .. among-1: the given choice, else the first. */
static int choose(int among)
{
    if (among == 1)
        return 0;
    if (depth == DEPTH) {
        fprintf(stderr, "%s: a run does not end\n", model->name);
        exit(1);
    }
    if (depth >= known)
        path[depth].chosen = 0;
    path[depth].among = (unsigned char)among;
    return path[depth++].chosen;
}

/* ---- memory ---- */

static void write_memory(const late_store *s)
{
    switch (s->bytes) {
    case 4: *(volatile uint32_t *)s->at = (uint32_t)s->value; break;
    case 8: *(volatile uint64_t *)s->at = s->value; break;
    default: *(volatile unsigned char *)s->at = (unsigned char)s->value;
    }
}

/* The oldest store of the thread's buffer becomes visible. */
static void flush_one(coroutine *t)
{
    write_memory(&t->buffer[0]);
    t->late--;
    memmove(t->buffer, t->buffer + 1, (size_t)t->late * sizeof *t->buffer);
}

void explore_settle(void)
{
    while (threads[current].late)
        flush_one(&threads[current]);
}

uint64_t explore_load(const volatile void *at, size_t bytes)
{
    coroutine *t = &threads[current];
    for (int i = t->late; i-- > 0;)
        if (t->buffer[i].at == at)
            return t->buffer[i].value;
    switch (bytes) {
    case 4: return *(const volatile uint32_t *)at;
    case 8: return *(const volatile uint64_t *)at;
    default: return *(const volatile unsigned char *)at;
    }
}

void explore_store(volatile void *at, size_t bytes, uint64_t value, bool late)
{
    coroutine *t = &threads[current];
    late_store store = {at, bytes, value};
    bool delayed = false;
    if (late && t->late < BUFFER && (t->late || delays > 0))
        delayed = t->late ? true : choose(2) == 1; /* behind a late store, all are late */
    if (delayed) {
        delays -= t->late == 0;
        t->buffer[t->late++] = store;
        return;
    }
    explore_settle();
    write_memory(&store);
}

/* ---- going on ---- */

void explore_point(void)
{
    if (running)
        leave();
}

static void wake(const void *sleepers_on)
{
    for (int i = 0; i < count; i++)
        if (threads[i].sleeps_on == sleepers_on)
            threads[i].sleeps_on = NULL;
}

void explore_park(_Atomic(uint32_t) *word, uint32_t seen)
{
    leave();
    explore_settle();
    if (*(volatile uint32_t *)word != seen)
        return;
    threads[current].sleeps_on = word;
    leave();
}

void explore_unpark(_Atomic(uint32_t) *word)
{
    leave();
    explore_settle();
    wake(word);
}

void explore_unpark_one(_Atomic(uint32_t) *word)
{
    leave();
    explore_settle();
    for (int i = 0; i < count; i++)
        if (threads[i].sleeps_on == word) {
            threads[i].sleeps_on = NULL;
            return;
        }
}

/* ---- locks ---- */

/* Where the mutex is in the list; else a free place. */
static int lock_place(const void *mutex)
{
    int place = 0;
    for (int i = 0; i < LOCKS; i++) {
        if (locked[i] == mutex)
            return i;
        if (!locked[i])
            place = i;
    }
    return place;
}

int explore_lock(void *mutex)
{
    if (!running)
        return 0;
    leave();
    explore_settle();
    while (locked[lock_place(mutex)] == mutex) {
        threads[current].sleeps_on = mutex;
        leave();
    }
    locked[lock_place(mutex)] = mutex;
    return 0;
}

int explore_trylock(void *mutex)
{
    leave();
    explore_settle();
    if (locked[lock_place(mutex)] == mutex)
        return 1;
    locked[lock_place(mutex)] = mutex;
    return 0;
}

static void unlock(const void *mutex)
{
    explore_settle();
    if (locked[lock_place(mutex)] != mutex)
        explore_fail("a mutex is unlocked that nobody holds");
    locked[lock_place(mutex)] = NULL;
    wake(mutex);
}

int explore_unlock(void *mutex)
{
    if (!running)
        return 0;
    leave();
    unlock(mutex);
    return 0;
}

int explore_wait(void *condition, void *mutex)
{
    leave();
    unlock(mutex);
    threads[current].sleeps_on = condition;
    leave();
    return explore_lock(mutex);
}

int explore_signal(void *condition)
{
    if (!running)
        return 0;
    leave();
    explore_settle();
    wake(condition);
    return 0;
}

static void thread_main(void)
{
    model->threads[current]();
    leave(); /* its last stores may be late too */
    explore_settle();
    threads[current].done = true;
    leave();
}

static bool can_go(int i)
{
    return !threads[i].done && !threads[i].sleeps_on;
}

/* What may happen next: thread i goes on (i), or its oldest late store becomes visible (THREADS +
 * i). The thread that was running comes first: any other one interrupts it. */
static int list_next(unsigned char *list)
{
    int n = 0;
    bool goes_on = can_go(current);
    if (goes_on)
        list[n++] = (unsigned char)current;
    for (int i = 0; i < count; i++)
        if (i != current && can_go(i) && (!goes_on || interruptions > 0))
            list[n++] = (unsigned char)i;
    for (int i = 0; i < count && n > 0; i++)
        if (threads[i].late && i != current)
            list[n++] = (unsigned char)(THREADS + i);
    return n;
}

static bool run_on(void)
{
    unsigned char list[2 * THREADS];
    int n = list_next(list);
    if (n == 0)
        return false;
    int next = list[choose(n)];
    if (next >= THREADS) {
        flush_one(&threads[next - THREADS]);
        return true;
    }
    if (next != current && can_go(current))
        interruptions--;
    current = next;
    resume(&threads[current]);
    return !failed;
}

static void check_main(void)
{
    model->check();
    leave();
}

static void check_end(void)
{
    for (int i = 0; i < count; i++)
        if (!threads[i].done && !failed) {
            failed = true;
            snprintf(why, sizeof why, "thread %d sleeps for ever", i);
        }
    if (!failed && model->check) { /* as a thread of its own, so that it can fail */
        current = 0;
        prepare(&threads[0], check_main);
        resume(&threads[0]);
    }
}

static void run_once(void)
{
    depth = current = 0;
    interruptions = model->interruptions < bound ? model->interruptions : bound;
    delays = model->delays < bound ? model->delays : bound;
    for (count = 0; count < THREADS && model->threads[count]; count++)
        prepare(&threads[count], thread_main);
    memset(locked, 0, sizeof locked);
    for (int k = 0; k < local_count; k++)
        memset(locals[k].values, 0, sizeof locals[k].values);
    model->start();
    running = true;
    while (run_on()) {
    }
    running = false; /* nothing in the check is a point: it is resumed once */
    check_end();
}

/* The next list of choices, in order; false after the last. */
static bool next_path(void)
{
    while (depth > 0 && path[depth - 1].chosen + 1 >= path[depth - 1].among)
        depth--;
    if (depth == 0)
        return false;
    path[depth - 1].chosen++;
    known = depth;
    return true;
}

bool explore(const explore_model *m)
{
    unsigned long runs = 0;
    model = m;
    known = 0;
    failed = false;
    do {
        run_once();
        runs++;
    } while (!failed && next_path());
    printf("%s: %lu runs%s%s\n", m->name, runs, failed ? "; the last failed: " : "",
           failed ? why : "");
    if (failed) {
        printf("its choices:");
        for (int i = 0; i < depth; i++)
            printf(" %d/%d", path[i].chosen, path[i].among);
        printf("\n");
    }
    return !failed;
}

int explore_all(const explore_model *models, size_t n, int argc, char **argv)
{
    bool broken = argc > 1 && strcmp(argv[1], "broken") == 0, found = false;
    int most = 0;
    for (size_t i = 0; i < n; i++) {
        most = models[i].interruptions > most ? models[i].interruptions : most;
        most = models[i].delays > most ? models[i].delays : most;
    }
    /* Most faults need few interruptions: looked for with few first, they are found much sooner. */
    for (bound = broken ? 0 : most; bound <= most && !found; bound++)
        for (size_t i = 0; i < n && !found; i++)
            found = !explore(&models[i]);
    if (broken && !found)
        printf("the fault that was put in was not found\n");
    return found != broken;
}
