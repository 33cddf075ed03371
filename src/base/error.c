/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The thread's error record. */
#include "base/error.h"

#include "base/local.h"
#include "base/rare.h"
#include "base/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Owned by its thread alone: no locks, no atomics. */
typedef struct {
    acu_error own, others;
    char *log; /* for acu_last_log; may be NULL */
} records;

static ACUI_LOCAL records *mine;
ACUI_LOCAL bool acui_error_is_aside; /* failures go to the second record */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* holds `mine` too, for the end of the thread */
static bool have_key;

/* For threads that can not allocate their records; each keeps its spare for good. Once none is
 * left, threads share the last. */
static records spare[16];
static _Atomic(unsigned) spare_taken;

static bool is_spare(const records *r)
{
    return r >= spare && r < spare + sizeof spare / sizeof *spare;
}

static void thread_ends(void *context)
{
    records *r = context;
    mine = NULL;
    if (is_spare(r))
        return;
    free(r->log);
    free(r);
}

static void prepare(void)
{
    have_key = pthread_key_create(&key, thread_ends) == 0;
}

/* Allocated at the first failure, or the first look, rather than kept in the thread's static block:
 * room there is scarce for a library that a program loads at run time. */
ACUI_RARE static records *begin_thread(void)
{
    pthread_once(&once, prepare);
    records *r = have_key ? malloc(sizeof *r) : NULL;
    if (r && pthread_setspecific(key, r) != 0) {
        free(r);
        r = NULL;
    }
    if (!r) {
        unsigned last = sizeof spare / sizeof *spare - 1;
        unsigned taken = atomic_load_explicit(&spare_taken, memory_order_relaxed);
        while (taken < last && !atomic_compare_exchange_weak(&spare_taken, &taken, taken + 1)) {
        }
        r = &spare[taken];
    }
    *r = (records){.own.device = -1, .others.device = -1};
    return mine = r;
}

acu_error *acui_error(void)
{
    records *r = mine ? mine : begin_thread();
    return acui_error_is_aside ? &r->others : &r->own;
}

const acu_error *acu_last_error(void)
{
    return acui_error();
}

void acui_error_keep_log(const char *text)
{
    records *r = mine ? mine : begin_thread();
    if (is_spare(r) || (text && text == r->log))
        return; /* others may share the spare one */
    free(r->log);
    r->log = text && *text ? strdup(text) : NULL;
}

const char *acu_last_log(void)
{
    const records *r = mine;
    return r && r->log ? r->log : "";
}

void acui_error_prefix(acu_error *error, const char *context)
{
    char inner[ACU_ERROR_CONTEXT];
    memcpy(inner, error->context, sizeof inner);
    /* If it is too long, it is cut off at the end: the outermost context says most about what was
     * going on. */
    acui_text text = acui_text_start(error->context, sizeof error->context);
    acui_text_add(&text, "%s%s%s", context, inner[0] ? ": " : "", inner);
}

acu_status acui_error_restore(const acu_error *error)
{
    acu_error *record = acui_error();
    if (error != record)
        *record = *error;
    return error->status;
}

acu_status acui_error_by(acu_status status, const char *function)
{
    acu_error *error = acui_error();
    size_t length = strlen(function);
    char message[ACU_ERROR_MESSAGE];
    if (acu_status_scope(status) == ACU_SCOPE_NONE ||
        strncmp(error->message, function, length) == 0)
        return status;
    memcpy(message, error->message, sizeof message);
    acui_text text = acui_text_start(error->message, sizeof error->message);
    acui_text_add(&text, "%s: %s", function, message);
    return status;
}

acu_status acui_fail_v(acu_status status, const char *format, va_list args)
{
    if (acu_status_scope(status) == ACU_SCOPE_NONE)
        return status;
    /* Formatted into a buffer first: the arguments may point into the record. */
    char message[ACU_ERROR_MESSAGE];
    if (vsnprintf(message, sizeof message, format, args) < 0)
        message[0] = '\0';
    acu_error *record = acui_error();
    *record = (acu_error){.status = status, .device = -1};
    memcpy(record->message, message, sizeof message);
    return status;
}

acu_status acui_fail(acu_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    acui_fail_v(status, format, args);
    va_end(args);
    return status;
}

acu_status acui_fail_at(acu_status status, acu_site site, const char *op, int device,
                        const char *format, ...)
{
    char name[ACU_ERROR_OP];
    snprintf(name, sizeof name, "%s", op ? op : "");
    va_list args;
    va_start(args, format);
    acui_fail_v(status, format, args);
    va_end(args);
    if (acu_status_scope(status) == ACU_SCOPE_NONE)
        return status;
    acu_error *record = acui_error();
    memcpy(record->op, name, sizeof name);
    record->file = site.file;
    record->line = site.line;
    record->device = device;
    return status;
}
