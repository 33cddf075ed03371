/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every public handle begins with: its kind, and its reference count.
 *
 * Released handles are told from live ones where possible: the memory of the most recently released
 * objects, some tens of each size, is marked dead and set aside before it is reused.
 */
#ifndef ACUI_BASE_OBJECT_H
#define ACUI_BASE_OBJECT_H

#include "base/alloc.h"
#include "base/fork.h"

#include <acuda/debug.h>
#include <acuda/status.h>
#include <stdatomic.h>

typedef struct acui_object {
    _Atomic(uint32_t) tag; /* ACUI_LIVE or ACUI_DEAD, plus the kind */
    _Atomic(uint32_t) refs;
} acui_object;

#define ACUI_LIVE 0xACDA0000u
#define ACUI_DEAD 0xDEAD0000u

/* A bit in `refs`: a list that holds no reference may find the object (acui_object_try_retain). */
#define ACUI_LISTED 0x80000000u

/* A zeroed object of `bytes` with one reference, or NULL. */
void *acui_object_new(acu_object_kind kind, size_t bytes);
/* The same, but only the first `zeroed` bytes are zeroed: the rest is written before it is read. */
void *acui_object_new_part(acu_object_kind kind, size_t bytes, size_t zeroed);
void acui_object_free(void *object);
/* The first half of acui_object_free: the object counts as released, but keeps its memory, for
 * which the caller has to call acui_free_late. */
void acui_object_end(void *object);

static inline void acui_object_mark_dead(acui_object *object, acu_object_kind kind)
{
    atomic_store_explicit(&object->tag, ACUI_DEAD | (uint32_t)kind, memory_order_relaxed);
}

static inline void acui_object_begin(acui_object *object, acu_object_kind kind)
{
    atomic_store_explicit(&object->tag, ACUI_LIVE | (uint32_t)kind, memory_order_relaxed);
    atomic_store_explicit(&object->refs, 1, memory_order_relaxed);
}

/* Inline, for objects that come and go with each launch. Memory for an object, on which the caller
 * calls acui_object_begin; NULL if none is at hand. Then the counterpart that frees an object of
 * known kind. */
static inline void *acui_object_at_hand(acu_object_kind kind, size_t bytes)
{
    return acui_alloc_at_hand(bytes, ACUI_COUNT_OBJECTS + kind);
}

static inline void acui_object_free_known(void *object, acu_object_kind kind)
{
    acui_object_mark_dead(object, kind);
    acui_cache_put_object(object, ACUI_COUNT_OBJECTS + kind);
}

/* Adds a reference; `object` may be NULL. Returns it. */
static inline void *acui_object_retain(void *object)
{
    if (object)
        atomic_fetch_add_explicit(&((acui_object *)object)->refs, 1, memory_order_relaxed);
    return object;
}

/* Adds `more` references, called by the only holder of an object that nobody else can find, so no
 * atomic addition is needed. */
static inline void acui_refs_add_sole(_Atomic(uint32_t) *refs, uint32_t more)
{
    atomic_store_explicit(refs, atomic_load_explicit(refs, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

/* Removes a reference; true if it was the last. */
static inline bool acui_refs_drop(_Atomic(uint32_t) *refs)
{
    /* This is the only holder and no list has the object, so nobody else changes the count: no
     * atomic subtraction is needed. Acquire: what earlier holders wrote is visible to the one that
     * cleans up. */
    if (atomic_load_explicit(refs, memory_order_acquire) == 1) {
        atomic_store_explicit(refs, 0, memory_order_relaxed);
        return true;
    }
    /* Release: what this holder wrote is visible to the one that cleans up; acquire: for the case
     * that this is the one. */
    return (atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) & ~ACUI_LISTED) == 1;
}

/* True if this was the last reference: the caller then cleans up and calls acui_object_free. */
static inline bool acui_object_drop(void *object)
{
    return acui_refs_drop(&((acui_object *)object)->refs);
}

/* Drops `count` references of the caller's at once. */
static inline bool acui_object_drop_some(void *object, uint32_t count)
{
    _Atomic(uint32_t) *refs = &((acui_object *)object)->refs;
    if (count > 1) /* one is kept, so this is never the last */
        atomic_fetch_sub_explicit(refs, count - 1, memory_order_release);
    return acui_refs_drop(refs);
}

static inline uint32_t acui_object_refs(const void *object)
{
    return atomic_load_explicit(&((const acui_object *)object)->refs, memory_order_acquire) &
           ~ACUI_LISTED;
}

/* Announce that a list that holds no reference will have the object, so that its references are
 * always counted atomically from now on. Called by its only holder, before anybody can find the
 * object. */
static inline void acui_refs_list(_Atomic(uint32_t) *refs)
{
    atomic_store_explicit(refs, atomic_load_explicit(refs, memory_order_relaxed) | ACUI_LISTED,
                          memory_order_relaxed);
}

static inline void acui_object_list(void *object)
{
    acui_refs_list(&((acui_object *)object)->refs);
}

/* For such lists: takes a reference only if one is left. Only for objects announced with
 * acui_refs_list; for others the last holder would not notice. */
static inline bool acui_refs_try_retain(_Atomic(uint32_t) *refs)
{
    uint32_t now = atomic_load_explicit(refs, memory_order_relaxed);
    while (now > ACUI_LISTED)
        /* Release: the thread that drops the reference sees what this thread did so far. */
        if (atomic_compare_exchange_weak_explicit(refs, &now, now + 1, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static inline bool acui_object_try_retain(void *object)
{
    return acui_refs_try_retain(&((acui_object *)object)->refs);
}

static inline bool acui_object_is(const void *object, acu_object_kind kind)
{
    return object &&
           atomic_load_explicit(&((const acui_object *)object)->tag, memory_order_relaxed) ==
               (ACUI_LIVE | (uint32_t)kind) &&
           !acui_forked();
}

/* Fails, and says what `object` is instead; see acui_object_check. */
acu_status acui_object_refuse(const void *object, acu_object_kind kind, const char *function);

/*
 * ACU_OK, or fails with INVALID (NULL, or another kind of handle) or BAD_HANDLE (released), naming
 * the `function` that got it. A handle that was released long ago can not be recognised, and is not
 * safe.
 */
static inline acu_status acui_object_check(const void *object, acu_object_kind kind,
                                           const char *function)
{
    return acui_object_is(object, kind) ? ACU_OK : acui_object_refuse(object, kind, function);
}

/* For one of several handles of a kind: NULL is refused as `what`, instead of by its kind. */
acu_status acui_object_check_as(const void *object, acu_object_kind kind, const char *what,
                                const char *function);

#define ACUI_CHECK_AS(object, kind, what)                                                          \
    do {                                                                                           \
        acu_status check_ =                                                                        \
            acui_object_check_as((object), ACU_OBJECT_##kind, (what), __func__);                   \
        if (check_ != ACU_OK)                                                                      \
            return check_;                                                                         \
    } while (0)

#define ACUI_CHECK(object, kind)                                                                   \
    do {                                                                                           \
        acu_status check_ = acui_object_check((object), ACU_OBJECT_##kind, __func__);              \
        if (check_ != ACU_OK)                                                                      \
            return check_;                                                                         \
    } while (0)

/* Return to the caller if `expression` is not ACU_OK. */
#define ACUI_TRY(expression)                                                                       \
    do {                                                                                           \
        acu_status try_ = (expression);                                                            \
        if (try_ != ACU_OK)                                                                        \
            return try_;                                                                           \
    } while (0)

#endif
