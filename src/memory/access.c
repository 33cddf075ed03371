/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of who reads and writes a buffer. All of it is under the order lock. */
#include "base/alloc.h"
#include "memory/access.h"

#include <string.h>

/* Whether the entry has no consequences any more. A complete point need not be marked OVER yet; one
 * that failed on the way to the device says so in `failed` while it is still ISSUED. */
static bool forgettable(const acui_access *access)
{
    const acui_point *point = access->point;
    bool over = point->state == ACUI_POINT_OVER ||
                (point->state == ACUI_POINT_ISSUED &&
                 acui_stream_passed(point->stream, point->number));
    return over && !(access->write && point->failed);
}

#define NEWEST 16 /* reads with which a read is compared */

/* ---- entries hold their point: one reference for all of a point's, counted under the lock ---- */

static acui_point *hold(acui_point *point)
{
    if (point->entries++ > 0)
        return point;
    /* Nobody knows a task's point before its first access is entered, so its count needs no atomic
     * addition. The point of growing memory is known to whoever gets some of that memory, too. */
    if (!point->growth && atomic_load_explicit(&point->refs, memory_order_relaxed) == 1)
        acui_refs_add_sole(&point->refs, 1);
    else
        acui_point_retain(point);
    return point;
}

static void let_go(acui_point *point)
{
    if (--point->entries == 0)
        acui_point_release(point);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Of the entries behind it, only the last write and the last entry may move. */
static void remove_entry(acui_accesses *accesses, size_t i)
{
    let_go(accesses->list[i].point);
    if (i < accesses->writes) {
        accesses->list[i] = accesses->list[--accesses->writes];
        i = accesses->writes;
    }
    if (i < --accesses->count)
        accesses->list[i] = accesses->list[accesses->count];
}

/* Whether the later of two reads on one stream stands for the earlier one. */
static bool stands_for(const acui_access *later, const acui_access *earlier)
{
    const acui_point *a = later->point, *b = earlier->point;
    return !later->write && !earlier->write && a->state == ACUI_POINT_ISSUED &&
           b->state == ACUI_POINT_ISSUED && a->stream == b->stream && a->number >= b->number &&
           acui_extent_covers(&later->extent, &earlier->extent);
}

/* Only the newest reads are compared: trying all would take too long if there are many, and if a
 * stream has several, they are likely among the newest. */
static bool is_redundant(const acui_accesses *accesses, size_t i)
{
    if (forgettable(&accesses->list[i]))
        return true;
    if (i < accesses->writes || accesses->list[i].point->state != ACUI_POINT_ISSUED)
        return false;
    size_t end = accesses->count, newest = end - accesses->writes < NEWEST ? accesses->writes
                                                                            : end - NEWEST;
    for (size_t k = end; k-- > newest;)
        if (k != i && stands_for(&accesses->list[k], &accesses->list[i]))
            return true;
    return false;
}

static void compact(acui_accesses *accesses)
{
    for (size_t i = accesses->count; i-- > 0;)
        if (is_redundant(accesses, i))
            remove_entry(accesses, i);
}

static bool grow(acui_accesses *accesses, size_t need)
{
    if (need <= accesses->room)
        return true;
    size_t room = need > 2 * accesses->room ? need : 2 * accesses->room;
    bool few = accesses->list == accesses->few;
    acui_access *list = acui_grow(few ? NULL : accesses->list, accesses->room * sizeof *list,
                                  room * sizeof *list);
    if (!list)
        return false;
    if (few)
        memcpy(list, accesses->few, accesses->count * sizeof *list);
    accesses->list = list;
    accesses->room = room;
    return true;
}

/* Looking for entries that can go takes long while many read at the same time. So, unless that
 * leaves three quarters of the list free, the list grows as well. */
static bool make_room(acui_accesses *accesses)
{
    if (!accesses->list) {
        accesses->list = accesses->few;
        accesses->room = sizeof accesses->few / sizeof *accesses->few;
        return true;
    }
    compact(accesses);
    return 4 * accesses->count <= accesses->room || grow(accesses, accesses->room + 1) ||
           accesses->count < accesses->room;
}

bool acui_accesses_reserve(acui_accesses *accesses)
{
    return accesses->count < accesses->room || make_room(accesses);
}

/* ---- entering -------------------------------------------------------------------------------- */

static inline void put(acui_access *entry, acui_point *point, const acui_extent *extent, bool write)
{
    entry->point = hold(point);
    entry->extent = *extent;
    entry->write = write;
}

static void add(acui_accesses *accesses, acui_point *point, const acui_extent *extent, bool write)
{
    size_t at = accesses->count++;
    if (write) { /* the first read makes room */
        if (at > accesses->writes)
            accesses->list[at] = accesses->list[accesses->writes];
        at = accesses->writes++;
    }
    put(&accesses->list[at], point, extent, write);
}

/* Replaces the newest read if that one is over; otherwise many of them would have to be looked
 * through one day. */
static void add_read(acui_accesses *accesses, acui_point *point, const acui_extent *extent)
{
    size_t newest = accesses->count - 1;
    if (accesses->count == accesses->writes || !forgettable(&accesses->list[newest])) {
        add(accesses, point, extent, false);
        return;
    }
    let_go(accesses->list[newest].point);
    put(&accesses->list[newest], point, extent, false);
}

/*
 * Cut what is overwritten out of entry i, which it overlaps. The allocation of the memory stays: a
 * write that fails before it is issued does not wait for it, and later accesses must. An entry that
 * falls into two pieces needs one more entry; without memory for that it stays whole, which orders
 * more than is needed and may pass on a failure that was overwritten, but loses none. An entry of
 * which windows would be left stays whole too.
 */
static void cut(acui_accesses *accesses, size_t i, const acui_extent *by)
{
    acui_access *old = &accesses->list[i];
    if (old->point->allocation || old->point->growth)
        return;
    if (acui_extent_covers(by, &old->extent)) {
        remove_entry(accesses, i);
    } else if (by->pitch || old->extent.pitch) {
        return;
    } else if (old->extent.begin < by->begin && by->end < old->extent.end) {
        if (!grow(accesses, accesses->count + 2))
            return;
        old = &accesses->list[i]; /* the list may have moved */
        acui_extent rest = acui_extent_range(by->end, old->extent.end);
        add(accesses, old->point, &rest, old->write);
        old->extent.end = by->begin;
    } else if (old->extent.begin < by->begin) {
        old->extent.end = by->begin;
    } else {
        old->extent.begin = by->end;
    }
}

/* Whether an earlier access of the same point covers the new read, as far as that is easily
 * seen. */
static bool contained(const acui_accesses *accesses, const acui_point *point,
                      const acui_extent *extent)
{
    size_t count = accesses->count, writes = accesses->writes;
    for (size_t i = count - writes > NEWEST ? count - NEWEST : writes; i < count; i++)
        if (accesses->list[i].point == point &&
            acui_extent_covers(&accesses->list[i].extent, extent))
            return true;
    for (size_t i = 0; i < writes; i++)
        if (accesses->list[i].point == point &&
            acui_extent_covers(&accesses->list[i].extent, extent))
            return true;
    return false;
}

/* Whether an access comes behind the entry; `data`: it reads what that entry wrote. Memory that
 * grows is needed by every access. */
static bool comes_behind(const acui_access *old, const acui_extent *extent, acu_access access,
                         bool *data)
{
    *data = (access != ACU_WRITE && old->write) || old->point->growth;
    return acui_extents_overlap(&old->extent, extent) && (access != ACU_READ || old->write) &&
           (*data || old->point->state != ACUI_POINT_OVER);
}

static const acui_extent everything = {.end = UINT64_MAX};

void acui_accesses_lose(acui_accesses *accesses, acui_point *point)
{
    acui_accesses_reserve(accesses); /* so that there is a list, which is cleared with the buffer */
    if (!accesses->lost) /* one is enough to fail all readers */
        accesses->lost = hold(point);
}

static void find_lost(acui_accesses *accesses, uint64_t buffer_bytes, const acui_point *point,
                      const acui_extent *extent, acu_access access, acui_behind_fn behind,
                      void *context)
{
    acui_extent all = acui_extent_range(0, buffer_bytes);
    if (access != ACU_WRITE && accesses->lost != point)
        behind(context, accesses->lost, &everything, true);
    if (access != ACU_READ && acui_extent_covers(extent, &all)) { /* an update passes it on */
        let_go(accesses->lost);
        accesses->lost = NULL;
    }
}

void acui_accesses_look(const acui_accesses *accesses, acui_extent extent, acu_access access,
                        acui_behind_fn behind, void *context)
{
    bool data;
    if (accesses->lost && access != ACU_WRITE)
        behind(context, accesses->lost, &everything, true);
    for (size_t i = 0; i < accesses->count; i++) {
        const acui_access *old = &accesses->list[i];
        if (!forgettable(old) && comes_behind(old, &extent, access, &data))
            behind(context, old->point, &old->extent, data);
    }
}

/* Limits the extent to the buffer; false: nothing is left. */
static inline bool clip(acui_extent *extent, uint64_t buffer_bytes)
{
    if (extent->end > buffer_bytes)
        extent->end = buffer_bytes;
    return extent->begin < extent->end;
}

bool acui_accesses_add(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                       acui_extent extent, acu_access access)
{
    if (!clip(&extent, buffer_bytes))
        return true;
    if (!acui_accesses_reserve(accesses))
        return false;
    add(accesses, point, &extent, access != ACU_READ);
    return true;
}

bool acui_accesses_enter(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                         acui_extent extent, acu_access access, acui_behind_fn behind,
                         void *context)
{
    bool write = access != ACU_READ, data;
    if (!clip(&extent, buffer_bytes))
        return true;
    if (!acui_accesses_reserve(accesses))
        return false;
    if (accesses->lost)
        find_lost(accesses, buffer_bytes, point, &extent, access, behind, context);
    /* From the end: removing an entry moves the last one, which was looked at already, into the
     * gap, and pieces that are cut off are added at the end. A read only concerns writes. */
    for (size_t i = write ? accesses->count : accesses->writes; i-- > 0;) {
        const acui_access *old = &accesses->list[i];
        if (forgettable(old)) {
            remove_entry(accesses, i);
            continue;
        }
        if (old->point != point && comes_behind(old, &extent, access, &data))
            behind(context, old->point, &old->extent, data);
        if (write && acui_extents_overlap(&old->extent, &extent))
            cut(accesses, i, &extent);
    }
    if (write)
        add(accesses, point, &extent, true);
    else if (!contained(accesses, point, &extent))
        add_read(accesses, point, &extent);
    return true;
}

void acui_accesses_clear(acui_accesses *accesses)
{
    while (accesses->count)
        remove_entry(accesses, accesses->count - 1);
    if (accesses->lost)
        let_go(accesses->lost);
    accesses->lost = NULL;
    if (accesses->list != accesses->few)
        acui_free(accesses->list);
    accesses->list = NULL;
    accesses->room = 0;
}
