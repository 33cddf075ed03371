/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declaring what a kernel's parameters are (acu_kernel_declare): reading the words of a signature,
 * and checking them against what PTX and driver say of the kernel.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/declared.h"

#include <acuda/tile.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* The text between two commas, without the blanks around it. */
typedef struct part {
    const char *text;
    int length; /* for %.*s */
} part;

static bool next_part(const char **rest, part *p)
{
    if (!*rest)
        return false;
    const char *begin = *rest, *end = strchr(begin, ',');
    *rest = end ? end + 1 : NULL;
    if (!end)
        end = begin + strlen(begin);
    while (begin < end && is_blank(*begin))
        begin++;
    while (end > begin && is_blank(end[-1]))
        end--;
    *p = (part){.text = begin, .length = (int)(end - begin)};
    return true;
}

static bool part_is(part p, const char *word)
{
    return strlen(word) == (size_t)p.length && memcmp(p.text, word, (size_t)p.length) == 0;
}

static acu_dtype find_dtype(part p)
{
    for (int d = ACU_NO_DTYPE + 1; d < ACU_DTYPE_COUNT; d++)
        if (part_is(p, acu_dtype_name((acu_dtype)d)))
            return (acu_dtype)d;
    return ACU_NO_DTYPE;
}

/* From "in f32", takes off the word before the blank. */
static enum acui_want take_want(part *p)
{
    static const struct {
        const char *word;
        enum acui_want want;
    } wants[] = {{"in", ACUI_WANT_IN}, {"out", ACUI_WANT_OUT}, {"inout", ACUI_WANT_INOUT},
                 {"tile", ACUI_WANT_TILE}};
    int length = 0;
    while (length < p->length && !is_blank(p->text[length]))
        length++;
    part first = {.text = p->text, .length = length};
    for (size_t i = 0; length < p->length && i < sizeof wants / sizeof *wants; i++) {
        if (!part_is(first, wants[i].word))
            continue;
        while (is_blank(p->text[length]))
            length++;
        *p = (part){.text = p->text + length, .length = p->length - length};
        return wants[i].want;
    }
    return ACUI_WANT_SCALAR;
}

static acu_status read_part(part p, size_t index, acui_param *param)
{
    if (part_is(p, "any")) {
        param->want = ACUI_WANT_ANY;
        param->dtype = ACU_NO_DTYPE;
        return ACU_OK;
    }
    part rest = p;
    param->want = take_want(&rest);
    param->dtype = find_dtype(rest);
    if (param->dtype != ACU_NO_DTYPE)
        return ACU_OK;
    return acui_fail(
        ACU_ERR_INVALID,
        "parameter %zu is declared as \"%.*s\": say an element type (f32, i32, ...) for "
        "a scalar, in, out, inout or tile before it for a tensor, or any",
        index, p.length, p.text);
}

/* ---- against the kernel ---------------------------------------------------------------------- */

/* The size that the declared type has; 0: any. */
static uint32_t wanted_bytes(const acui_param *param)
{
    switch (param->want) {
    case ACUI_WANT_ANY:
        return 0;
    case ACUI_WANT_SCALAR:
        return (uint32_t)acu_dtype_bytes(param->dtype);
    case ACUI_WANT_TILE:
        return ACU_TILE_PARAM_BYTES;
    default:
        return 8;
    }
}

static acu_status check_size(const acu_kernel *kernel, part p, size_t index, acui_param *param)
{
    uint32_t bytes = wanted_bytes(param);
    if (!kernel->function || !kernel->function->info.params_known) {
        param->bytes = bytes; /* 0: not known */
        return ACU_OK;
    }
    if (bytes == 0 || bytes == param->bytes)
        return ACU_OK;
    return acui_fail(ACU_ERR_ARGUMENTS,
                     "parameter %zu of %s is declared as \"%.*s\", %u bytes; the kernel's has %u",
                     index, kernel->name, p.length, p.text, bytes, param->bytes);
}

static size_t count_parts(const char *signature)
{
    const char *rest = signature;
    part p;
    size_t count = 0;
    while (next_part(&rest, &p))
        count++;
    return count == 1 && p.length == 0 ? 0 : count; /* "" declares a kernel without parameters */
}

