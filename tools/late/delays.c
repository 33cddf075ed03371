/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Delays where threads meet: a library in place of the thread sanitizer's. Programs that were built
 * for the sanitizer call that at each atomic operation and at the end of each function; this one
 * checks nothing there, but keeps the thread from going on for a moment. So it does at locks,
 * conditions, semaphores, futexes, and when a thread starts. tools/nightly builds it, and runs the
 * suite with it (part "delays"): a test or a file of the library that is right only if no thread is
 * ever late fails there, sooner or later.
 *
 *   DELAYS_SEED    which places are slow; 0 or nothing: none
 *   DELAYS_EVERY   one place of so many is slow (24)
 *   DELAYS_MS      how long all delays of a process take at most (3000)
 *
 * A delay takes processor time: a test that waits until all threads sleep must not take the thread
 * for one that waits. What is found depends on chance and on the machine's load, not on the seed
 * alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

enum { MOST_AT_ONE = 40 }; /* so often the thread is kept at one place */

typedef enum kind { ATOMIC, RETURN, LOCK, CALL } kind;

static uint64_t seed;
static unsigned every = 24;
static int64_t left_us = 3000000;
static uint8_t times[1 << 16]; /* how often at which place, by a hash of it */
static uint32_t threads;
static __thread uint64_t state;

/* ---- how long ---- */

__attribute__((constructor(101))) static void read_settings(void)
{
    const char *text = getenv("DELAYS_SEED");
    seed = text ? strtoull(text, NULL, 10) : 0;
    if ((text = getenv("DELAYS_EVERY")) && atoi(text) > 0)
        every = (unsigned)atoi(text);
    if ((text = getenv("DELAYS_MS")))
        left_us = atoll(text) * 1000;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t draw(void)
{
    if (!state)
        state = mix(seed * 977 + __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED)) | 1;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void stay(int64_t us)
{
    if (__atomic_sub_fetch(&left_us, us, __ATOMIC_RELAXED) < 0)
        return;
    for (int64_t end = now_us() + us; now_us() < end;)
        sched_yield();
}

static void maybe_stay(uintptr_t place, kind what)
{
    /* The lower bits of an address are the same in each run. */
    uint64_t hash = mix((place & 0xfff) ^ (uint64_t)what << 20 ^ mix(seed));
    bool slow = hash % (what == RETURN ? 4 * every : every) == 0;
    uint64_t r = draw();
    uint8_t *count = &times[hash >> 20 & 0xffff];
    if (slow && *count < MOST_AT_ONE && r % 4 == 0) {
        ++*count;
        stay(r >> 8 & 15 ? (int64_t)(r >> 16) % (r >> 12 & 3 ? 500 : 5000) : 20000);
    } else if (!slow && what != RETURN && r % 256 == 0) {
        sched_yield();
    }
}

static inline void at(const void *place, kind what)
{
    if (!seed)
        return;
    int error = errno;
    maybe_stay((uintptr_t)place, what);
    errno = error;
}

#define HERE __builtin_return_address(0)

/* ---- what gcc calls for the thread sanitizer ---- */

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) { at(HERE, RETURN); }
void __tsan_read_range(void *p, size_t n) { (void)p, (void)n; }
void __tsan_write_range(void *p, size_t n) { (void)p, (void)n; }
void __tsan_vptr_update(void **p, void *value) { (void)p, (void)value; }
void __tsan_vptr_read(void **p) { (void)p; }
void *__tsan_create_fiber(unsigned flags) { return (void)flags, &state; }
void __tsan_destroy_fiber(void *fiber) { (void)fiber; }
void *__tsan_get_current_fiber(void) { return &state; }
void __tsan_switch_to_fiber(void *fiber, unsigned flags) { (void)fiber, (void)flags; }
void __tsan_atomic_signal_fence(int order) { (void)order; }
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    at(HERE, ATOMIC);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define PLAIN(name) \
    void __tsan_##name##1(void *p) { (void)p; } \
    void __tsan_##name##2(void *p) { (void)p; } \
    void __tsan_##name##4(void *p) { (void)p; } \
    void __tsan_##name##8(void *p) { (void)p; } \
    void __tsan_##name##16(void *p) { (void)p; }
PLAIN(read)
PLAIN(write)
PLAIN(unaligned_read)
PLAIN(unaligned_write)
PLAIN(volatile_read)
PLAIN(volatile_write)

