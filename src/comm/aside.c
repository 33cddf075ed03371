/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that may wait for other ranks for good, on threads that can be left behind. */
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "comm/nccl.h"

struct acui_aside {
    acu_comm *comm; /* a reference */
    pthread_t thread;
    acu_device *devices[ACUI_COMM_MOST]; /* its devices, which it may be without by then */
    acui_aside_fn fn;
    pthread_mutex_t lock;
    pthread_cond_t told;
    int refs; /* the thread, and who waits; lock, as the rest */
    bool over;
    acu_status outcome;
    acu_error record;
};

static void drop(acui_aside *a)
{
    pthread_mutex_lock(&a->lock);
    bool last = --a->refs == 0;
    pthread_mutex_unlock(&a->lock);
    if (!last)
        return;
    for (size_t i = 0; i < a->comm->device_count; i++)
        acu_device_release(a->devices[i]);
    acui_comm_drop(a->comm);
    pthread_cond_destroy(&a->told);
    pthread_mutex_destroy(&a->lock);
    acui_free(a);
}

static void *run(void *context)
{
    acui_aside *a = context;
    acu_status outcome = a->fn(a->comm);
    pthread_mutex_lock(&a->lock);
    a->outcome = outcome;
    a->record = *acui_error();
    a->over = true;
    pthread_cond_broadcast(&a->told);
    pthread_mutex_unlock(&a->lock);
    drop(a);
    return NULL;
}

acui_aside *acui_aside_start(acu_comm *comm, acui_aside_fn fn, const char *name)
{
    acui_aside *a = ACUI_NEW(acui_aside);
    if (!a)
        return NULL;
    a->comm = acui_object_retain(comm);
    for (size_t i = 0; i < comm->device_count; i++)
        a->devices[i] = acu_device_retain(comm->devices[i]);
    a->fn = fn;
    a->refs = 2;
    pthread_mutex_init(&a->lock, NULL);
    acui_cond_init(&a->told);
    if (acui_thread_start_with(&a->thread, name, run, a))
        return a;
    a->refs = 1;
    drop(a);
    return NULL;
}

acu_status acui_aside_wait(acui_aside *a, uint64_t timeout, const char *what)
{
    uint64_t deadline = acui_deadline(timeout);
    acu_status status;
    pthread_mutex_lock(&a->lock);
    while (!a->over && acui_cond_wait_until(&a->told, &a->lock, deadline))
        ;
    bool over = a->over;
    if (!over)
        status = acui_fail(ACU_ERR_DEADLINE, "%s took too long: a rank that belongs to it may be "
                           "missing", what);
    else
        status = a->outcome == ACU_OK ? ACU_OK : acui_error_restore(&a->record);
    pthread_mutex_unlock(&a->lock);
    if (over) /* nothing of it is left when this returns */
        pthread_join(a->thread, NULL);
    else
        pthread_detach(a->thread);
    drop(a);
    return status;
}
