/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The system refuses to start threads (pthread_create of this program does, for the library too):
 * what needs one fails with the reason in words, the rest works, and everything works again after.
 */
#include "support/support.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(bool) refusing;

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*run)(void *), void *restrict argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (atomic_load(&refusing))
        return EAGAIN;
    create *next;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, run, argument);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BEGIN() skip() /* the sanitizers have a pthread_create of their own */
#else
#define BEGIN() ((void)0)
#endif

/* acuda's own thread, which all submissions need, runs. */
static acu_device *begin(void)
{
    acu_device *device = test_open();
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(1)), NULL));
    return device;
}

static void end(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

#define REASON "no thread could be started for|ulimit -u|ulimit -v"

static acu_status count(void *user, const acu_val *values, size_t n)
{
    (void)values, (void)n;
    atomic_fetch_add((_Atomic(int) *)user, 1);
    return ACU_OK;
}

static void host_work(void **state)
{
    (void)state;
    BEGIN();
    acu_device *device = begin();
    _Atomic(int) ran = 0;
    acu_future *future;
    atomic_store(&refusing, true);
    assert_works(acu_submit(device, acu_host(count, &ran), NULL, &future));
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_NO_MEMORY, REASON "|host work");
    acu_future_release(future);
    atomic_store(&refusing, false);
    assert_int_equal(atomic_load(&ran), 0);
    assert_works(acu_sync(device, acu_host(count, &ran), NULL));
    assert_int_equal(atomic_load(&ran), 1);
    end(device);
}

static void pageable_copies(void **state)
{
    (void)state;
    BEGIN();
    static unsigned char memory[4096];
    acu_device *device = begin();
    acu_buffer *buffer;
    acu_tensor *host, *x;
    assert_works(
        acu_buffer_wrap_pageable(device, memory, sizeof memory, ACU_USER(NULL, NULL), &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE(sizeof memory), &host));
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(sizeof memory), &x));
    atomic_store(&refusing, true);
    acu_future *future;
    assert_works(acu_submit(device, acu_copy(x, host), NULL, &future));
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_NO_MEMORY, REASON "|pageable");
    acu_future_release(future);
    atomic_store(&refusing, false);
    assert_works(acu_sync(device, acu_copy(x, host), NULL));
    acu_tensor_release(x);
    acu_tensor_release(host);
    acu_buffer_release(buffer);
    end(device);
}

static void loads(void **state)
{
    (void)state;
    BEGIN();
    static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry nothing() { ret; }\n";
    acu_device *device = begin();
    acu_future *future;
    atomic_store(&refusing, true);
    assert_fails(acu_module_load_async(device, ACU_PTX("nothing", ptx), &future),
                 ACU_ERR_NO_MEMORY, REASON "|what takes long");
    atomic_store(&refusing, false);
    assert_works(acu_module_load_async(device, ACU_PTX("nothing", ptx), &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    end(device);
}

static void submissions(void **state)
{
    (void)state;
    BEGIN();
    acu_device *device = test_open();
    acu_future *future = NULL;
    atomic_store(&refusing, true);
    assert_fails(acu_submit(device, acu_full(ACU_SHAPE(3), acu_f32(4)), NULL, &future),
                 ACU_ERR_NO_MEMORY, "acuda's thread could not be started|ulimit -u|ulimit -v");
    assert_null(future);
    atomic_store(&refusing, false);
    assert_works(acu_submit(device, acu_full(ACU_SHAPE(3), acu_f32(4)), NULL, &future));
    atomic_store(&refusing, true);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    float got[3] = {0};
    acu_tensor *x = acu_future_tensor(future, 0);
    assert_works(acu_read_sync(x, got, sizeof got));
    assert_true(got[0] == 4 && got[2] == 4);
    acu_tensor_release(x);
    acu_future_release(future);
    end(device); /* closing needs no thread that is not there */
    atomic_store(&refusing, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_work),
        cmocka_unit_test(pageable_copies),
        cmocka_unit_test(loads),
        cmocka_unit_test(submissions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
