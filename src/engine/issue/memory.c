/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of a task: had before anything of it goes to the device, all or none, and given back in
 * stream order as soon as all is issued that uses it.
 *
 * A task that finds none is put off, in a list for each pool, and tried again when something
 * completes; first come, first served, so that large requests are not starved by small ones. It
 * fails once nothing is going on its device whose end could free memory. It holds no memory
 * meanwhile: two such tasks can not wait for one another.
 *
 * Who has memory and is still on his way to the device does not count as going yet, but others may
 * have found none because of him. So he counts as getting, from before he asks for any until he
 * counts as going, or has given it back, and then says so to those who wait. The same holds for
 * who keeps a part of it for a moment longer: the thread that plans, and who makes graphs; and for
 * a task that has become ready, as an earlier one of its submission may have got memory that is
 * free once this one is over: it counts until it is going, or over. It may have to wait to be
 * admitted first; so who is put off is in nobody's place.
 *
 * Who was put off and asks again does so under a lock, and counts as getting only once he has all:
 * so of those who ask in vain none is kept waiting by another, in turns and for ever. What remains
 * to be waited for is who has all, and will be over; and who asks for the first time, which each
 * does once. So a request that can never be met is alone with the lock at last, and fails, if
 * nobody began or gave up anything from before nothing was going until after it failed.
 */
#include "base/error.h"
#include "engine/completion/flight.h"
#include "memory/pool.h"

static bool any_waits_for(const acu_pool *pool);

/* ---- who is getting some ---- */

static pthread_mutex_t again = PTHREAD_MUTEX_INITIALIZER; /* who was put off asks; across driver
                                                           * calls, under the issue lock */
static _Atomic(uint64_t) given_up; /* how often somebody who counted as getting did */

/* Relaxed: who finds no memory because of this one has seen him take it, under the pool's lock. */
static void count_getting(acui_task *task, struct acui_holder *holder)
{
    uint32_t now = atomic_load_explicit(&holder->getting, memory_order_relaxed);
    if (holder->own) /* nobody else changes it */
        atomic_store_explicit(&holder->getting, now + 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&holder->getting, 1, memory_order_relaxed);
    task->getting = holder;
}

/* By the same thread. seq_cst, with `waiting`: either who goes to wait sees that it does not count
 * any more, and what it counts as now, or this one, and its task when it is over, sees him wait. */
static void end_getting(struct acui_holder *holder)
{
    atomic_fetch_sub_explicit(&holder->getting, 1, memory_order_seq_cst);
}

struct acui_holder *acui_memory_keep(acu_device *device)
{
    struct acui_holder *holder = &device->holders[ACUI_HOLDERS - 1]; /* not of one thread */
    atomic_fetch_add_explicit(&holder->getting, 1, memory_order_relaxed);
    return holder;
}

static bool is_any_getting(acu_device *device)
{
    bool any = false;
    for (size_t i = 0; i < ACUI_HOLDERS && !any; i++)
        any = atomic_load_explicit(&device->holders[i].getting, memory_order_seq_cst) > 0;
    return any;
}

void acui_memory_expect(acui_task *task)
{
    task->expected = true;
    if (!task->getting)
        task->getting = acui_memory_keep(task->device);
}

/* ---- getting ---- */

static acu_buffer *wanted_by(const acui_node *node)
{
    if (node->kind != ACUI_NODE_ALLOC)
        return NULL;
    acu_buffer *buffer = node->u.alloc.buffer;
    /* An alternative needs it only if what it stands in for got none. */
    return atomic_load_explicit(&buffer->address, memory_order_acquire) ? NULL : buffer;
}

static void give_back(acui_task *task, size_t count)
{
    acui_stream_make_owed(task->stream); /* before others find new blocks in the cache */
    for (size_t i = 0; i < count; i++) {
        acu_buffer *buffer = wanted_by(task->nodes[i]);
        if (buffer)
            acui_buffer_unreserve(buffer);
    }
}

/* Who came before and was put off gets memory first. */
static acui_node *behind_others(acui_task *task)
{
    if (!acui_memory_is_short())
        return NULL;
    for (size_t i = 0; i < task->count; i++) {
        acu_buffer *buffer = wanted_by(task->nodes[i]);
        if (buffer && any_waits_for(acui_buffer_pool(buffer)) &&
            !acui_pool_never(acui_buffer_pool(buffer), buffer->bytes)) { /* else it fails anyway */
            acui_fail(ACU_ERR_DEVICE_MEMORY, "others wait for memory of the pool");
            return task->nodes[i];
        }
    }
    return NULL;
}

