/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handles of cuBLAS, each tied to the device's context and used by one thread at a time. A thread
 * of the loader makes the first one when a product is first submitted, and more, up to MOST, when
 * several threads issue products at the same time. A device keeps them until it ends.
 */
#include "ops/gemm.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "device/loader.h"

#include <acuda/ops.h>

enum { MOST = 8 };

struct acui_cublas {
    acui_point *point;  /* pending while it is LOADING */
    _Atomic(int) state; /* acui_load_state; stored with release, loaded with acquire: publishes the
                         * library and `fault` */
    acui_fault *fault;  /* why it FAILED; NULL also if there was no memory for it */
    pthread_mutex_t lock;  /* guards what follows; only the loader's lock is taken under it */
    pthread_cond_t given;  /* a handle is free */
    acui_cublas_handle free[MOST];
    int free_count, count; /* how many are free; how many there are */
    bool growing;          /* one more is being made */
};

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER; /* held while any device begins */

static struct acui_cublas *of(acu_device *device)
{
    /* Acquire: pairs with the release that publishes its contents. */
    return atomic_load_explicit(&device->ops.cublas, memory_order_acquire);
}

static acui_load_state state_of(const struct acui_cublas *c)
{
    return (acui_load_state)atomic_load_explicit(&c->state, memory_order_acquire);
}

/* ---- making ---------------------------------------------------------------------------------- */

static acu_status set_up(acui_cublas_handle handle)
{
    int status = acui_cublas()->set_pointer_mode(handle, ACUI_CUBLAS_POINTER_HOST);
    if (status != ACUI_CUBLAS_SUCCESS)
        return acui_cublas_fail("cublasSetPointerMode", status);
    status = acui_cublas()->set_math_mode(handle, ACUI_CUBLAS_FULL_REDUCTION);
    return status == ACUI_CUBLAS_SUCCESS ? ACU_OK : acui_cublas_fail("cublasSetMathMode", status);
}

static acu_status make_handle(acu_device *device, bool first, acui_cublas_handle *made)
{
    acui_entered entered;
    acui_cublas_handle handle = NULL;
    ACUI_TRY(acui_device_check(device));
    ACUI_TRY(acui_enter(device, &entered));
    int status = acui_cublas()->create(&handle);
    acu_status st = status == ACUI_CUBLAS_SUCCESS ? set_up(handle)
                                                  : acui_cublas_fail("cublasCreate", status);
    if (st != ACU_OK && handle)
        acui_cublas()->destroy(handle);
    if (st == ACU_OK && first)
        acui_gemm_warm_up(device, handle);
    acui_leave(&entered);
    *made = handle;
    return st;
}

/* Makes the handle free. The lock is held. */
static void put(struct acui_cublas *c, acui_cublas_handle handle)
{
    c->free[c->free_count++] = handle;
    pthread_cond_signal(&c->given);
}