static acu_status read_signature(acu_kernel *kernel, const char *signature, size_t count,
                                 acui_declared *declared)
{
    const char *rest = signature;
    part p;
    declared->count = count;
    for (size_t i = 0; i < count && next_part(&rest, &p); i++) {
        if (kernel->function && kernel->function->info.params_known)
            declared->params[i] = kernel->function->params[i];
        ACUI_TRY(read_part(p, i, &declared->params[i]));
        ACUI_TRY(check_size(kernel, p, i, &declared->params[i]));
    }
    return ACU_OK;
}

/* ---- declaring; the kernel's lock is held ---------------------------------------------------- */

static bool is_same(const acui_declared *a, const acui_declared *b)
{
    if (a->count != b->count || (b->text && (!a->text || strcmp(a->text, b->text) != 0)))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->params[i].bytes != b->params[i].bytes || a->params[i].type != b->params[i].type ||
            a->params[i].want != b->params[i].want || a->params[i].dtype != b->params[i].dtype)
            return false;
    return true;
}

/* Keeps what was declared, or frees it if the same was declared before; returns that which is
 * kept. So a program may declare a kernel before each launch. */
static acui_declared *keep(acu_kernel *kernel, acui_declared *declared)
{
    for (acui_declared *older = kernel->declared; older; older = older->older)
        if (is_same(older, declared)) {
            acui_free(declared);
            return older;
        }
    declared->older = kernel->declared;
    kernel->declared = declared;
    return declared;
}

static acu_status declared_new(acu_kernel *kernel, const char *signature, bool early,
                               acui_declared **out)
{
    size_t count = count_parts(signature), length = strlen(signature);
    acui_declared *declared =
        acui_alloc(sizeof *declared + count * sizeof *declared->params + (early ? length + 1 : 0));
    if (!declared)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a kernel's signature");
    acu_status st = read_signature(kernel, signature, count, declared);
    if (st != ACU_OK) {
        acui_free(declared);
        return st;
    }
    if (early) {
        declared->text = (char *)(declared->params + count);
        memcpy(declared->text, signature, length + 1);
    }
    *out = declared;
    return ACU_OK;
}

static acu_status declare(acu_kernel *kernel, const char *signature)
{
    acui_declared *declared = NULL;
    size_t count = count_parts(signature);
    if (kernel->info.params_known && count != kernel->info.param_count)
        return acui_fail(ACU_ERR_ARGUMENTS, "%s has %zu parameters; \"%s\" declares %zu",
                         kernel->name, kernel->info.param_count, signature, count);
    ACUI_TRY(declared_new(kernel, signature, false, &declared));
    declared = keep(kernel, declared);
    /* From here on a count is known that nobody told. It is set once, so that a kernel has one
     * count. */
    if (!kernel->info.params_known) {
        kernel->info.param_count = count;
        kernel->info.params_known = true;
    }
    /* Release: launches on other threads read the array. */
    atomic_store_explicit(&kernel->params, declared->params, memory_order_release);
    return ACU_OK;
}

/* The kernel is being loaded and nothing is known of it: launches are checked against this until it
 * is. */
static acu_status declare_early(acu_kernel *kernel, const char *signature)
{
    acui_declared *declared = NULL;
    ACUI_TRY(declared_new(kernel, signature, true, &declared));
    declared = keep(kernel, declared);
    atomic_store_explicit(&kernel->early, declared, memory_order_release);
    return ACU_OK;
}

acu_status acui_declared_check(acu_kernel *kernel)
{
    const acui_declared *early = atomic_load_explicit(&kernel->early, memory_order_relaxed);
    return early ? declare(kernel, early->text) : ACU_OK;
}

acu_status acu_kernel_declare(acu_kernel *kernel, const char *signature)
{
    ACUI_CHECK(kernel, KERNEL);
    if (!signature)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_declare: the signature is NULL");
    pthread_mutex_lock(&kernel->lock);
    acui_load_state state = acui_kernel_state(kernel);
    acu_status st = state == ACUI_LOADING  ? declare_early(kernel, signature)
                    : state == ACUI_LOADED ? declare(kernel, signature)
                                           : acui_error_restore(&kernel->fault->error);
    pthread_mutex_unlock(&kernel->lock);
    return st;
}

void acui_declared_free(acu_kernel *kernel)
{
    while (kernel->declared) {
        acui_declared *declared = kernel->declared;
        kernel->declared = declared->older;
        acui_free(declared);
    }
}