static acui_node *get_all(acui_task *task)
{
    for (size_t i = 0; i < task->count; i++) {
        acu_buffer *buffer = wanted_by(task->nodes[i]);
        if (!buffer || acui_buffer_reserve(buffer, task->stream) == ACU_OK)
            continue;
        acu_error record = *acui_error();
        give_back(task, i);
        acui_error_restore(&record);
        return task->nodes[i];
    }
    for (size_t i = 0; i < task->count; i++) {
        acu_buffer *buffer = wanted_by(task->nodes[i]);
        if (buffer)
            acui_buffer_commit(buffer);
    }
    task->supplied = true;
    return NULL;
}

static acui_node *get_again(acui_task *task, struct acui_holder *holder)
{
    pthread_mutex_lock(&again);
    acui_node *lacking = get_all(task);
    if (!lacking)
        count_getting(task, holder);
    pthread_mutex_unlock(&again);
    return lacking;
}

acui_node *acui_memory_get(acui_task *task, struct acui_holder *holder)
{
    if (task->body_count == task->count || task->supplied)
        return NULL; /* it allocates nothing, or has it */
    if (task->put_off)
        return get_again(task, holder);
    acui_node *behind = behind_others(task);
    if (behind)
        return behind;
    if (!task->getting) /* it may have asked with others that were to go as one */
        count_getting(task, holder);
    return get_all(task);
}

/* ---- giving back ---- */

static bool is_pending(const acu_buffer *buffer)
{
    const acui_accesses *accesses = &buffer->accesses;
    for (size_t i = 0; i < accesses->count; i++)
        if (accesses->list[i].point->state == ACUI_POINT_PENDING)
            return true;
    return false;
}

acui_use *acui_memory_issued(acui_task *task)
{
    acui_submission *s = task->submission;
    if (--s->to_issue > 0 || !s->sealed)
        return NULL;
    acui_use *done = NULL;
    for (acui_use *use = s->plan.uses; use; use = use->next) {
        const acu_buffer *buffer = use->buffer;
        if (!buffer || !buffer->block || use->returned || (s->hosts && is_pending(buffer)))
            continue;
        use->returned = true;
        use->next_returned = done;
        done = use;
    }
    return done;
}

void acui_memory_return(acui_use *uses)
{
    while (uses) {
        acui_use *use = uses;
        acu_buffer *buffer = use->buffer;
        uses = use->next_returned;
        use->buffer = NULL;
        acu_buffer_release(buffer);
    }
}

/* ---- waiting for it ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list; a leaf */
static acui_task *first, **last = &first;                /* by next_ready; in order */
/* How many. seq_cst, with device->ended: who finds nothing going after having put itself off goes
 * on, or is seen by who was going. */
static _Atomic(uint32_t) waiting;

/* The thread that plans the submission has the memory, too, until it is done: it ends what it is
 * told of. The order lock is held by who tells. */
static struct acui_holder planning;

void acui_memory_plan(acui_submission *submission)
{
    atomic_store_explicit(&submission->getting, &planning, memory_order_relaxed);
}

static void hand_over(acui_task *task, struct acui_holder *holder)
{
    acui_submission *s = task->submission;
    struct acui_holder *seen = &planning;
    if (atomic_load_explicit(&s->getting, memory_order_relaxed) == seen) {
        s->getting_on = task->device;
        if (acui_is_planning(s)) {
            atomic_store_explicit(&s->getting, holder, memory_order_relaxed);
            return;
        }
        struct acui_holder *kept = acui_memory_keep(task->device);
        if (!atomic_compare_exchange_strong_explicit(&s->getting, &seen, kept, memory_order_release,
                                                     memory_order_relaxed))
            end_getting(kept); /* it is done */
    }
    end_getting(holder);
}

struct acui_holder *acui_memory_planned(acui_submission *submission)
{
    struct acui_holder *kept = atomic_load_explicit(&submission->getting, memory_order_acquire);
    if (kept == &planning)
        kept = atomic_exchange_explicit(&submission->getting, NULL, memory_order_acquire);
    return kept == &planning ? NULL : kept;
}

void acui_memory_going(acui_task *task)
{
    task->going = true;
    acui_count_started(task->device, ACUI_GOING);
    struct acui_holder *holder = task->getting;
    task->getting = NULL;
    if (holder && task->supplied)
        hand_over(task, holder);
    else if (holder)
        end_getting(holder);
}

acui_task *acui_memory_over(struct acui_holder *holder)
{
    /* Who asks for the last time meanwhile asks again. */
    atomic_fetch_add_explicit(&given_up, 1, memory_order_seq_cst);
    end_getting(holder);
    return acui_memory_freed();
}

acui_task *acui_memory_quit(acui_task *task)
{
    struct acui_holder *holder = task->getting;
    if (!holder)
        return NULL;
    if (task->supplied) { /* it counts until it is over: then its memory is free */
        acui_order_lock();
        acui_memory_going(task);
        acui_order_unlock();
        return NULL;
    }
    task->getting = NULL;
    return acui_memory_over(holder);
}

