/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Getting a task its memory, and giving it back; and the list of tasks that wait for memory. See
 * memory.h for what counts as what, and for a task's states. */
#include "base/error.h"
#include "engine/flight/flight.h"
#include "engine/issue/issue.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"
#include "memory/access.h"
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
    if (task->memory.holder || task->memory.state == ACUI_MEMORY_GOING)
        return; /* it counts already */
    task->memory.holder = acui_memory_keep(task->device);
    task->memory.state = ACUI_MEMORY_GETTING;
}

/* ---- getting ---- */

static acu_buffer *wanted_by(const acui_node *node)
{
    if (node->kind != ACUI_NODE_ALLOC || node->u.alloc.passed_on)
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
            !acui_pool_never(acui_buffer_pool(buffer), task->nodes[i]->u.alloc.bytes)) {
            /* else it fails anyway */
            acui_fail(ACU_ERR_DEVICE_MEMORY, "others wait for memory of the pool");
            return task->nodes[i];
        }
    }
    return NULL;
}

/* The reserved memory is the buffer's, and of those that have it before. */
static void commit(acui_node *node)
{
    acu_buffer *buffer = node->u.alloc.buffer;
    acui_buffer_commit(buffer);
    while ((node = node->u.alloc.from))
        acui_buffer_commit_before(node->u.alloc.buffer, buffer);
}

static acui_node *get_all(acui_task *task)
{
    for (size_t i = 0; i < task->count; i++) {
        acui_node *node = task->nodes[i];
        acu_buffer *buffer = wanted_by(node);
        if (!buffer || acui_buffer_reserve(buffer, node->u.alloc.bytes, task->stream) == ACU_OK)
            continue;
        acu_error record = *acui_error();
        give_back(task, i);
        acui_error_restore(&record);
        return node;
    }
    for (size_t i = 0; i < task->count; i++)
        if (wanted_by(task->nodes[i]))
            commit(task->nodes[i]);
    task->memory.state = ACUI_MEMORY_SUPPLIED;
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
    uint8_t state = task->memory.state;
    if (task->body_count == task->count || state == ACUI_MEMORY_SUPPLIED)
        return NULL; /* it allocates nothing, or has got it */
    if (state == ACUI_MEMORY_PUT_OFF || state == ACUI_MEMORY_LAST)
        return get_again(task, holder);
    acui_node *behind = behind_others(task);
    if (behind)
        return behind;
    if (state == ACUI_MEMORY_NONE) /* else it was expected, or asked with others to go as one */
        count_getting(task, holder);
    task->memory.state = ACUI_MEMORY_GETTING;
    return get_all(task);
}

/* ---- what becomes of a task ---- */

void acui_memory_going(acui_task *task)
{
    struct acui_holder *holder = task->memory.holder;
    bool supplied = task->memory.state == ACUI_MEMORY_SUPPLIED;
    task->memory.state = ACUI_MEMORY_GOING;
    task->memory.holder = NULL;
    acui_count_started(task->device, ACUI_GOING);
    if (supplied)
        acui_memory_hand_over(task, holder);
    else if (holder)
        acui_memory_end_getting(holder);
}

acui_task *acui_memory_over(struct acui_holder *holder)
{
    /* A task that asks for the last time meanwhile asks again: see `events`. */
    atomic_fetch_add_explicit(&given_up, 1, memory_order_seq_cst);
    acui_memory_end_getting(holder);
    return acui_memory_freed();
}

acui_task *acui_memory_quit(acui_task *task)
{
    struct acui_holder *holder = task->memory.holder;
    if (!holder)
        return NULL;
    if (task->memory.state == ACUI_MEMORY_SUPPLIED) { /* its memory is free when it is over */
        acui_order_lock(task->homes);
        acui_memory_going(task);
        acui_order_unlock(task->homes);
        return NULL;
    }
    task->memory.holder = NULL;
    task->memory.state = ACUI_MEMORY_NONE;
    return acui_memory_over(holder);
}

acui_task *acui_memory_fail(acui_task *task)
{
    if (task->memory.state == ACUI_MEMORY_SUPPLIED || !task->memory.expected)
        return acui_memory_quit(task);
    acui_memory_expect(task); /* again, if it was put off */
    return NULL;
}

/* ---- giving back ---- */

/* Whether work on the buffer is still to be issued; or it may be, as somebody on another device has
 * it too. */
static bool is_pending(const acu_buffer *buffer)
{
    const acui_accesses *accesses = &buffer->accesses;
    if (!acui_order_holds(atomic_load_explicit(&accesses->homes, memory_order_relaxed)))
        return true;
    for (size_t i = 0; i < accesses->count; i++)
        if (accesses->list[i].point->state == ACUI_POINT_PENDING)
            return true;
    return false;
}

