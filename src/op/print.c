/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ops as text: each op once, even if several others use it. Nothing is planned, and no function of
 * the program's is called.
 *
 * Other threads may be planning parts of the op, if the program handed these over in another
 * submission. Planning takes an op's inputs away only after the op has left the state FRESH, which
 * any op that somebody else holds does under the share lock. So under that lock an op that is FRESH
 * has its inputs, and so has everything below it that is FRESH.
 */
#include "op/print.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void acui_print(acui_out *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = out->needed < out->room ? out->room - out->needed : 0;
    int length = vsnprintf(room ? out->text + out->needed : NULL, room, format, args);
    va_end(args);
    out->needed += length > 0 ? (size_t)length : 0;
}

void acui_print_quoted(acui_out *out, const char *text)
{
    for (; *text; text++)
        acui_print(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* Ops, numbered in the order in which they are found. */
typedef struct found {
    acu_op **list;
    size_t count, room;
    acui_map numbers; /* by op: its number, plus one */
} found;

static size_t number_of(const found *f, const acu_op *op)
{
    return (size_t)(uintptr_t)acui_map_find(&f->numbers, op) - 1;
}

static bool add(found *f, acu_op *op)
{
    if (!op || acui_map_find(&f->numbers, op))
        return true;
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 64;
        acu_op **list = acui_grow(f->list, f->room * sizeof *list, room * sizeof *list);
        if (!list)
            return false;
        f->list = list;
        f->room = room;
    }
    f->list[f->count++] = op;
    return acui_map_put(&f->numbers, op, (void *)(uintptr_t)f->count);
}

/* How many inputs can be looked at: none, if the op is being planned or was. */
static size_t input_count(const acu_op *op)
{
    return op->state == ACUI_OP_FRESH ? op->input_count : 0;
}

static bool find_all(found *f, acu_op *op)
{
    bool all = add(f, op);
    for (size_t i = 0; i < f->count && all; i++)
        for (size_t k = 0; k < input_count(f->list[i]) && all; k++)
            all = add(f, f->list[i]->inputs[k]);
    return all;
}

static const char *scalar_words(const acu_val *scalar, char *text, size_t bytes)
{
    int n = snprintf(text, bytes, "%s 0x%llx", acu_dtype_name(scalar->dtype),
                     (unsigned long long)scalar->bits);
    if (scalar->dtype == ACU_C128)
        snprintf(text + n, bytes - (size_t)n, " 0x%llx", (unsigned long long)scalar->imaginary);
    return text;
}

/* What the op holds besides its inputs. */
static void print_own(acui_out *out, const acu_op *op)
{
    char words[96];
    if (op->class == &acui_class_VALUE && op->u.value.tensor)
        acui_print(out, " %s", acui_tensor_words(op->u.value.tensor, words));
    else if (op->class == &acui_class_VALUE)
        acui_print(out, " %s",
                   scalar_words(&op->u.value, words, sizeof words));
    else if (op->class == &acui_class_PARTITION)
        acui_print(out, " %s", acui_shape_words(op->u.value.tile, words));
    else if (op->class == &acui_class_EMPTY || op->class == &acui_class_CONST)
        acui_print(out, " %s %s", acu_dtype_name(op->u.make.dtype),
                   acui_shape_words(op->u.make.shape, words));
}

static void label(acui_out *out, const acu_op *op)
{
    const char *name = acui_op_name(op);
    if (strcmp(name, op->class->name) == 0)
        acui_print(out, "%s", name);
    else {
        acui_print(out, "%s ", op->class->name);
        acui_print_quoted(out, name);
    }
    if (op->state == ACUI_OP_PLANNING) {
        acui_print(out, " (being planned)");
        return;
    }
    print_own(out, op);
    if (op->state != ACUI_OP_FRESH)
        acui_print(out, op->rest->fault ? " (planned, failed)" : " (planned)");
}

static void print_lines(acui_out *out, const found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const acu_op *op = f->list[i];
        acui_print(out, "%zu ", i);
        label(out, op);
        if (op->site.file)
            acui_print(out, ", %s:%d", op->site.file, op->site.line);
        for (size_t k = 0, n = 0; k < input_count(op); k++)
            if (op->inputs[k])
                acui_print(out, "%s%zu", n++ ? ", " : " of ", number_of(f, op->inputs[k]));
        acui_print(out, "\n");
    }
}

static void print_graph(acui_out *out, const found *f)
{
    acui_print(out, "digraph op {\n  node [shape=box];\n");
    for (size_t i = 0; i < f->count; i++) {
        const acu_op *op = f->list[i];
        acui_print(out, "  o%zu [label=\"", i);
        label(out, op);
        if (op->site.file) {
            acui_print(out, "\\n");
            acui_print_quoted(out, op->site.file);
            acui_print(out, ":%d", op->site.line);
        }
        acui_print(out, "\"];\n");
        for (size_t k = 0; k < input_count(op); k++)
            if (op->inputs[k])
                acui_print(out, "  o%zu -> o%zu;\n", number_of(f, op->inputs[k]), i);
    }
    acui_print(out, "}\n");
}

acu_status acui_print_op(acui_out *out, acu_op *op, bool dot)
{
    found f = {.list = NULL};
    acui_share_lock();
    bool all = find_all(&f, op);
    if (all && dot)
        print_graph(out, &f);
    else if (all)
        print_lines(out, &f);
    acui_share_unlock();
    acui_free(f.list);
    acui_map_clear(&f.numbers);
    return all ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory to explain an op");
}
