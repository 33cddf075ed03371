/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handles and plans of libraries, each tied to the device's context and used by one thread at a
 * time. A thread of the loader makes the first one when an operation that needs it is first
 * submitted, and more, up to MOST, when several threads issue such calls at the same time.
 */
#include "vendor/handles.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/local.h"
#include "device/loader.h"
#include "kernel/kernel.h"

#include <string.h>

enum { MOST = 8, MOST_KEYS = 64 };

struct acui_handles {
    acui_handles *next; /* of the device and library; guarded by `list_lock` */
    acui_library *library;
    acu_device *device; /* which has them */
    uint64_t used;      /* when it was last asked for, by `clock_of_uses`; guarded by list_lock */
    _Atomic(uint32_t) holders; /* besides the device; raised under list_lock */
    acui_point *point;  /* pending while it is LOADING */
    _Atomic(int) state; /* acui_load_state; stored with release, loaded with acquire: publishes the
                         * library and `fault` */
    acui_fault *fault;  /* why it FAILED */
    pthread_mutex_t lock;  /* guards what follows; only the loader's lock is taken under it */
    pthread_cond_t given;  /* a handle is free */
    void *free[MOST];
    int free_count, count; /* how many are free; how many there are */
    bool growing;          /* one more is being made, which is not in `count` yet */
    size_t bytes;          /* of the key: */
    char key[];
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t clock_of_uses;

static acui_load_state state_of(const acui_handles *h)
{
    return (acui_load_state)atomic_load_explicit(&h->state, memory_order_acquire);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* They are handles for plans that have keys. */
static bool are_for_plans(const acui_handles *h)
{
    return h->library->shared && h->bytes == 0;
}

static acu_status make_one(acui_handles *h, bool first, void **made)
{
    acui_entered entered;
    ACUI_TRY(acui_device_check(h->device));
    ACUI_TRY(acui_enter(h->device, &entered));
    acu_status st = are_for_plans(h) ? h->library->make_handle(made)
                                     : h->library->make(h->device, h->key, first, made);
    acui_leave(&entered);
    return st;
}

/* Makes the handle free. The lock is held. */
static void put(acui_handles *h, void *handle)
{
    h->free[h->free_count++] = handle;
    pthread_cond_signal(&h->given);
}

static acu_status add_handle(acui_handles *h, bool first)
{
    void *handle = NULL;
    acu_status st = make_one(h, first, &handle);
    pthread_mutex_lock(&h->lock);
    h->growing = false;
    if (st == ACU_OK) {
        h->count++;
        put(h, handle);
    } else { /* whoever waits for it may have it made again, or goes on with those that there are */
        pthread_cond_signal(&h->given);
    }
    pthread_mutex_unlock(&h->lock);
    return st;
}

/* ---- on the loader's threads ----------------------------------------------------------------- */

typedef struct making {
    acui_job job;
    acui_handles *handles; /* the device's; the job holds both */
} making;

static void making_free(making *m)
{
    acu_device *device = m->job.device;
    acui_handles_drop(m->handles);
    acui_free(m);
    acu_device_release(device);
}

static void make_first(acui_job *job)
{
    making *m = (making *)job; /* the job is its first member */
    acui_handles *h = m->handles;
    acu_status st = acui_library_open(h->library);
    if (st == ACU_OK)
        st = add_handle(h, true);
    if (st != ACU_OK)
        h->fault = acui_fault_new(acui_error());
    atomic_store_explicit(&h->state, st == ACU_OK ? ACUI_LOADED : ACUI_LOAD_FAILED,
                          memory_order_release);
    acui_load_over(h->point);
    making_free(m);
}

static void make_another(acui_job *job)
{
    making *m = (making *)job;
    add_handle(m->handles, false);
    making_free(m);
}

static acu_status have_made(acui_handles *h, void (*run)(acui_job *))
{
    making *m = ACUI_NEW(making);
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load %s", h->library->find.words);
    m->job.run = run;
    m->job.device = acu_device_retain(h->device);
    m->handles = h;
    atomic_fetch_add_explicit(&h->holders, 1, memory_order_relaxed); /* the caller holds it too */
    acu_status st = acui_loader_give(&m->job);
    if (st != ACU_OK)
        making_free(m);
    return st;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static void handles_free(acui_handles *h)
{
    acui_point_release(h->point);
    acui_fault_release(h->fault);
    pthread_cond_destroy(&h->given);
    pthread_mutex_destroy(&h->lock);
    acui_free(h);
}

/* The handles of a lost device are leaked: nothing of its context may reach the driver any more.
 * The device is entered, or lost. */
static void handles_end(acui_handles *h)
{
    void (*end)(void *made) = are_for_plans(h) ? h->library->end_handle : h->library->end;
    for (int i = 0; i < h->free_count && !acui_device_lost(h->device); i++)
        end(h->free[i]);
    handles_free(h);
}

static acui_handles *first_of(const acui_library *library, acu_device *device)
{
    /* Acquire: pairs with the release that publishes its contents. */
    return atomic_load_explicit(&device->vendor.handles[library->id], memory_order_acquire);
}

static void set_first(const acui_library *library, acu_device *device, acui_handles *h)
{
    atomic_store_explicit(&device->vendor.handles[library->id], h, memory_order_release);
}

/* Plans before the handles that they were made with. */
static void drop_those(acu_device *device, int i)
{
    acui_handles *last = NULL, *next;
    for (acui_handles *h = atomic_load_explicit(&device->vendor.handles[i], memory_order_acquire);
         h; h = next) {
        next = h->next;
        if (are_for_plans(h))
            last = h;
        else
            handles_end(h);
    }
    if (last)
        handles_end(last);
}

static void drop_all(acu_device *device)
{
    for (int i = 0; i < ACU_VENDOR_COUNT; i++)
        drop_those(device, i);
}

void acui_handles_hold(acui_handles *h)
{
    /* Relaxed: the caller has them. */
    atomic_fetch_add_explicit(&h->holders, 1, memory_order_relaxed);
}

void acui_handles_drop(acui_handles *h)
{
    if (h) /* release: what the holder did with them comes before they go */
        atomic_fetch_sub_explicit(&h->holders, 1, memory_order_release);
}

/* What ends plans that were crowded out: with the context entered, and not under a submission. */
static void end_crowded(acui_job *job)
{
    making *m = (making *)job;
    acu_device *device = job->device;
    acui_entered entered;
    acui_enter_to_free(device, &entered);
    handles_end(m->handles);
    acui_leave(&entered);
    acui_free(m);
    acu_device_release(device);
}

/* Takes the one that was not used for the longest time out of a list that is full. list_lock. */
static acui_handles *crowd_out(const acui_library *library, acu_device *device)
{
    acui_handles *oldest = NULL, *before = NULL, *last = NULL;
    int count = 0;
    for (acui_handles *h = first_of(library, device); h; last = h, h = h->next) {
        count++;
        /* Acquire: pairs with the release of the last holder. */
        bool idle = !atomic_load_explicit(&h->holders, memory_order_acquire);
        if (idle && !are_for_plans(h) && (!oldest || h->used < oldest->used)) {
            oldest = h;
            before = last;
        }
    }
    if (count < MOST_KEYS || !oldest)
        return NULL;
    if (before)
        before->next = oldest->next;
    else
        set_first(library, device, oldest->next);
    return oldest;
}

static void enter_list(acui_handles *h)
{
    h->next = first_of(h->library, h->device);
    set_first(h->library, h->device, h);
}

/* Without memory for the job, it goes back into the list. list_lock. */
static void have_ended(acui_handles *h)
{
    making *m = ACUI_NEW(making);
    acu_status st = m ? ACU_OK : ACU_ERR_NO_MEMORY;
    if (m) {
        m->job.run = end_crowded;
        m->job.device = acu_device_retain(h->device);
        m->handles = h;
        st = acui_loader_give(&m->job);
    }
    if (st == ACU_OK)
        return;
    if (m)
        acu_device_release(m->job.device);
    acui_free(m);
    enter_list(h);
}

static acui_handles *handles_new(acui_library *library, acu_device *device, const void *key,
                                 size_t bytes, acui_load_state state)
{
    acui_handles *h = acui_alloc(sizeof *h + bytes);
    if (!h) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to load %s", library->find.words);
        return NULL;
    }
    h->library = library;
    h->device = device;
    h->bytes = bytes;
    if (bytes)
        memcpy(h->key, key, bytes);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->given, NULL);
    atomic_init(&h->state, (int)state);
    return h;
}

/* list_lock is held. */
static acu_status begin(acui_library *library, acu_device *device, const void *key, size_t bytes,
                        acui_handles **begun)
{
    acui_handles *h = handles_new(library, device, key, bytes, ACUI_LOADING);
    if (!h)
        return ACU_ERR_NO_MEMORY;
    h->point = acui_point_new(device);
    acu_status st = h->point ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory to load %s",
                                                  library->find.words);
    if (st == ACU_OK) {
        h->point->load = true;
        st = have_made(h, make_first);
    }
    if (st != ACU_OK)
        handles_free(h);
    else
        *begun = h;
    return st;
}