acui_task *acui_memory_fail(acui_task *task)
{
    if (task->supplied || !task->expected)
        return acui_memory_quit(task);
    acui_memory_expect(task); /* again, if it was put off */
    return NULL;
}

acui_task *acui_memory_let_go(acu_device *device, struct acui_holder *holder)
{
    end_getting(holder);
    /* Who is going is over later, and sees who waits. */
    return !acui_memory_is_short() || acui_work_on(device) >= ACUI_GOING ? NULL
                                                                         : acui_memory_freed();
}

/* First who is getting: from there one becomes going. */
static bool is_any_going(acu_device *device)
{
    return is_any_getting(device) || acui_work_on(device) >= ACUI_GOING;
}

/* Another number if somebody, who may have had memory meanwhile, began or gave up. */
static uint64_t events(acu_device *device)
{
    return atomic_load_explicit(&device->started, memory_order_seq_cst) +
           atomic_load_explicit(&given_up, memory_order_seq_cst);
}

static bool is_first_of_pool(const acui_task *list, const acui_task *task)
{
    for (; list; list = list->next_ready)
        if (list->short_of == task->short_of)
            return false;
    return true;
}

/* The first for each pool, of `device` (NULL: any) and `pool` (NULL: all), as a list. */
static acui_task *take_first(const acu_device *device, const acu_pool *pool)
{
    acui_task *out = NULL;
    pthread_mutex_lock(&lock);
    acui_task **link = &first;
    while (*link) {
        acui_task *task = *link;
        if ((device && task->device != device) || (pool && task->short_of != pool) ||
            !is_first_of_pool(out, task)) {
            link = &task->next_ready;
            continue;
        }
        *link = task->next_ready;
        if (!*link)
            last = link;
        atomic_fetch_sub_explicit(&waiting, 1, memory_order_seq_cst);
        task->next_ready = out;
        out = task;
    }
    pthread_mutex_unlock(&lock);
    return out;
}

static bool any_waits_for(const acu_pool *pool)
{
    if (atomic_load_explicit(&waiting, memory_order_seq_cst) == 0)
        return false;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const acui_task *task = first; task && !found; task = task->next_ready)
        found = task->short_of == pool;
    pthread_mutex_unlock(&lock);
    return found;
}

static void put_in_list(acui_task *task)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add_explicit(&waiting, 1, memory_order_seq_cst);
    if (task->put_off) { /* it was first before */
        task->next_ready = first;
        if (!first)
            last = &task->next_ready;
        first = task;
    } else {
        task->next_ready = NULL;
        *last = task;
        last = &task->next_ready;
        task->put_off = true;
    }
    pthread_mutex_unlock(&lock);
}

/* Nothing is going whose end could free memory: for the first in line it is the last try. */
static acui_task *try_last(acu_device *device, const acu_pool *pool)
{
    uint64_t now = events(device);
    if (is_any_going(device))
        return NULL;
    acui_task *list = take_first(device, pool);
    for (acui_task *task = list; task; task = task->next_ready) {
        task->last_try = true;
        task->tried_at = now;
    }
    return list;
}

acui_task *acui_memory_wait(acui_task *task)
{
    acu_device *device = acu_device_retain(task->device);
    acu_pool *pool = acu_pool_retain(task->short_of);
    if (!task->put_off)
        acui_pool_count_put_off(pool);
    task->sound = false; /* to be asked again after the wait */
    put_in_list(task);   /* may be anybody's from here on */
    acui_flight_full();
    acui_task *list = try_last(device, pool);
    acu_pool_release(pool);
    acu_device_release(device);
    return list;
}

bool acui_memory_may_wait(acui_task *task, const acui_node *node)
{
    acu_buffer *buffer = node->u.alloc.buffer;
    task->short_of = acui_buffer_pool(buffer);
    /* While it tried, somebody who came later may have got what there was. */
    if (is_any_going(task->device) || events(task->device) != task->tried_at)
        task->last_try = false;
    acu_status status = acui_error()->status;
    if (status == ACU_ERR_DEVICE_MEMORY && !task->last_try &&
        !acui_pool_never(task->short_of, buffer->bytes))
        return true;
    if (status == ACU_ERR_DEVICE_MEMORY || status == ACU_ERR_NO_MEMORY)
        acui_pool_count_failed(task->short_of);
    return false;
}

acui_task *acui_memory_next(acui_task *task)
{
    const acu_pool *pool = task->short_of;
    bool others = task->put_off && any_waits_for(pool);
    return others ? take_first(task->device, pool) : NULL;
}

acui_task *acui_memory_freed(void)
{
    if (atomic_load_explicit(&waiting, memory_order_seq_cst) == 0)
        return NULL;
    return take_first(NULL, NULL);
}

bool acui_memory_is_short(void)
{
    return atomic_load_explicit(&waiting, memory_order_seq_cst) > 0;
}
