/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Holding loads of modules up: all of the loader's threads are busy with jobs that wait. */
#ifndef ACUDA_TESTS_LOADS_H
#define ACUDA_TESTS_LOADS_H

#include "device/loader.h"
#include "support/support.h"

#include <pthread.h>

enum { TEST_LOADERS = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool closed;
} test_loads = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static inline void test_loads_wait(acui_job *job)
{
    pthread_mutex_lock(&test_loads.lock);
    while (test_loads.closed)
        pthread_cond_wait(&test_loads.opened, &test_loads.lock);
    pthread_mutex_unlock(&test_loads.lock);
    acu_device_release(job->device);
    free(job);
}

/* Loads that are begun from now on wait for test_loads_go. */
static inline void test_loads_hold(acu_device *device)
{
    test_loads.closed = true;
    for (int i = 0; i < TEST_LOADERS; i++) {
        acui_job *job = calloc(1, sizeof *job);
        job->device = acu_device_retain(device);
        job->run = test_loads_wait;
        assert_works(acui_loader_give(job));
    }
}

static inline void test_loads_go(void)
{
    pthread_mutex_lock(&test_loads.lock);
    test_loads.closed = false;
    pthread_cond_broadcast(&test_loads.opened);
    pthread_mutex_unlock(&test_loads.lock);
}

#endif