acui_use *acui_memory_issued(acui_task *task)
{
    acui_submission *s = task->submission;
    if (--s->order.to_issue > 0 || !s->order.sealed)
        return NULL;
    acui_use *done = NULL;
    for (acui_use *use = s->plan.uses; use; use = use->next) {
        const acu_buffer *buffer = use->buffer;
        if (!buffer || !(buffer->block || buffer->passed_on) || use->returned ||
            (s->order.hosts && is_pending(buffer)))
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
static acui_task *first, **last = &first; /* those that wait: next_listed, in order */
/* acui_flight_short is how many. seq_cst, against work.ended: a task that finds nothing going after
 * it has put itself off goes on; else what was going sees it wait when that is over. */

/* Look first for what is getting: it becomes going. */
static bool is_any_going(acu_device *device)
{
    return is_any_getting(device) || acui_work_on(device) >= ACUI_GOING;
}

/* A number that has changed if somebody, who may have had memory meanwhile, began or gave up. */
static uint64_t events(acu_device *device)
{
    return atomic_load_explicit(&device->work.started, memory_order_seq_cst) +
           atomic_load_explicit(&given_up, memory_order_seq_cst);
}

static bool is_first_of_pool(const acui_task *list, const acui_task *task)
{
    for (; list; list = list->next_listed)
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
            link = &task->next_listed;
            continue;
        }
        *link = task->next_listed;
        if (!*link)
            last = link;
        atomic_fetch_sub_explicit(&acui_flight_short, 1, memory_order_seq_cst);
        task->next_listed = out;
        out = task;
    }
    pthread_mutex_unlock(&lock);
    return out;
}

static bool any_waits_for(const acu_pool *pool)
{
    if (atomic_load_explicit(&acui_flight_short, memory_order_seq_cst) == 0)
        return false;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const acui_task *task = first; task && !found; task = task->next_listed)
        found = task->memory.short_of == pool;
    pthread_mutex_unlock(&lock);
    return found;
}

/* `returns`: it was the first in this line before, and is so again. */
static void put_in_list(acui_task *task, bool returns)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add_explicit(&acui_flight_short, 1, memory_order_seq_cst);
    if (returns) {
        task->next_listed = first;
        if (!first)
            last = &task->next_listed;
        first = task;
    } else {
        task->next_listed = NULL;
        *last = task;
        last = &task->next_listed;
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
    for (acui_task *task = list; task; task = task->next_listed) {
        task->memory.state = ACUI_MEMORY_LAST;
        task->memory.tried_at = now;
    }
    return list;
}

acui_task *acui_memory_wait(acui_task *task, const acui_node *node)
{
    acu_device *device = acu_device_retain(task->device);
    acu_pool *pool = acu_pool_retain(acui_buffer_pool(node->u.alloc.buffer));
    bool waited = task->memory.state == ACUI_MEMORY_PUT_OFF;
    bool returns = waited && task->memory.short_of == pool;
    acui_task *list = NULL;
    if (!waited)
        acui_pool_count_put_off(pool);
    else if (!returns) /* it was the first there, and leaves others behind */
        list = take_first(device, task->memory.short_of);
    task->memory.short_of = pool;
    task->memory.state = ACUI_MEMORY_PUT_OFF;
    task->sound = false;      /* it is to be asked again after the wait */
    put_in_list(task, returns); /* another thread may have it from here on */
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
    if (task->memory.state == ACUI_MEMORY_LAST &&
        (is_any_going(task->device) || events(task->device) != task->memory.tried_at))
        task->memory.state = ACUI_MEMORY_PUT_OFF;
    acu_status status = acui_error()->status;
    if (status == ACU_ERR_DEVICE_MEMORY && task->memory.state != ACUI_MEMORY_LAST &&
        !acui_pool_never(pool, node->u.alloc.bytes))
        return true;
    if (status == ACU_ERR_DEVICE_MEMORY || status == ACU_ERR_NO_MEMORY)
        acui_pool_count_failed(pool);
    return false;
}

acui_task *acui_memory_next(acui_task *task)
{
    const acu_pool *pool = task->memory.short_of;
    return pool && any_waits_for(pool) ? take_first(task->device, pool) : NULL;
}

acui_task *acui_memory_freed(void)
{
    if (atomic_load_explicit(&acui_flight_short, memory_order_seq_cst) == 0)
        return NULL;
    return take_first(NULL, NULL);
}