/* A plan that could not be made does not count: there may be memory for it now. */
static acui_handles *find(acui_handles *list, const void *key, size_t bytes)
{
    while (list && (list->bytes != bytes ||
                    (bytes && (memcmp(list->key, key, bytes) != 0 ||
                               state_of(list) == ACUI_LOAD_FAILED))))
        list = list->next;
    return list;
}

/* list_lock is held. */
static acu_status find_or_begin(acui_library *library, acu_device *device, const void *key,
                                size_t bytes, acui_handles **found)
{
    *found = find(first_of(library, device), key, bytes);
    if (*found)
        return ACU_OK;
    acui_handles *crowded = crowd_out(library, device);
    if (crowded)
        have_ended(crowded);
    device->drop[ACUI_DROP_HANDLES] = drop_all;
    atomic_fetch_or_explicit(&device->vendor.used, 1u << library->id, memory_order_release);
    ACUI_TRY(begin(library, device, key, bytes, found));
    enter_list(*found);
    return ACU_OK;
}

acu_status acui_handles_of(acui_library *library, acu_device *device, const void *key,
                           size_t bytes, acui_handles **handles)
{
    const char *refusal = acui_library_refusal(library, device);
    if (refusal)
        return acui_fail(ACU_ERR_NOT_FOUND, "%s", refusal);
    acui_handles *h = bytes ? NULL : first_of(library, device); /* the only one, and it stays */
    if (!h) {
        pthread_mutex_lock(&list_lock);
        acu_status st = find_or_begin(library, device, key, bytes, &h);
        if (st == ACU_OK) {
            h->used = ++clock_of_uses;
            atomic_fetch_add_explicit(&h->holders, 1, memory_order_relaxed);
            *handles = h;
        }
        pthread_mutex_unlock(&list_lock);
        return st;
    }
    atomic_fetch_add_explicit(&h->holders, 1, memory_order_relaxed);
    *handles = h;
    return ACU_OK;
}

