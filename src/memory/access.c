/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Points, and the lists of accesses from which the order of work follows. */
#include "memory/access.h"

#include "base/alloc.h"

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

void acui_order_lock(void)
{
    pthread_mutex_lock(&order);
}

void acui_order_unlock(void)
{
    pthread_mutex_unlock(&order);
}

/* ---- faults ---- */

acui_fault *acui_fault_new(const acu_error *error)
{
    acui_fault *fault = ACUI_NEW(acui_fault);
    if (fault) {
        atomic_store_explicit(&fault->refs, 1, memory_order_relaxed);
        fault->error = *error;
    }
    return fault;
}

acui_fault *acui_fault_retain(acui_fault *fault)
{
    if (fault)
        atomic_fetch_add_explicit(&fault->refs, 1, memory_order_relaxed);
    return fault;
}

void acui_fault_release(acui_fault *fault)
{
    /* acq_rel: the one who frees comes after all who read. */
    if (fault && atomic_fetch_sub_explicit(&fault->refs, 1, memory_order_acq_rel) == 1)
        acui_free(fault);
}

/* ---- points ---- */

acui_point *acui_point_new(void)
{
    acui_point *point = ACUI_NEW(acui_point);
    if (point)
        atomic_store_explicit(&point->refs, 1, memory_order_relaxed);
    return point;
}

acui_point *acui_point_retain(acui_point *point)
{
    atomic_fetch_add_explicit(&point->refs, 1, memory_order_relaxed);
    return point;
}

void acui_point_release(acui_point *point)
{
    if (!point || atomic_fetch_sub_explicit(&point->refs, 1, memory_order_acq_rel) != 1)
        return;
    acu_stream_release(point->stream); /* gone before, but for points that were never completed */
    acui_fault_release(point->fault);
    acui_free(point);
}

/* ---- accesses ---- */

static acui_access *entries(acui_accesses *accesses)
{
    return accesses->list ? accesses->list : accesses->few;
}

static size_t room(const acui_accesses *accesses)
{
    return accesses->list ? accesses->room : sizeof accesses->few / sizeof accesses->few[0];
}

/* Nothing has to come after it any more. What failed while writing stays, as a warning to readers. */
static bool forgettable(const acui_access *entry)
{
    const acui_point *point = entry->point;
    return point->state == ACUI_POINT_OVER && !(point->failed && entry->write);
}

static void prune(acui_accesses *accesses)
{
    acui_access *list = entries(accesses);
    size_t kept = 0;
    for (size_t i = 0; i < accesses->count; i++)
        if (forgettable(&list[i]))
            acui_point_release(list[i].point);
        else
            list[kept++] = list[i];
    accesses->count = kept;
}

bool acui_accesses_reserve(acui_accesses *accesses, size_t more)
{
    if (accesses->count + more <= room(accesses))
        return true;
    prune(accesses);
    size_t needed = accesses->count + more;
    if (needed <= room(accesses))
        return true;
    size_t grown = 2 * needed;
    acui_access *list = ACUI_NEW_ARRAY(acui_access, grown);
    if (!list)
        return false;
    for (size_t i = 0; i < accesses->count; i++)
        list[i] = entries(accesses)[i];
    acui_free(accesses->list);
    accesses->list = list;
    accesses->room = grown;
    return true;
}

static bool overlaps(const acui_access *entry, uint64_t begin, uint64_t end)
{
    return entry->begin < end && begin < entry->end;
}

static bool covers(uint64_t begin, uint64_t end, const acui_access *entry)
{
    return begin <= entry->begin && entry->end <= end;
}

/* What the new access means for an older one that it overlaps: report it, and whether to keep it. */
static bool meet(const acui_access *entry, const acui_access *fresh, acu_access access,
                 acui_behind_fn behind, void *context)
{
    bool reads = (access & ACU_READ) != 0;
    if (entry->point != fresh->point) {
        if (entry->write)
            behind(context, entry->point, reads);
        else if (fresh->write)
            behind(context, entry->point, false);
    }
    return !(fresh->write && covers(fresh->begin, fresh->end, entry));
}

void acui_accesses_enter(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                         uint64_t begin, uint64_t end, acu_access access, acui_behind_fn behind,
                         void *context)
{
    (void)buffer_bytes;
    acui_access fresh = {
        .point = point, .begin = begin, .end = end, .write = (access & ACU_WRITE) != 0};
    acui_access *list = entries(accesses);
    size_t kept = 0;
    bool implied = false; /* by an entry of the same point */
    for (size_t i = 0; i < accesses->count; i++) {
        acui_access entry = list[i];
        bool keep = !forgettable(&entry);
        if (keep && overlaps(&entry, begin, end))
            keep = meet(&entry, &fresh, access, behind, context);
        if (!keep) {
            acui_point_release(entry.point);
            continue;
        }
        implied |= entry.point == point && (entry.write || !fresh.write) && entry.begin <= begin &&
                   end <= entry.end;
        list[kept++] = entry;
    }
    accesses->count = kept;
    if (implied)
        return;
    acui_point_retain(point);
    list[accesses->count++] = fresh;
}

void acui_accesses_clear(acui_accesses *accesses)
{
    for (size_t i = 0; i < accesses->count; i++)
        acui_point_release(entries(accesses)[i].point);
    acui_free(accesses->list);
    *accesses = (acui_accesses){0};
}
