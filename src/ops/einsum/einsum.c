/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * einsum: letters are sorted into those of the batch, of rows, of columns and of the sum; each
 * operand becomes a batch of matrices, and the product gets its dimensions back.
 */
#include "ops/ops.h"

#include <acuda/einsum.h>

#include <stdio.h>
#include <string.h>

enum { TEXT = 64, OPERANDS = 2, RESULT = OPERANDS };

/* The letters of the operands and, as the last, of the result. */
typedef struct request {
    char text[TEXT];
    char letters[OPERANDS + 1][ACU_MAX_RANK + 1];
    int count;
} request;

typedef struct plan {
    acu_planning *p;
    const request *r;
    acu_shape shape[OPERANDS];
    int64_t extent[128]; /* of each letter */
    bool occurs[128];
} plan;

static acu_op *refuse(const plan *e, acu_status status, const char *why, char letter)
{
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS] = "";
    if (e->r->count > 1)
        acui_value_words(&e->p->values[1], b);
    return acu_op_fail(status, "einsum", e->p->site, "einsum \"%s\" of %s%s%s: %s '%c'", e->r->text,
                       acui_value_words(&e->p->values[0], a), *b ? " and " : "", b, why, letter);
}

static bool has(const char *letters, char c)
{
    return strchr(letters, c) != NULL;
}

/* ---- extents --------------------------------------------------------------------------------- */

static acu_op *read_operand(plan *e, int i)
{
    acu_op *failed = NULL;
    const char *letters = e->r->letters[i];
    const acu_tensor *x = acui_tensor_operand(e->p, "einsum", (size_t)i, &failed);
    if (!x)
        return failed;
    e->shape[i] = acu_tensor_shape(x);
    if (e->shape[i].rank != (int)strlen(letters))
        return refuse(e, ACU_ERR_SHAPE, "there is not one letter for each dimension of operand",
                      (char)('0' + i));
    for (int d = 0; letters[d]; d++) {
        const int c = (int)letters[d];
        if (e->occurs[c] && e->extent[c] != e->shape[i].dim[d])
            return refuse(e, ACU_ERR_SHAPE, "there are two extents of", letters[d]);
        e->occurs[c] = true;
        e->extent[c] = e->shape[i].dim[d];
    }
    return NULL;
}