#define CHANGE(bits, name, builtin) \
    uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *p, uint##bits##_t value, \
                                                int order) \
    { \
        (void)order; \
        at(HERE, ATOMIC); \
        return builtin(p, value, __ATOMIC_SEQ_CST); \
    }
/* A weak exchange fails now and then. */
#define COMPARE(bits, name, fails) \
    int __tsan_atomic##bits##_compare_exchange_##name(uint##bits##_t *p, uint##bits##_t *was, \
                                                      uint##bits##_t value, int order, int other) \
    { \
        (void)order, (void)other; \
        at(HERE, ATOMIC); \
        if (seed && (fails) && draw() % 64 == 0) { \
            *was = __atomic_load_n(p, __ATOMIC_SEQ_CST); \
            return 0; \
        } \
        return __atomic_compare_exchange_n(p, was, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }
#define ATOMICS(bits) \
    uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t *p, int order) \
    { \
        (void)order; \
        at(HERE, ATOMIC); \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
    } \
    void __tsan_atomic##bits##_store(uint##bits##_t *p, uint##bits##_t value, int order) \
    { \
        (void)order; \
        at(HERE, ATOMIC); \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST); \
    } \
    CHANGE(bits, exchange, __atomic_exchange_n) \
    CHANGE(bits, fetch_add, __atomic_fetch_add) \
    CHANGE(bits, fetch_sub, __atomic_fetch_sub) \
    CHANGE(bits, fetch_and, __atomic_fetch_and) \
    CHANGE(bits, fetch_or, __atomic_fetch_or) \
    CHANGE(bits, fetch_xor, __atomic_fetch_xor) \
    COMPARE(bits, strong, false) \
    COMPARE(bits, weak, true)
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

/* ---- the system's functions, which the sanitizer replaces too ---- */

/* With the version that a program without the sanitizer would get: those that were built for it ask
 * for none, and without that they would get the oldest. */
static void *find(const char *name, const char *version)
{
    void *found = version[0] ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return found ? found : dlsym(RTLD_NEXT, name);
}
#define REAL(name, version) \
    static __typeof__(&name) real; \
    if (!real) \
        *(void **)&real = find(#name, version)

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_lock, "");
    at(HERE, LOCK);
    return real(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_unlock, "");
    int result = real(mutex);
    at(HERE, LOCK);
    return result;
}

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
    REAL(pthread_cond_init, "GLIBC_2.3.2");
    return real(cond, attributes);
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
    REAL(pthread_cond_destroy, "GLIBC_2.3.2");
    return real(cond);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
    REAL(pthread_cond_signal, "GLIBC_2.3.2");
    at(HERE, CALL);
    return real(cond);
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    REAL(pthread_cond_broadcast, "GLIBC_2.3.2");
    at(HERE, CALL);
    return real(cond);
}

/* Wakes up for no reason now and then. */
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    REAL(pthread_cond_wait, "GLIBC_2.3.2");
    if (!seed || draw() % 8 != 0)
        return real(cond, mutex);
    pthread_mutex_unlock(mutex);
    return pthread_mutex_lock(mutex);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    REAL(pthread_cond_timedwait, "GLIBC_2.3.2");
    at(HERE, CALL);
    return real(cond, mutex, until);
}

int sem_post(sem_t *semaphore)
{
    REAL(sem_post, "");
    at(HERE, CALL);
    return real(semaphore);
}

int pthread_join(pthread_t thread, void **value)
{
    REAL(pthread_join, "");
    at(HERE, CALL);
    return real(thread, value);
}

typedef struct start {
    void *(*run)(void *);
    void *argument;
} start;

static void *begin(void *context)
{
    start s = *(start *)context;
    free(context);
    at((void *)(uintptr_t)s.run, CALL);
    return s.run(s.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    REAL(pthread_create, "");
    start *s = malloc(sizeof *s);
    if (!s)
        return EAGAIN;
    *s = (start){run, argument};
    int result = real(thread, attributes, begin, s);
    if (result)
        free(s);
    else
        at(HERE, CALL);
    return result;
}

long syscall(long number, ...)
{
    REAL(syscall, "");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_futex)
        at(HERE, CALL);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

char *realpath(const char *restrict path, char *restrict resolved)
{
    REAL(realpath, "GLIBC_2.3");
    return real(path, resolved);
}

extern int __cxa_atexit(void (*run)(void *), void *argument, void *library);

int atexit(void (*run)(void))
{
    return __cxa_atexit((void (*)(void *))run, NULL, NULL);
}