static acu_status add_handle(struct acui_cublas *c, acu_device *device, bool first)
{
    acui_cublas_handle handle;
    acu_status st = make_handle(device, first, &handle);
    pthread_mutex_lock(&c->lock);
    c->growing = false;
    if (st == ACU_OK) {
        c->count++;
        put(c, handle);
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

/* ---- on the loader's threads ----------------------------------------------------------------- */

typedef struct making {
    acui_job job;
    struct acui_cublas *cublas; /* the device's; the job holds the device */
} making;

static void making_free(making *m)
{
    acu_device *device = m->job.device;
    acui_free(m);
    acu_device_release(device);
}

static void make_first(acui_job *job)
{
    making *m = (making *)job; /* the job is its first member */
    struct acui_cublas *c = m->cublas;
    acu_status st = acui_cublas_open();
    if (st == ACU_OK)
        st = add_handle(c, job->device, true);
    if (st != ACU_OK)
        c->fault = acui_fault_new(acui_error());
    atomic_store_explicit(&c->state, st == ACU_OK ? ACUI_LOADED : ACUI_LOAD_FAILED,
                          memory_order_release);
    acui_load_over(c->point);
    making_free(m);
}

static void make_another(acui_job *job)
{
    making *m = (making *)job;
    add_handle(m->cublas, job->device, false);
    making_free(m);
}

static acu_status have_made(acu_device *device, struct acui_cublas *c, void (*run)(acui_job *))
{
    making *m = ACUI_NEW(making);
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load cuBLAS");
    m->job.run = run;
    m->job.device = acu_device_retain(device);
    m->cublas = c;
    acu_status st = acui_loader_give(&m->job);
    if (st != ACU_OK)
        making_free(m);
    return st;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static void cublas_free(struct acui_cublas *c)
{
    acui_point_release(c->point);
    acui_fault_release(c->fault);
    pthread_cond_destroy(&c->given);
    pthread_mutex_destroy(&c->lock);
    acui_free(c);
}

/* The handles of a lost device are leaked: nothing of its context may reach the driver any more. */
static void drop(acu_device *device)
{
    struct acui_cublas *c = of(device);
    for (int i = 0; i < c->free_count && !acui_device_lost(device); i++) {
        acui_cublas()->set_stream(c->free[i], NULL); /* the handle's last stream is gone */
        acui_cublas()->destroy(c->free[i]);
    }
    cublas_free(c);
}

/* `beginning` is held. */
static acu_status begin(acu_device *device)
{
    struct acui_cublas *c = ACUI_NEW(struct acui_cublas);
    if (!c)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load cuBLAS");
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->given, NULL);
    atomic_init(&c->state, ACUI_LOADING);
    c->point = acui_point_new();
    acu_status st = c->point ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory to load cuBLAS");
    if (st == ACU_OK) {
        c->point->load = true;
        st = have_made(device, c, make_first);
    }
    if (st != ACU_OK) {
        cublas_free(c);
        return st;
    }
    device->ops.drop_cublas = drop;
    atomic_store_explicit(&device->ops.cublas, c, memory_order_release);
    return ACU_OK;
}

acu_status acui_cublas_begin(acu_device *device)
{
    if (of(device))
        return ACU_OK;
    pthread_mutex_lock(&beginning);
    acu_status st = of(device) ? ACU_OK : begin(device);
    pthread_mutex_unlock(&beginning);
    return st;
}

acui_point *acui_cublas_behind(acu_device *device)
{
    struct acui_cublas *c = of(device);
    return state_of(c) == ACUI_LOADING ? c->point : NULL;
}

bool acui_cublas_is_missing(acu_device *device)
{
    return state_of(of(device)) == ACUI_LOAD_FAILED;
}

/* ---- taking turns ---------------------------------------------------------------------------- */

acui_cublas_handle acui_cublas_take(acu_device *device)
{
    struct acui_cublas *c = of(device);
    if (state_of(c) != ACUI_LOADED)
        return NULL;
    pthread_mutex_lock(&c->lock);
    while (c->free_count == 0) {
        if (!c->growing && c->count < MOST)
            c->growing = have_made(device, c, make_another) == ACU_OK;
        pthread_cond_wait(&c->given, &c->lock); /* handles in use will be given back */
    }
    acui_cublas_handle handle = c->free[--c->free_count];
    pthread_mutex_unlock(&c->lock);
    return handle;
}

void acui_cublas_give(acu_device *device, acui_cublas_handle handle)
{
    struct acui_cublas *c = of(device);
    pthread_mutex_lock(&c->lock);
    put(c, handle);
    pthread_mutex_unlock(&c->lock);
}

/* ---- waiting for it -------------------------------------------------------------------------- */

static bool is_over(void *cublas)
{
    return state_of(cublas) != ACUI_LOADING;
}

void acui_cublas_wait(acu_device *device)
{
    acui_loader_wait_until(is_over, of(device), ACU_FOREVER);
}

acu_status acu_cublas_load(acu_device *device)
{
    ACUI_CHECK(device, DEVICE);
    ACUI_TRY(acui_refuse_wait(__func__));
    ACUI_TRY(acui_device_check(device));
    const char *refusal = acui_cublas_refusal(device);
    if (refusal)
        return acui_fail(ACU_ERR_NOT_FOUND, "%s", refusal);
    ACUI_TRY(acui_cublas_begin(device));
    struct acui_cublas *c = of(device);
    acui_loader_wait_until(is_over, c, ACU_FOREVER);
    return state_of(c) == ACUI_LOADED ? ACU_OK : acui_load_failure(c->fault);
}