static acu_op *check_letters(const plan *e)
{
    const char *a = e->r->letters[0], *b = e->r->letters[1], *out = e->r->letters[RESULT];
    for (; *out; out++)
        if (!e->occurs[(int)*out])
            return refuse(e, ACU_ERR_INVALID, "no operand has the result's", *out);
    if (e->r->count == 1)
        return NULL;
    out = e->r->letters[RESULT];
    for (int i = 0; i < 2; i++)
        for (const char *c = e->r->letters[i]; *c; c++)
            if (!has(out, *c) && !(has(a, *c) && has(b, *c)))
                return refuse(e, ACU_ERR_INVALID, "neither the result nor the other operand has",
                              *c);
    return NULL;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Puts dimensions named `from` in the order of `to`, which has the same letters. */
static acu_op *order(const plan *e, acu_op *x, const char *from, const char *to)
{
    int place[ACU_MAX_RANK];
    size_t rank = strlen(from);
    if (rank < 2 || strcmp(from, to) == 0)
        return x;
    for (size_t d = 0; d < rank; d++)
        place[d] = (int)(strchr(from, to[d]) - from);
    return acu_op_permute(x, place, rank, e->p->site);
}

/* Appends the letters of `a` that `b` has (or has not) and `c` has (or has not). */
static void pick(char *to, const char *a, const char *b, bool in_b, const char *c, bool in_c)
{
    size_t n = strlen(to);
    for (; *a; a++)
        if (has(b, *a) == in_b && has(c, *a) == in_c)
            to[n++] = *a;
    to[n] = '\0';
}

static int64_t product(const plan *e, const char *letters)
{
    int64_t n = 1;
    for (; *letters; letters++)
        n *= e->extent[(int)*letters];
    return n;
}

/* Operand i with its dimensions in the order of the three kinds, each of which becomes one. Where
 * strides do not allow that, a copy does. */
static acu_op *matrices(const plan *e, int i, const char *batch, const char *rows,
                        const char *columns)
{
    char letters[ACU_MAX_RANK + 1];
    acu_planning *p = e->p;
    snprintf(letters, sizeof letters, "%s%s%s", batch, rows, columns);
    bool in_order = strcmp(letters, e->r->letters[i]) == 0;
    bool simple = strlen(batch) < 2 && strlen(rows) < 2 && strlen(columns) < 2;
    bool dense = acu_tensor_dense(p->values[i].tensor);
    acu_op *x = order(e, acu_op_take(&p->values[i], p->site), e->r->letters[i], letters);
    if (!simple && !(in_order && dense))
        x = acu_op_elementwise(ACU_OP_COPY, &x, 1, p->site);
    acu_shape shape = ACU_SHAPE(product(e, batch), product(e, rows), product(e, columns));
    return acu_op_reshape(x, shape, p->site);
}

/* The shape of these letters; a result of none has one element. */
static acu_shape shape_of(const plan *e, const char *letters)
{
    acu_shape shape = {.rank = (int)strlen(letters)};
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = e->extent[(int)letters[d]];
    return shape.rank ? shape : ACU_SHAPE(1);
}

/* ---- one, two operands ----------------------------------------------------------------------- */

static acu_op *multiply(plan *e)
{
    char batch[ACU_MAX_RANK + 1] = "", rows[ACU_MAX_RANK + 1] = "", columns[ACU_MAX_RANK + 1] = "",
                              sum[ACU_MAX_RANK + 1] = "", whole[3 * ACU_MAX_RANK + 1];
    const char *a = e->r->letters[0], *b = e->r->letters[1], *out = e->r->letters[RESULT];
    acu_site site = e->p->site;
    pick(batch, a, b, true, out, true);
    pick(rows, a, b, false, out, true);
    pick(columns, b, a, false, out, true);
    pick(sum, a, b, true, out, false);
    acu_op *x = matrices(e, 0, batch, rows, sum), *y = matrices(e, 1, batch, sum, columns);
    snprintf(whole, sizeof whole, "%s%s%s", batch, rows, columns);
    acu_op *result = acu_op_reshape(acu_op_matmul(x, y, site), shape_of(e, whole), site);
    return order(e, result, whole, out);
}

static acu_op *sum_up(plan *e)
{
    const char *a = e->r->letters[0], *out = e->r->letters[RESULT];
    char left[ACU_MAX_RANK + 1] = "";
    acu_dims dims = {.count = 0};
    acu_op *x = acu_op_take(&e->p->values[0], e->p->site);
    for (int d = 0; a[d]; d++)
        if (!has(out, a[d]))
            dims.dim[dims.count++] = d;
    pick(left, a, out, true, a, true);
    if (dims.count)
        x = acu_op_reduce(ACU_REDUCE_SUM, x, dims, e->p->site);
    return order(e, x, left, out);
}

static acu_op *plan_einsum(acu_planning *p)
{
    plan e = {.p = p, .r = p->data};
    acu_op *failed = NULL;
    for (int i = 0; i < e.r->count && !failed; i++)
        failed = read_operand(&e, i);
    if (!failed)
        failed = check_letters(&e);
    if (failed)
        return failed;
    acu_op *x = e.r->count == 1 ? sum_up(&e) : multiply(&e);
    return acui_into(p, acu_op_elementwise(ACU_OP_COPY, &x, 1, p->site));
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Gives NULL, or what is wrong at *at. */
static const char *parse(request *r, const char **at)
{
    int which = 0, n = 0;
    for (; **at; ++*at) {
        char c = **at, *letters = r->letters[which];
        if (c == ' ')
            continue;
        if (c == ',' || (c == '-' && (*at)[1] == '>')) {
            *at += c == '-';
            if (which == RESULT || (c == ',' && which + 1 == OPERANDS))
                return "there are at most two operands, and one result";
            which = c == ',' ? which + 1 : RESULT;
            n = 0;
        } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
            return "letters, ',' and '->' are expected";
        } else if (has(letters, c)) {
            return "a letter occurs once in each operand";
        } else if (n == ACU_MAX_RANK) {
            return "there are at most six letters";
        } else {
            letters[n++] = c;
        }
        if (which < RESULT)
            r->count = which + 1;
    }
    return which == RESULT ? NULL : "the result is missing: '->'";
}

acu_op *acu_op_einsum(const char *text, acu_op *const *operands, size_t count, acu_site site)
{
    request r = {.count = 0};
    const char *at = text, *wrong;
    if (!text)
        wrong = "there is no text: NULL";
    else if (strlen(text) >= TEXT)
        wrong = "the text is too long";
    else
        wrong = parse(&r, &at);
    if (!wrong && (size_t)r.count != count)
        wrong = "there are not as many operands as the text has";
    if (wrong) {
        for (size_t i = 0; i < count && operands; i++)
            acu_op_release(operands[i]);
        return acu_op_fail(ACU_ERR_INVALID, "einsum", site, "einsum \"%.64s\", at place %d: %s",
                           text ? text : "", (int)(at - text), wrong);
    }
    snprintf(r.text, sizeof r.text, "%s", text);
    acu_custom custom = {.name = "einsum", .fn = plan_einsum, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, count, site);
}
