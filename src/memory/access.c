/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of who reads and writes a buffer. All of it is under the order locks of the buffer and
 * of the points. */
#include "base/alloc.h"
#include "memory/access.h"

#include <string.h>

/* Whether the entry has no consequences any more. A complete point need not be marked OVER yet; one
 * that failed on the way to the device has its `fault` while it is still ISSUED. */
static bool forgettable(const acui_access *access)
{
    const acui_point *point = access->point;
    bool over = point->state == ACUI_POINT_OVER ||
                (point->state == ACUI_POINT_ISSUED &&
                 acui_stream_passed(point->stream, point->number));
    return over && !(access->write && point->fault);
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

enum { SHORT = 8 };

/* The point is about to be entered. As long as only the buffer's own device uses it, this changes
 * nothing. */
static void note_home(acui_accesses *accesses, const acui_point *point)
{
    acui_homes homes = atomic_load_explicit(&accesses->homes, memory_order_relaxed), now = homes;
    if (homes == point->home)
        return;
    if (accesses->count <= SHORT) { /* some may be gone */
        now = accesses->home;
        for (size_t i = 0; i < accesses->count; i++)
            now |= accesses->list[i].point->home;
        if (accesses->lost)
            now |= accesses->lost->home;
    }
    now |= point->home;
    if (now != homes)
        atomic_store_explicit(&accesses->homes, now, memory_order_relaxed);
}

/* ---- the index of a long list ---------------------------------------------------------------- */

/* Without an index, everything is found as well, by looking through the list. */
static void drop_index(acui_accesses *accesses)
{
    if (accesses->index)
        acui_free(accesses->index->nodes);
    acui_free(accesses->index);
    accesses->index = NULL;
}

/* Room for one more node. Without memory the index is dropped. */
static void index_entry(acui_accesses *accesses, size_t i)
{
    acui_extent_index *index = accesses->index;
    if (index && acui_index_is_full(index)) {
        uint32_t room = index->room ? 2 * index->room : 4 * ACUI_INDEX_FROM;
        acui_index_node *nodes = acui_alloc_raw(room * sizeof *nodes);
        if (nodes)
            acui_free(acui_index_move(index, nodes, room));
        else
            drop_index(accesses);
    }
    if (accesses->index)
        accesses->list[i].node =
            acui_index_insert(index, &accesses->list[i].extent, accesses->list[i].write,
                              (uint32_t)i);
}

static inline void unindex_entry(acui_accesses *accesses, size_t i)
{
    if (accesses->index)
        acui_index_remove(accesses->index, accesses->list[i].node, accesses->list[i].write);
}

static void build_index(acui_accesses *accesses)
{
    accesses->index = ACUI_NEW(acui_extent_index);
    for (size_t i = 0; accesses->index && i < accesses->count; i++)
        index_entry(accesses, i);
}

static inline bool is_indexed(const acui_accesses *accesses)
{
    return accesses->index && accesses->count >= ACUI_INDEX_FROM / 2;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Move an entry to a place that is free. */
static inline void move_entry(acui_accesses *accesses, size_t from, size_t to)
{
    accesses->list[to] = accesses->list[from];
    if (accesses->index)
        accesses->index->nodes[accesses->list[to].node].item = (uint32_t)to;
}

/* Of the entries behind it, only the last write and the last entry may move. */
static void remove_entry(acui_accesses *accesses, size_t i)
{
    unindex_entry(accesses, i);
    let_go(accesses->list[i].point);
    if (i < accesses->writes) {
        if (i != --accesses->writes)
            move_entry(accesses, accesses->writes, i);
        i = accesses->writes;
    }
    if (i < --accesses->count)
        move_entry(accesses, accesses->count, i);
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
    if (4 * accesses->count > accesses->room && !grow(accesses, accesses->room + 1))
        return accesses->count < accesses->room;
    if (!accesses->index && accesses->count >= ACUI_INDEX_FROM)
        build_index(accesses);
    return true;
}

bool acui_accesses_reserve(acui_accesses *accesses)
{
    return accesses->count < accesses->room || make_room(accesses);
}

/* ---- entering -------------------------------------------------------------------------------- */

static inline void put(acui_accesses *accesses, size_t at, acui_point *point,
                       const acui_extent *extent, bool write)
{
    acui_access *entry = &accesses->list[at];
    entry->point = hold(point);
    entry->extent = *extent;
    entry->write = write;
    if (accesses->index)
        index_entry(accesses, at);
}

static void add(acui_accesses *accesses, acui_point *point, const acui_extent *extent, bool write)
{
    size_t at = accesses->count++;
    if (write) { /* the first read makes room */
        if (at > accesses->writes)
            move_entry(accesses, accesses->writes, at);
        at = accesses->writes++;
    }
    put(accesses, at, point, extent, write);
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
    unindex_entry(accesses, newest);
    let_go(accesses->list[newest].point);
    put(accesses, newest, point, extent, false);
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
        return;
    }
    if (by->pitch || old->extent.pitch)
        return;
    bool inside = old->extent.begin < by->begin && by->end < old->extent.end;
    acui_extent rest = acui_extent_range(by->end, old->extent.end);
    if (inside && !grow(accesses, accesses->count + 2))
        return;
    unindex_entry(accesses, i);
    old = &accesses->list[i]; /* the list may have moved */
    if (old->extent.begin < by->begin)
        old->extent.end = by->begin;
    else
        old->extent.begin = by->end;
    index_entry(accesses, i);
    if (inside)
        add(accesses, old->point, &rest, old->write);
}

static inline bool covers_for(const acui_access *earlier, const acui_point *point,
                              const acui_extent *extent)
{
    return earlier->point == point && acui_extent_covers(&earlier->extent, extent);
}

/* Whether an earlier access of the same point covers the new read, as far as that is easily
 * seen. */
static bool contained(const acui_accesses *accesses, const acui_point *point,
                      const acui_extent *extent)
{
    size_t count = accesses->count, writes = accesses->writes;
    for (size_t i = count - writes > NEWEST ? count - NEWEST : writes; i < count; i++)
        if (covers_for(&accesses->list[i], point, extent))
            return true;
    if (is_indexed(accesses)) {
        const acui_index_node *nodes = accesses->index->nodes;
        for (uint32_t n = acui_index_find(accesses->index, extent, false); n; n = nodes[n].next)
            if (covers_for(&accesses->list[nodes[n].item], point, extent))
                return true;
        return false;
    }
    for (size_t i = 0; i < writes; i++)
        if (covers_for(&accesses->list[i], point, extent))
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
    if (accesses->lost) /* one is enough to fail all readers */
        return;
    note_home(accesses, point);
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
    bool indexed = is_indexed(accesses), reads = access != ACU_READ;
    uint32_t node = indexed ? acui_index_find(accesses->index, &extent, reads) : 0;
    size_t count = indexed ? 0 : reads ? accesses->count : accesses->writes;
    for (size_t i = 0; i < count || node; i++) {
        const acui_access *old = &accesses->list[node ? accesses->index->nodes[node].item : i];
        node = node ? accesses->index->nodes[node].next : 0;
        if (!forgettable(old) && comes_behind(old, &extent, access, &data))
            behind(context, old->point, &old->extent, data);
    }
}

enum { FEW = 8 }; /* predecessors that may have room without coming to be */

static void count_one(void *context, acui_point *before, const acui_extent *extent, bool data)
{
    (void)before, (void)extent, (void)data;
    ++*(size_t *)context;
}

size_t acui_accesses_count(const acui_accesses *accesses, const acui_extent *extent,
                           acu_access access)
{
    size_t most = (access == ACU_READ ? accesses->writes : accesses->count) +
                  (accesses->lost != NULL);
    if (most <= FEW)
        return most;
    most = 0;
    acui_accesses_look(accesses, *extent, access, count_one, &most);
    return most;
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
    note_home(accesses, point);
    add(accesses, point, &extent, access != ACU_READ);
    return true;
}

/* An access that is being entered. */
typedef struct entering {
    acui_accesses *accesses;
    acui_point *point;
    acui_extent extent;
    acu_access access;
    acui_behind_fn behind;
    void *context;
} entering;

/* Put the new access behind entry i, which goes, or is cut, if it is over or overwritten. */
static void enter_behind(const entering *e, size_t i)
{
    const acui_access *old = &e->accesses->list[i];
    bool data;
    if (forgettable(old)) {
        remove_entry(e->accesses, i);
        return;
    }
    if (old->point != e->point && comes_behind(old, &e->extent, e->access, &data))
        e->behind(e->context, old->point, &old->extent, data);
    if (e->access != ACU_READ && acui_extents_overlap(&old->extent, &e->extent))
        cut(e->accesses, i, &e->extent);
}

bool acui_accesses_enter(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                         acui_extent extent, acu_access access, acui_behind_fn behind,
                         void *context)
{
    bool write = access != ACU_READ;
    if (!clip(&extent, buffer_bytes))
        return true;
    if (!acui_accesses_reserve(accesses))
        return false;
    note_home(accesses, point);
    if (accesses->lost)
        find_lost(accesses, buffer_bytes, point, &extent, access, behind, context);
    entering e = {accesses, point, extent, access, behind, context};
    bool indexed = is_indexed(accesses);
    uint32_t node = indexed ? acui_index_find(accesses->index, &extent, write) : 0;
    while (node) {
        uint32_t item = accesses->index->nodes[node].item;
        node = accesses->index->nodes[node].next;
        enter_behind(&e, item);
        if (!accesses->index) /* there was no memory for a piece that was cut off */
            node = indexed = false;
    }
    /* From the end: removing an entry moves the last one, which was looked at already, into the
     * gap, and pieces that are cut off are added at the end. A read only concerns writes. */
    size_t count = indexed ? 0 : write ? accesses->count : accesses->writes;
    for (size_t i = count; i-- > 0;)
        enter_behind(&e, i);
    if (write)
        add(accesses, point, &extent, true);
    else if (!contained(accesses, point, &extent))
        add_read(accesses, point, &extent);
    return true;
}

void acui_accesses_clear(acui_accesses *accesses)
{
    drop_index(accesses);
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
