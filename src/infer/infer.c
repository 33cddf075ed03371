/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running a model as an operation: its inputs are checked against what the model says, and brought
 * to where its provider (run.c) reads them. */
#include "infer/model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "memory/memory.h"
#include "memory/pool.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

static const char name[] = "infer";

/* ---- checking -------------------------------------------------------------------------------- */

typedef struct request {
    acu_model *model; /* the op's user data, too */
    bool shaped;      /* shapes of outputs follow */
} request;

typedef struct planned {
    acu_planning *p;
    acu_model *m;
    const acu_shape *shapes; /* of the outputs, as the program says; NULL: it does not */
} planned;

/* "f32 [batch, 3]" */
static const char *port_words(const acui_port *port, char *text)
{
    size_t n = (size_t)snprintf(text, ACUI_OPS_WORDS, "%s [", acu_dtype_name(port->dtype));
    for (int d = 0; d < port->shape.rank && n < ACUI_OPS_WORDS; d++) {
        const char *between = d ? ", " : "";
        int more = port->shape.dim[d]
                       ? snprintf(text + n, ACUI_OPS_WORDS - n, "%s%lld", between,
                                  (long long)port->shape.dim[d])
                       : snprintf(text + n, ACUI_OPS_WORDS - n, "%s%.24s", between,
                                  port->symbols[d] ? port->symbols[d] : "any");
        n += more > 0 ? (size_t)more : 0;
    }
    if (n < ACUI_OPS_WORDS)
        snprintf(text + n, ACUI_OPS_WORDS - n, "]");
    return text;
}

static acu_op *refuse_input(const planned *x, acu_status status, size_t i, const char *why)
{
    char have[ACUI_OPS_WORDS], want[ACUI_OPS_WORDS];
    const acui_port *port = &x->m->in.list[i];
    return acu_op_fail(status, name, x->p->site, "%s: input %zu (\"%.60s\") is %s, and the model "
                       "takes %s%s", name, i, port->name,
                       acui_value_words(&x->p->values[i], have), port_words(port, want), why);
}

/* The extent that inputs have for the name; 0: none has. */
static int64_t extent_of(const planned *x, const char *symbol, size_t inputs)
{
    for (size_t i = 0; i < inputs; i++)
        for (int d = 0; d < x->m->in.list[i].rank; d++) {
            const char *other = x->m->in.list[i].symbols[d];
            if (other && strcmp(other, symbol) == 0)
                return acu_tensor_shape(x->p->values[i].tensor).dim[d];
        }
    return 0;
}

static acu_op *check_input(const planned *x, size_t i)
{
    const acui_port *port = &x->m->in.list[i];
    const acu_tensor *t = x->p->values[i].kind == ACU_TENSOR ? x->p->values[i].tensor : NULL;
    if (!t)
        return refuse_input(x, ACU_ERR_ARGUMENTS, i, "");
    acu_shape shape = acu_tensor_shape(t);
    if (acu_tensor_dtype(t) != port->dtype)
        return refuse_input(x, ACU_ERR_DTYPE, i, "");
    if (shape.rank != port->shape.rank)
        return refuse_input(x, ACU_ERR_SHAPE, i, "");
    for (int d = 0; d < port->shape.rank; d++) {
        const char *symbol = port->symbols[d];
        if (port->shape.dim[d] && port->shape.dim[d] != shape.dim[d])
            return refuse_input(x, ACU_ERR_SHAPE, i, "");
        if (symbol && extent_of(x, symbol, i + 1) != shape.dim[d])
            return refuse_input(x, ACU_ERR_SHAPE, i, ", where extents of one name are equal");
    }
    if (!t->buffer->host && t->buffer->device != x->m->device)
        return refuse_input(x, ACU_ERR_DEVICE, i, " on the device that it was loaded for");
    return NULL;
}

static acu_op *check(const planned *x)
{
    acu_op *failed = NULL;
    if (x->p->count != x->m->in.count)
        return acu_op_fail(ACU_ERR_ARGUMENTS, name, x->p->site, "%s: %zu inputs, and the model "
                           "takes %zu, the first of them \"%.60s\"", name, x->p->count,
                           x->m->in.count, x->m->in.count ? x->m->in.list[0].name : "");
    for (size_t i = 0; i < x->p->count && !failed; i++)
        failed = check_input(x, i);
    if (!failed && x->p->device != x->m->device)
        return acu_op_fail(ACU_ERR_DEVICE, name, x->p->site, "%s: it would run on device %d, and "
                           "the model was loaded for device %d", name,
                           x->p->device->info.ordinal, x->m->device->info.ordinal);
    return failed;
}