/* ---- waiting for it -------------------------------------------------------------------------- */

acui_handles *acui_handles_peek(const acui_library *library, acu_device *device)
{
    return first_of(library, device);
}

bool acui_handles_ready(const acui_handles *h)
{
    return state_of(h) == ACUI_LOADED;
}

acui_point *acui_handles_behind(const acui_handles *h)
{
    return state_of(h) == ACUI_LOADING ? h->point : NULL;
}

static bool is_over(void *handles)
{
    return state_of(handles) != ACUI_LOADING;
}

void acui_handles_wait(acui_handles *h)
{
    acui_loader_wait_until(is_over, h, ACU_FOREVER);
}

acu_status acui_handles_status(const acui_handles *h)
{
    return state_of(h) == ACUI_LOADED ? ACU_OK : acui_error_restore(&h->fault->error);
}

acu_status acu_vendor_load(acu_device *device, acu_vendor vendor)
{
    acui_handles *h;
    ACUI_CHECK(device, DEVICE);
    ACUI_TRY(acui_refuse_wait(__func__));
    ACUI_TRY(acui_device_check(device));
    acui_library *library = acui_library_of(vendor);
    if (!library)
        return acui_fail(ACU_ERR_INVALID, "acu_vendor_load: %d is no library", (int)vendor);
    const char *refusal = acui_library_refusal(library, device);
    if (refusal)
        return acui_fail(ACU_ERR_NOT_FOUND, "%s", refusal);
    if (library->keyed || !library->make) /* there is nothing that every operation needs */
        return acui_library_open(library);
    ACUI_TRY(acui_handles_of(library, device, NULL, 0, &h));
    acui_handles_wait(h);
    acu_status st = acui_handles_status(h);
    acui_handles_drop(h);
    return st;
}

