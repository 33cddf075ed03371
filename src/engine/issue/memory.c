/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of a task: obtained before anything of it goes to the device, all or none; given back, in
 * stream order, as soon as everything that uses it is issued.
 *
 * A task that finds none is put off: it waits in a list, and is tried again when something
 * completes; first come, first served for each pool, so that small requests do not starve large
 * ones. It holds no memory meanwhile, so two such tasks can not wait for one another. It fails once
 * nothing is left on its device whose end could free memory.
 *
 * Two counts tell whether something is left. A task counts as going from when it is issued, or
 * begins on the host, until it is over. And it counts as getting while it may have memory without
 * going yet, because others may have found none for that reason: from before it asks for any until
 * it is going, or has given its memory back and told those that wait. Two more count as getting:
 *   - whoever keeps a part of a task's memory a moment longer: the thread that plans, and the one
 *     that makes graphs;
 *   - a task that is ready after an earlier one of its submission may have got memory, which comes
 *     free only when this one is over. It may have to be admitted first (admit.c), so a task that
 *     is put off leaves its gates to others.
 *
 * A task that was put off asks again under the lock `again`, and counts as getting only once it has
 * everything. Otherwise tasks that ask in vain would keep each other waiting, in turns and for
 * ever. So whatever a task waits for is a task that has everything, and will be over; or one that
 * asks for the first time, which each does once. A request that can never be met is alone under the
 * lock in the end. It fails if, from before nothing was going until after it had asked in vain, no
 * task began and none gave up (`events`).
 */
#include "base/error.h"
#include "engine/completion/flight.h"
#include "memory/pool.h"

static bool any_waits_for(const acu_pool *pool);

/* ---- tasks that are getting some ---- */

static pthread_mutex_t again = PTHREAD_MUTEX_INITIALIZER; /* for those that ask again; under the
                                                           * issue lock, across driver calls */
static _Atomic(uint64_t) given_up; /* how often something that counted as getting gave up */

/* Relaxed: a task that finds no memory because of this one has seen it take some, under the pool's
 * lock. */
static void count_getting(acui_task *task, struct acui_holder *holder)
{
    uint32_t now = atomic_load_explicit(&holder->getting, memory_order_relaxed);
    if (holder->own) /* nobody else changes it */
        atomic_store_explicit(&holder->getting, now + 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&holder->getting, 1, memory_order_relaxed);
    task->memory.holder = holder;
}

/* By the thread that counted. seq_cst, against `waiting`: a task that goes to wait raises `waiting`
 * and then loads the counts; this thread ends its count and then loads `waiting`. Either that task
 * sees that this one no longer counts, and what it counts as now; or this one, or its task when it
 * is over, sees that task wait. */
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
    task->memory.expected = true;
    if (!task->memory.holder)
        task->memory.holder = acui_memory_keep(task->device);
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
    acui_stream_make_owed(task->stream); /* before others can find the new blocks in the cache */
    for (size_t i = 0; i < count; i++) {
        acu_buffer *buffer = wanted_by(task->nodes[i]);
        if (buffer)
            acui_buffer_unreserve(buffer);
    }
}

/* Tasks that were put off before get memory first. The node that has to wait for that; NULL:
 * none. */
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
    task->memory.supplied = true;
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
    if (task->body_count == task->count || task->memory.supplied)
        return NULL; /* it allocates nothing, or has got it */
    if (task->memory.put_off)
        return get_again(task, holder);
    acui_node *behind = behind_others(task);
    if (behind)
        return behind;
    if (!task->memory.holder) /* else it was expected, or asked with others to go as one */
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
static acui_task *first, **last = &first;                /* those that wait: next_ready, in order */
/* How many. seq_cst, against device->ended: a task that finds nothing going after it has put itself
 * off goes on; else what was going sees it wait when that is over. */
static _Atomic(uint32_t) waiting;

/* In submission->getting: its planning thread, which has the memory of its tasks too, is not done
 * yet. A task that goes replaces this by a holder in which it counted (hand_over, order lock held),
 * and the planning thread ends that count when it is done. */
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
            end_getting(kept); /* planning is done: nobody ends it */
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
    task->memory.going = true;
    acui_count_started(task->device, ACUI_GOING);
    struct acui_holder *holder = task->memory.holder;
    task->memory.holder = NULL;
    if (holder && task->memory.supplied)
        hand_over(task, holder);
    else if (holder)
        end_getting(holder);
}

acui_task *acui_memory_over(struct acui_holder *holder)
{
    /* A task that asks for the last time meanwhile asks again: see `events`. */
    atomic_fetch_add_explicit(&given_up, 1, memory_order_seq_cst);
    end_getting(holder);
    return acui_memory_freed();
}

