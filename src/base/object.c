/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handles: reference counts, and telling released ones from live ones. */
#include "base/object.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {
#define ACU_X(id, word) word,
    ACU_OBJECT_KINDS(ACU_X)
#undef ACU_X
};

void *acui_object_new(acu_object_kind kind, size_t bytes)
{
    return acui_object_new_part(kind, bytes, bytes);
}

void *acui_object_new_part(acu_object_kind kind, size_t bytes, size_t zeroed)
{
    acui_object *object = acui_alloc_object(bytes, ACUI_COUNT_OBJECTS + kind);
    if (!object)
        return NULL;
    memset(object, 0, zeroed);
    acui_object_begin(object, kind);
    return object;
}

/* Returns the counter of its kind. */
static unsigned mark_dead(acui_object *o)
{
    acu_object_kind kind = atomic_load_explicit(&o->tag, memory_order_relaxed) & 0xFFFFu;
    acui_object_mark_dead(o, kind);
    return ACUI_COUNT_OBJECTS + kind;
}

void acui_object_end(void *object)
{
    acui_count_add(mark_dead(object), -1);
}

void acui_object_free(void *object)
{
    acui_cache_put_object(object, mark_dead(object));
}

static const char *article(const char *word)
{
    return strchr("aeiou", word[0]) ? "an" : "a";
}

acu_status acui_object_refuse(const void *object, acu_object_kind kind, const char *function)
{
    if (acui_forked())
        return acui_refuse_fork(function);
    if (!object)
        return acui_fail(ACU_ERR_INVALID, "%s: the %s is NULL", function, words[kind]);
    uint32_t tag = atomic_load_explicit(&((const acui_object *)object)->tag, memory_order_relaxed);
    uint32_t other = tag & 0xFFFFu;
    if ((tag & 0xFFFF0000u) == ACUI_DEAD && other < ACU_OBJECT_KIND_COUNT)
        return acui_fail(ACU_ERR_BAD_HANDLE, "%s: this %s was released already%s", function,
                         words[other], other == ACU_OBJECT_OP ? ", by who took it if not by the "
                         "program; acu_op_retain keeps one for a second use" : "");
    if ((tag & 0xFFFF0000u) == ACUI_LIVE && other < ACU_OBJECT_KIND_COUNT)
        return acui_fail(ACU_ERR_INVALID, "%s: wants %s %s, got %s %s", function,
                         article(words[kind]), words[kind], article(words[other]), words[other]);
    return acui_fail(ACU_ERR_BAD_HANDLE, "%s: this is no %s, or one released long ago", function,
                     words[kind]);
}

acu_status acui_object_check_as(const void *object, acu_object_kind kind, const char *what,
                                const char *function)
{
    if (!object && !acui_forked())
        return acui_fail(ACU_ERR_INVALID, "%s: the %s is NULL", function, what);
    return acui_object_check(object, kind, function);
}

_Static_assert(ACUI_COUNT_OBJECTS + ACU_OBJECT_KIND_COUNT <= ACUI_COUNTS, "room for all kinds");

size_t acu_debug_live(acu_object_kind kind)
{
    if ((unsigned)kind >= ACU_OBJECT_KIND_COUNT)
        return 0;
    int64_t n = acui_count_sum(ACUI_COUNT_OBJECTS + (unsigned)kind);
    return n > 0 ? (size_t)n : 0;
}

size_t acu_debug_live_report(char *text, size_t bytes)
{
    size_t used = 0, total = 0;
    if (!text)
        bytes = 0;
    if (bytes)
        text[0] = 0;
    for (int kind = 0; kind < ACU_OBJECT_KIND_COUNT; kind++) {
        size_t n = acu_debug_live((acu_object_kind)kind);
        total += n;
        if (n && used < bytes) {
            int w = snprintf(text + used, bytes - used, "%s: %zu\n", words[kind], n);
            used += w > 0 ? (size_t)w : 0;
        }
    }
    return total;
}
