/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What all tests share: opening devices as the environment says, looking for leaks, checking error
 * records, raw copies, and holding a stream up.
 *
 *   ACUDA_TEST_DEVICE   "software" (or unset): the software device, of which there are four.
 *                       "gpu": the GPU driver; tests that need more devices than there are, or a
 *                       software device, are skipped.
 *   ACUDA_TEST_THIN     N: tests that make every call fail in turn try one place of N that they
 *                       would try (test_thin).
 *   ACUDA_TEST_TIMES    N: the sweep of the engine tries each of them N times, for what depends on
 *                       which thread is first (test_times).
 */
#ifndef ACUDA_TESTS_SUPPORT_H
#define ACUDA_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <acuda/acuda.h>
#include <acuda/debug.h>

/* ---- devices ---- */

bool test_on_gpu(void);
/* Options for device `ordinal` of the driver under test. */
acu_open_options test_options(int ordinal);
acu_device *test_open(void);
/* The first `count` devices; skips the test where there are fewer. */
void test_open_n(acu_device **devices, int count);
/* Close, which must succeed. */
void test_close(acu_device *device);
/* No handles, driver objects or blocks of memory are left over, and all submissions count as done.
 * Called after the last close. */
void test_leaks_none(void);
uint64_t test_thin(void);  /* ACUDA_TEST_THIN, or 1 */
uint64_t test_times(void); /* ACUDA_TEST_TIMES, or 1 */
/* Skips the test unless it runs on the software device. */
void test_software_only(void);

/* Whether memory can be shared by descriptors on this machine, tried by raw calls: not every
 * machine with a GPU allows it (some containers do not). */
bool test_can_share(acu_device *device);

/* Makes each driver call (or one of test_thin) fail once, each time on a device of its own.
 * `before`, which may be NULL, is called first, then the op that `make` returns is waited for. It
 * must succeed or fail, and harm nothing else. */
void test_fail_each_call(void (*before)(void), acu_op *(*make)(void));
/* The test `without_a_call` of a program: that, in a process of its own, as what `before` loads
 * stays loaded. main runs it as the case "calls" (test_run_case). */
#define TEST_EACH_CALL(before, make)                                                               \
    static void case_calls(void **state)                                                           \
    {                                                                                              \
        (void)state;                                                                               \
        test_fail_each_call((before), (make));                                                     \
    }                                                                                              \
    static void without_a_call(void **state)                                                       \
    {                                                                                              \
        (void)state;                                                                               \
        test_software_only();                                                                      \
        test_in_process("calls");                                                                  \
    }
/* Makes each allocation (or one of test_thin) on the host fail once, while the op that `make`
 * returns is made, submitted to the device and waited for: it must succeed, or fail with
 * NO_MEMORY. */
void test_fail_each_alloc(acu_device *device, acu_op *(*make)(void));

/* Submits with default options; must succeed. */
acu_future *test_submit(acu_device *device, acu_op *op);

/* ---- errors ---- */

/* `status` is `want`, and the thread's record says so, with all `words`
 * (separated by '|') in it. */
void test_fails(acu_status status, acu_status want, const char *words, const char *file, int line);
#define assert_fails(call, want, words) test_fails((call), (want), (words), __FILE__, __LINE__)
/* The call succeeds; prints the record if not. */
void test_works(acu_status status, const char *what, const char *file, int line);
#define assert_works(call) test_works((call), #call, __FILE__, __LINE__)

/* ---- raw access: these wait ---- */

void test_put(acu_device *device, CUdeviceptr to, const void *from, size_t bytes);
void test_get(acu_device *device, void *to, CUdeviceptr from, size_t bytes);
/* Waits until all work of the device's context is done. */
void test_quiet(acu_device *device);
/* Makes the device's context current on this thread, and undoes that. */
void test_enter(acu_device *device);
void test_leave(acu_device *device);

/* The module; must load. */
acu_module *test_load_ptx(acu_device *device, const char *name, const char *ptx);
/* A kernel of a PTX text that is loaded without a name; the module goes with the kernel. */
acu_kernel *test_kernel(acu_device *device, const char *ptx, const char *name);

/* ---- holding a stream up: one gate at a time ---- */

/* Work that the stream gets from now on waits until test_gate_open. */
void test_gate_close(acu_device *device, CUstream stream);
void test_gate_open(void);

/* ---- holding up host work and whatever comes behind it; or a thread that plans ---- */

/* For acu_host: waits at the gate while it is closed; ignores `user` and the values. */
acu_status test_pass_host_gate(void *user, const acu_val *values, size_t count);
/* The same for acu_then: holds up the thread that plans, and then passes the first value on. */
acu_op *test_plan_behind_host_gate(void *user, acu_val *values, size_t count);
void test_host_gate_close(void); /* before the work is submitted */
void test_host_gate_await(void); /* waits until some work has come to it since it was closed */
void test_host_gate_open(void);

/* ---- processes: for tests whose effects can not be undone ---- */

typedef struct test_case {
    const char *name;
    void (*run)(void **state);
} test_case;
/* Runs this program again with the name as its argument; it must succeed, or skip. */
void test_in_process(const char *name);
/* What main does with that argument; gives main's status. */
int test_run_case(const test_case *cases, size_t count, const char *name);
/* Whether all threads of the process sleep, except the one that asks. */
bool test_threads_sleep(int pid);
/* Waits until that is so in this process. Work that has ended may have woken threads that come too
 * late, and still call the driver. */
void test_threads_rest(void);
/* For the last close, which has to follow at once: calls `fn` on the reactor after the close has
 * told that thread to stop, while it waits for the thread to end. One at a time. */
void test_call_last(acu_future *future, acu_future_fn fn, void *user);
/* Call this before a fork whose child allocates. The heaps of sanitizers, unlike the C library's,
 * have locks that may be held for good in the child of a process whose threads allocate: under a
 * sanitizer, this waits until all other threads sleep. */
void test_before_fork(void);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_HEAP_FORKS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_HEAP_FORKS false
#endif
#endif
#ifndef TEST_HEAP_FORKS
#define TEST_HEAP_FORKS true
#endif

/* ---- numbers ---- */

/* A generator that gives the same numbers everywhere. */
typedef struct test_random {
    uint64_t state;
} test_random;
uint64_t test_next(test_random *random);
/* 0 .. limit-1 */
uint64_t test_below(test_random *random, uint64_t limit);

/* ---- random programs: ACUDA_RANDOM_SEED is the first one, ACUDA_RANDOM_SEEDS how many ---- */

/* The number that the environment gives. */
uint64_t test_setting(const char *name, uint64_t otherwise);
/* Fails, and says how to repeat that. */
__attribute__((format(printf, 2, 3))) void test_seed_failed(uint64_t seed, const char *format,
                                                            ...);
/* Whether this process runs on the software device with its default settings. */
bool test_is_plain(void);
/* Runs these programs in a process of its own, as the driver reads its environment only once; it
 * has this setting of the driver ("NAME=VALUE") and no other. Must succeed. */
void test_seeds_with(char *setting, int first, int count);

#endif