/* Whether the program's shape is one that the output may have. */
static bool may_be(const acui_port *port, acu_shape shape)
{
    if (acu_shape_elements(shape) < 0 || shape.rank != port->shape.rank)
        return false;
    for (int d = 0; d < shape.rank; d++)
        if (port->shape.dim[d] && port->shape.dim[d] != shape.dim[d])
            return false;
    return true;
}

static acu_op *shape_of(const planned *x, size_t i, acu_shape *shape)
{
    const acui_port *port = &x->m->out.list[i];
    char want[ACUI_OPS_WORDS], have[ACUI_OPS_WORDS];
    *shape = x->shapes && x->shapes[i].rank ? x->shapes[i] : port->shape;
    for (int d = 0; shape->rank == port->shape.rank && d < shape->rank; d++) {
        if (shape->dim[d] == 0 && port->symbols[d])
            shape->dim[d] = extent_of(x, port->symbols[d], x->m->in.count);
        if (shape->dim[d] == 0)
            return acu_op_fail(ACU_ERR_SHAPE, name, x->p->site, "%s: output %zu (\"%.60s\") is "
                               "%s: extent %d follows from no input; acu_infer_as says it", name,
                               i, port->name, port_words(port, want), d);
    }
    if (may_be(port, *shape))
        return NULL;
    return acu_op_fail(ACU_ERR_SHAPE, name, x->p->site, "%s: output %zu (\"%.60s\") is %s, and "
                       "not %s", name, i, port->name, port_words(port, want),
                       acui_words(port->dtype, *shape, have));
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Where the model reads the input: dense, and in the memory of its provider. */
static acu_op *input(const planned *x, size_t i)
{
    const acu_tensor *t = x->p->values[i].tensor;
    acu_site site = x->p->site;
    acu_dtype dtype = acu_tensor_dtype(t);
    acu_shape shape = acu_tensor_shape(t);
    bool on_host = t->buffer->host || t->buffer->kind == ACU_MEMORY_MANAGED;
    bool managed = t->buffer->kind == ACU_MEMORY_MANAGED, dense = t->dense;
    acu_op *op = acu_op_take(&x->p->values[i], site);
    if (x->m->provider == ACU_PROVIDER_CPU)
        return on_host && dense ? op : acu_op_to_host(op, site);
    if ((!on_host || managed) && dense)
        return op;
    return acu_op_nth(acu_op_copy(acu_op_empty(dtype, shape, site), op, site), 0, site);
}

/* Pinned memory for the time of the run. */
static acu_op *host_output(const planned *x, acu_dtype dtype, acu_shape shape)
{
    acu_pool *pool = acui_pool_of(x->m->device, ACU_MEMORY_PINNED, false);
    size_t bytes = (size_t)acu_shape_elements(shape) * acu_dtype_bytes(dtype);
    acu_buffer *buffer;
    acu_tensor *tensor = NULL;
    acu_status st = pool ? acui_buffer_soon(pool, bytes, &buffer) : ACU_ERR_NO_MEMORY;
    if (st == ACU_OK) {
        st = acu_tensor_create(buffer, 0, dtype, shape, &tensor);
        acu_buffer_release(buffer);
    }
    if (st != ACU_OK)
        return acu_op_fail(st, name, x->p->site, NULL);
    acu_op *op = acu_op_value(tensor, x->p->site);
    acu_tensor_release(tensor);
    return op;
}

static acu_op *result(const planned *x, acu_dtype dtype, acu_shape shape)
{
    return x->m->out.count == 1 ? acui_result(x->p, name, dtype, shape)
                                : acu_op_empty(dtype, shape, x->p->site);
}

/* The outputs of the call `done`, where they belong. */
static acu_op *outputs(const planned *x, acu_op *done, size_t count, const acu_shape *shapes)
{
    acu_site site = x->p->site;
    size_t first = x->m->in.count;
    acu_op **all = ACUI_NEW_ARRAY(acu_op *, count);
    if (!all) {
        acu_op_release(done);
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", name);
        return acu_op_fail(ACU_ERR_NO_MEMORY, name, site, NULL);
    }
    acu_op_unzip(done, all, count, site);
    for (size_t i = 0; i < count; i++) {
        if (i < first)
            acu_op_release(all[i]);
        else if (x->m->provider == ACU_PROVIDER_CPU)
            all[i] = acu_op_nth(acu_op_copy(result(x, x->m->out.list[i - first].dtype,
                                                   shapes[i - first]), all[i], site), 0, site);
    }
    acu_op *op = count == first + 1 ? all[first] : acu_op_zip(all + first, count - first, site);
    acui_free(all);
    return op;
}

static acu_op *plan_call(const planned *x, acu_arg *args, acu_shape *shapes)
{
    size_t in = x->m->in.count, count = in + x->m->out.count;
    for (size_t i = 0; i < x->m->out.count; i++) {
        acu_op *failed = shape_of(x, i, &shapes[i]);
        if (failed)
            return failed;
    }
    for (size_t i = 0; i < in; i++)
        args[i] = acu_arg_op(input(x, i), ACU_READ);
    for (size_t i = in; i < count; i++) {
        acu_dtype dtype = x->m->out.list[i - in].dtype;
        args[i] = acu_arg_op(x->m->provider == ACU_PROVIDER_CPU
                                 ? host_output(x, dtype, shapes[i - in])
                                 : result(x, dtype, shapes[i - in]),
                             ACU_WRITE);
    }
    return outputs(x, acui_infer_call(x->m, args, count, x->p->site), count, shapes);
}

static acu_op *plan(acu_planning *p)
{
    request r;
    memcpy(&r, p->data, sizeof r);
    const char *behind = (const char *)p->data + sizeof r;
    planned x = {.p = p, .m = r.model,
                 .shapes = r.shaped ? (const acu_shape *)(const void *)behind : NULL};
    acu_op *op = check(&x);
    if (op)
        return op;
    acu_arg *args = ACUI_NEW_ARRAY(acu_arg, x.m->in.count + x.m->out.count);
    acu_shape *shapes = ACUI_NEW_ARRAY(acu_shape, x.m->out.count + 1);
    if (args && shapes) {
        op = plan_call(&x, args, shapes);
    } else {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", name);
        op = acu_op_fail(ACU_ERR_NO_MEMORY, name, p->site, NULL);
    }
    acui_free(args);
    acui_free(shapes);
    return op;
}

/* ---- constructing ---------------------------------------------------------------------------- */

static void release_model(void *model)
{
    acu_model_release(model);
}

static acu_op *failed(acu_status status, acu_op *const *inputs, size_t count, acu_site site)
{
    for (size_t i = 0; inputs && i < count; i++)
        acu_op_release(inputs[i]);
    return acu_op_fail(status, name, site, NULL);
}

acu_op *acu_op_infer(acu_model *model, const acu_shape *shapes, acu_op *const *inputs,
                     size_t count, acu_site site)
{
    if (acui_object_check(model, ACU_OBJECT_MODEL, "acu_infer") != ACU_OK)
        return failed(acu_last_error()->status, inputs, count, site);
    if (!inputs && count) {
        acui_fail(ACU_ERR_INVALID, "acu_infer: the inputs are NULL");
        return failed(ACU_ERR_INVALID, inputs, count, site);
    }
    size_t more = shapes ? model->out.count * sizeof *shapes : 0, bytes = sizeof(request) + more;
    char *data = acui_alloc(bytes);
    if (!data) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", name);
        return failed(ACU_ERR_NO_MEMORY, inputs, count, site);
    }
    request r;
    memset(&r, 0, sizeof r);
    r.model = model;
    r.shaped = shapes != NULL;
    memcpy(data, &r, sizeof r);
    if (shapes)
        memcpy(data + sizeof r, shapes, more);
    acu_op *op = acu_op_custom((acu_custom){.name = name,
                                            .fn = plan,
                                            .data = data,
                                            .bytes = bytes,
                                            .user = {acu_model_retain(model), release_model}},
                               inputs, count, site);
    acui_free(data);
    return op;
}
