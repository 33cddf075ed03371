/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every handle of the public interface begins with: what it is, and how many hold it.
 *
 * Released handles are told from live ones where that is possible: the memory of the last few
 * hundred released objects is kept aside, marked dead, before it is used again.
 */
#ifndef ACUI_BASE_OBJECT_H
#define ACUI_BASE_OBJECT_H

#include <acuda/debug.h>
#include <acuda/status.h>
#include <stdatomic.h>

typedef struct acui_object {
    _Atomic(uint32_t) tag; /* ACUI_LIVE or ACUI_DEAD, plus the kind */
    _Atomic(uint32_t) refs;
} acui_object;

/* A zeroed object of `bytes` with one reference, or NULL. */
void *acui_object_new(acu_object_kind kind, size_t bytes);
/* Takes one more reference; `object` may be NULL. Returns it. */
void *acui_object_retain(void *object);
/* True if this was the last reference: the caller then cleans up and calls acui_object_free. */
bool acui_object_drop(void *object);
void acui_object_free(void *object);
uint32_t acui_object_refs(const void *object);
/* Takes a reference only if there still is one (for tables that do not count as holders). */
bool acui_object_try_retain(void *object);

/*
 * ACU_OK, or fails with INVALID (NULL, or another kind of handle) or BAD_HANDLE (released), saying
 * which `function` got it. A handle that was released long ago can not be told and is not safe.
 */
acu_status acui_object_check(const void *object, acu_object_kind kind, const char *function);
/* The same without a record, for functions that return nothing. */
bool acui_object_is(const void *object, acu_object_kind kind);

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
