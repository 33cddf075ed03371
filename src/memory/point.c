/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Points, faults, and the order locks. */
#include "base/alloc.h"
#include "base/local.h"
#include "base/lock.h"
#include "device/loader.h"
#include "memory/access.h"

/* ---- faults ---------------------------------------------------------------------------------- */

acui_fault *acui_fault_no_memory(void)
{
    static acui_fault fault = {/* its own reference keeps it */
                               .refs = 1,
                               .error = {.status = ACU_ERR_NO_MEMORY,
                                         .device = -1,
                                         .message = "out of host memory, also for saying more"}};
    return acui_fault_retain(&fault);
}

acui_fault *acui_fault_new(const acu_error *error)
{
    acui_fault *fault = ACUI_NEW(acui_fault);
    if (!fault)
        return acui_fault_no_memory();
    atomic_store_explicit(&fault->refs, 1, memory_order_relaxed);
    fault->error = *error;
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
    if (fault && acui_refs_drop(&fault->refs))
        acui_free(fault);
}

/* ---- the order locks ------------------------------------------------------------------------- */

static struct {
    _Alignas(64) acui_lock lock;
    uint64_t turns; /* how many numbers it gave; guarded by it */
} orders[ACUI_MAX_DEVICES]; /* by ordinals: a device that was reset hands its lock on */

static ACUI_LOCAL acui_homes held;
static ACUI_LOCAL acui_point *dead; /* while holding: points to free afterwards */

/* The first piece, from `piece` on, with some of these bytes. */
static const acui_piece *find_piece(const acui_piece *piece, const acu_buffer *buffer,
                                    const acui_extent *extent)
{
    while (piece && (piece->buffer != buffer || !acui_extents_overlap(&piece->extent, extent)))
        piece = piece->next;
    return piece;
}

bool acui_point_spoils(const acui_point *point, const acu_buffer *buffer,
                       const acui_extent *extent)
{
    return point->fault && (!point->spoiled || find_piece(point->spoiled, buffer, extent));
}

static bool add_piece(acui_point *point, const acu_buffer *buffer, acui_extent extent)
{
    acui_piece *piece = ACUI_NEW(acui_piece);
    if (!piece)
        return false;
    piece->buffer = buffer;
    piece->extent = extent;
    piece->next = point->spoiled;
    point->spoiled = piece;
    return true;
}

bool acui_point_spoil(acui_point *point, const acui_point *before, const acui_piece *piece)
{
    if (!before->spoiled)
        return add_piece(point, piece->buffer, piece->extent);
    const acui_piece *bad = before->spoiled;
    while ((bad = find_piece(bad, piece->buffer, &piece->extent))) {
        if (!add_piece(point, bad->buffer, acui_extent_common(&bad->extent, &piece->extent)))
            return false;
        bad = bad->next;
    }
    return true;
}

void acui_point_spoil_all(acui_point *point)
{
    while (point->spoiled) {
        acui_piece *piece = point->spoiled;
        point->spoiled = piece->next;
        acui_free(piece);
    }
}

static void point_free(acui_point *point)
{
    if (point->allocation)
        acu_stream_release(point->stream);
    acui_point_spoil_all(point);
    acui_fault_release(point->fault);
    acui_free(point);
}

static unsigned first_of(acui_homes homes)
{
    return (unsigned)__builtin_ctzll(homes);
}

void acui_order_lock(acui_homes homes)
{
    for (acui_homes rest = homes; rest; rest &= rest - 1) /* from the lowest ordinal on */
        acui_lock_take(&orders[first_of(rest)].lock);
    held = homes;
}

void acui_order_unlock(acui_homes homes)
{
    held = 0;
    for (acui_homes rest = homes; rest; rest &= rest - 1)
        acui_lock_give(&orders[first_of(rest)].lock);
    while (dead) {
        acui_point *point = dead;
        dead = point->next_dead;
        point_free(point);
    }
}

acui_homes acui_order_lock_all_of(const _Atomic(acui_homes) *set)
{
    /* Relaxed: what the set is about is read once the locks are taken, and so is the set. */
    acui_homes homes = atomic_load_explicit(set, memory_order_relaxed);
    for (;;) {
        acui_order_lock(homes);
        acui_homes now = atomic_load_explicit(set, memory_order_relaxed);
        if ((now & ~homes) == 0)
            return homes;
        acui_order_unlock(homes);
        homes = now;
    }
}

uint64_t acui_order_turn(acui_homes homes)
{
    unsigned home = first_of(homes);
    return ++orders[home].turns * ACUI_MAX_DEVICES + home;
}

bool acui_order_holds(acui_homes homes)
{
    return (homes & ~held) == 0;
}

/* ---- points ---------------------------------------------------------------------------------- */

acui_point *acui_point_new(const acu_device *home)
{
    acui_point *point = ACUI_NEW(acui_point);
    if (!point)
        return NULL;
    atomic_store_explicit(&point->refs, 1, memory_order_relaxed);
    point->home = acui_home_of(home);
    return point;
}

acui_point *acui_point_retain(acui_point *point)
{
    if (point)
        atomic_fetch_add_explicit(&point->refs, 1, memory_order_relaxed);
    return point;
}

void acui_point_release(acui_point *point)
{
    if (!point || !acui_refs_drop(&point->refs))
        return;
    if (!held) {
        point_free(point);
        return;
    }
    point->next_dead = dead;
    dead = point;
}

/* ---- points of loads ------------------------------------------------------------------------- */

static _Atomic(const acui_load_hooks *) hooks; /* release store, acquire load */

void acui_set_load_hooks(const acui_load_hooks *set)
{
    atomic_store_explicit(&hooks, set, memory_order_release);
}

void acui_load_over(acui_point *point)
{
    struct acui_task *freed = NULL;
    const acui_homes home = point->home;
    acui_order_lock(home);
    point->state = ACUI_POINT_OVER;
    /* Whoever comes behind the point has set them before. */
    const acui_load_hooks *h = atomic_load_explicit(&hooks, memory_order_acquire);
    if (h)
        freed = h->followers(point);
    acui_order_unlock(home);
    if (freed)
        h->run(freed);
    acui_loader_changed();
}