acui_task *acui_memory_quit(acui_task *task)
{
    struct acui_holder *holder = task->memory.holder;
    if (!holder)
        return NULL;
    if (task->memory.supplied) { /* it is going until it is over: only then is its memory free */
        acui_order_lock();
        acui_memory_going(task);
        acui_order_unlock();
        return NULL;
    }
    task->memory.holder = NULL;
    return acui_memory_over(holder);
}

acui_task *acui_memory_fail(acui_task *task)
{
    if (task->memory.supplied || !task->memory.expected)
        return acui_memory_quit(task);
    acui_memory_expect(task); /* again, if it was put off */
    return NULL;
}

acui_task *acui_memory_let_go(acu_device *device, struct acui_holder *holder)
{
    end_getting(holder);
    /* What is going is over later, and then sees the tasks that wait. */
    return !acui_memory_is_short() || acui_work_on(device) >= ACUI_GOING ? NULL
                                                                         : acui_memory_freed();
}

/* Look first for what is getting: it becomes going. */
static bool is_any_going(acu_device *device)
{
    return is_any_getting(device) || acui_work_on(device) >= ACUI_GOING;
}

/* A number that has changed if somebody, who may have had memory meanwhile, began or gave up. */
static uint64_t events(acu_device *device)
{
    return atomic_load_explicit(&device->started, memory_order_seq_cst) +
           atomic_load_explicit(&given_up, memory_order_seq_cst);
}

static bool is_first_of_pool(const acui_task *list, const acui_task *task)
{
    for (; list; list = list->next_ready)
        if (list->memory.short_of == task->memory.short_of)
            return false;
    return true;
}

/* Take the first task for each pool off the list, of `device` (NULL: any) and `pool` (NULL:
 * all). */
static acui_task *take_first(const acu_device *device, const acu_pool *pool)
{
    acui_task *out = NULL;
    pthread_mutex_lock(&lock);
    acui_task **link = &first;
    while (*link) {
        acui_task *task = *link;
        if ((device && task->device != device) || (pool && task->memory.short_of != pool) ||
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
        found = task->memory.short_of == pool;
    pthread_mutex_unlock(&lock);
    return found;
}

static void put_in_list(acui_task *task)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add_explicit(&waiting, 1, memory_order_seq_cst);
    if (task->memory.put_off) { /* it was the first before, and is so again */
        task->next_ready = first;
        if (!first)
            last = &task->next_ready;
        first = task;
    } else {
        task->next_ready = NULL;
        *last = task;
        last = &task->next_ready;
        task->memory.put_off = true;
    }
    pthread_mutex_unlock(&lock);
}

/* If nothing is going whose end could free memory, the first in line tries for the last time. */
static acui_task *try_last(acu_device *device, const acu_pool *pool)
{
    uint64_t now = events(device);
    if (is_any_going(device))
        return NULL;
    acui_task *list = take_first(device, pool);
    for (acui_task *task = list; task; task = task->next_ready) {
        task->memory.last_try = true;
        task->memory.tried_at = now;
    }
    return list;
}

acui_task *acui_memory_wait(acui_task *task, const acui_node *node)
{
    acu_device *device = acu_device_retain(task->device);
    acu_pool *pool = acu_pool_retain(acui_buffer_pool(node->u.alloc.buffer));
    acui_task *list = NULL;
    if (!task->memory.put_off)
        acui_pool_count_put_off(pool);
    else if (task->memory.short_of != pool) /* it was the first there, and leaves others behind */
        list = take_first(device, task->memory.short_of);
    task->memory.short_of = pool;
    task->sound = false; /* it is to be asked again after the wait */
    put_in_list(task);   /* another thread may have it from here on */
    acui_flight_full();
    list = acui_join_tasks(list, try_last(device, pool));
    acu_pool_release(pool);
    acu_device_release(device);
    return list;
}

bool acui_memory_may_wait(acui_task *task, const acui_node *node)
{
    const acu_buffer *buffer = node->u.alloc.buffer;
    acu_pool *pool = acui_buffer_pool(buffer);
    /* While it tried, a task that came later may have got what there was. */
    if (is_any_going(task->device) || events(task->device) != task->memory.tried_at)
        task->memory.last_try = false;
    acu_status status = acui_error()->status;
    if (status == ACU_ERR_DEVICE_MEMORY && !task->memory.last_try &&
        !acui_pool_never(pool, buffer->bytes))
        return true;
    if (status == ACU_ERR_DEVICE_MEMORY || status == ACU_ERR_NO_MEMORY)
        acui_pool_count_failed(pool);
    return false;
}

acui_task *acui_memory_next(acui_task *task)
{
    const acu_pool *pool = task->memory.short_of;
    bool others = task->memory.put_off && any_waits_for(pool);
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