/* ---- taking turns ---------------------------------------------------------------------------- */

static bool is_for_all(const acui_handles *h)
{
    return h->library->shared && h->bytes > 0;
}

/* By this thread. */
static ACUI_LOCAL struct {
    acui_handles *of; /* NULL: none is */
    void *handle;     /* NULL: it is in use */
} reserved;

void *acui_handles_take(acui_handles *h)
{
    if (is_for_all(h)) /* the state says that it is there, and it stays */
        return h->free[0];
    if (reserved.of == h && reserved.handle) {
        void *kept = reserved.handle;
        reserved.handle = NULL;
        return kept;
    }
    pthread_mutex_lock(&h->lock);
    while (h->free_count == 0) {
        if (!h->growing && h->count < MOST)
            h->growing = have_made(h, make_another) == ACU_OK;
        pthread_cond_wait(&h->given, &h->lock); /* handles in use will be given back */
    }
    void *handle = h->free[--h->free_count];
    pthread_mutex_unlock(&h->lock);
    return handle;
}

void acui_handles_give(acui_handles *h, void *handle)
{
    if (is_for_all(h))
        return;
    if (reserved.of == h && !reserved.handle) {
        reserved.handle = handle;
        return;
    }
    pthread_mutex_lock(&h->lock);
    put(h, handle);
    pthread_mutex_unlock(&h->lock);
}

/* The device's, which stay as long as it. */
static acu_status for_plans(acui_library *library, acu_device *device, acui_handles **from)
{
    pthread_mutex_lock(&list_lock);
    acui_handles *h = find(first_of(library, device), NULL, 0);
    if (!h && (h = handles_new(library, device, NULL, 0, ACUI_LOADED)))
        enter_list(h);
    pthread_mutex_unlock(&list_lock);
    *from = h;
    return h ? ACU_OK : ACU_ERR_NO_MEMORY;
}

static void reserve(acui_handles *h)
{
    acui_handles *from = h;
    if (is_for_all(h)) {
        pthread_mutex_lock(&list_lock);
        from = find(first_of(h->library, h->device), NULL, 0); /* with one of which it was made */
        pthread_mutex_unlock(&list_lock);
    }
    void *handle = acui_handles_take(from);
    reserved.of = from;
    reserved.handle = handle;
}

static void unreserve(void)
{
    acui_handles *h = reserved.of;
    reserved.of = NULL;
    if (h)
        acui_handles_give(h, reserved.handle);
}

void acui_handles_capturing(acui_handles *h, bool begins)
{
    if (!begins)
        unreserve();
    else if (acui_handles_ready(h))
        reserve(h);
}

/* NULL: there is none, and this thread is to make one. */
static void *take_or_make(acui_handles *h)
{
    void *handle = NULL;
    pthread_mutex_lock(&h->lock);
    while (h->free_count == 0 && h->count + h->growing == MOST)
        pthread_cond_wait(&h->given, &h->lock); /* handles in use will be given back */
    if (h->free_count > 0)
        handle = h->free[--h->free_count];
    else
        h->count++;
    pthread_mutex_unlock(&h->lock);
    return handle;
}

acu_status acui_handles_borrow(acui_library *library, acu_device *device, acui_handles **from,
                               void **handle)
{
    ACUI_TRY(for_plans(library, device, from));
    acui_handles *h = *from;
    *handle = take_or_make(h);
    if (*handle)
        return ACU_OK;
    acu_status st = library->make_handle(handle);
    if (st == ACU_OK)
        return st;
    pthread_mutex_lock(&h->lock);
    h->count--;
    pthread_cond_signal(&h->given);
    pthread_mutex_unlock(&h->lock);
    return st;
}
