/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elementwise operations from expressions: the kernel's source, what was compiled, and the op. An
 * expression keeps up to KEPT kernels, one for each use, device and dtype; a new kernel can be
 * launched while it is being compiled.
 */
#include "ops/expression.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/object.h"
#include "base/unpack.h"

#include <acuda/future.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define KEPT 16


struct acu_expression {
    acui_object object;
    pthread_mutex_t lock; /* guards what follows, except parsed */
    struct {
        acui_expression_for of; /* the device is the kernel's, and held by it */
        acu_kernel *kernel; /* NULL: the place is free */
    } kept[KEPT];
    unsigned next; /* the place that is freed next */
    acui_parsed parsed; /* the types of operands aside */
    char text[ACUI_EXPRESSION_TEXT + 1];
};

/* ---- what the kernel does -------------------------------------------------------------------- */

static const char loop[] =
    "INLINE E number(const acui_operand &o) { return to_e(o.scalar, o.imaginary); }\n"
    "static __device__ __forceinline__ long long place(const acui_fused &p, int k, long long i)\n"
    "{\n"
    "    long long offset = 0;\n"
    "    for (int d = p.index.rank - 1; d >= 0; d--) {\n"
    "        long long q = d == 0 ? 0 : p.index.wide ? i / p.index.dim[d]\n"
    "            : (long long)((__umulhi((unsigned)i, p.index.magic[d]) + (unsigned)i)\n"
    "                          >> p.index.shift[d]);\n"
    "        offset += (d == 0 ? i : i - q * p.index.dim[d]) * p.at[k].stride[d];\n"
    "        i = q;\n"
    "    }\n"
    "    return offset;\n"
    "}\n"
    "enum { V = 16 / sizeof(S), U = N <= 2 && sizeof(S) > 2 ? 4 : 2, STEP = 256 };\n"
    "struct __align__(sizeof(S) * V) pack { S e[V]; };\n"
    "struct __align__(sizeof(O) * V) result { O e[V]; };\n"
    "extern \"C\" __global__ void __launch_bounds__(256) fused(O *out, ARGUMENTS, acui_fused p)\n"
    "{\n"
    "    const S *const in[N] = {NAMES};\n"
    "    unsigned long long low = (unsigned long long)out;\n"
    "    for (int k = 0; k < N; k++) low |= (unsigned long long)in[k];\n"
    "    bool wide = p.linear && (low & (sizeof(pack) - 1)) == 0;\n"
    "    const long long chunk = (long long)STEP * V * U;\n"
    "    const long long turn = gridDim.x * chunk;\n"
    "    long long first = blockIdx.x * chunk;\n"
    "    for (; wide && first + chunk <= p.elements; first += turn) {\n"
    "        pack x[N][U];\n"
    "        result y[U];\n"
    "        const long long at = first / V + threadIdx.x;\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < N; k++)\n"
    "            if (!p.at[1 + k].is_scalar)\n"
    "#pragma unroll\n"
    "                for (int u = 0; u < U; u++) x[k][u] = ((const pack *)in[k])[at + u * STEP];\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < U; u++) {\n"
    "#pragma unroll\n"
    "            for (int i = 0; i < V; i++) {\n"
    "                E v[N];\n"
    "#pragma unroll\n"
    "                for (int k = 0; k < N; k++)\n"
    "                    v[k] = p.at[1 + k].is_scalar ? number(p.at[1 + k]) : from(x[k][u].e[i]);\n"
    "                put(y[u].e[i], value(v));\n"
    "            }\n"
    "            ((result *)out)[at + u * STEP] = y[u];\n"
    "        }\n"
    "    }\n"
    "    for (; first < p.elements; first += turn)\n"
    "        for (long long i = first + threadIdx.x; i < p.elements && i < first + chunk;\n"
    "             i += STEP) {\n"
    "            E v[N];\n"
    "#pragma unroll\n"
    "            for (int k = 0; k < N; k++)\n"
    "                v[k] = p.at[1 + k].is_scalar ? number(p.at[1 + k])\n"
    "                                             : from(in[k][place(p, 1 + k, i)]);\n"
    "            put(out[place(p, 0, i)], value(v));\n"
    "        }\n"
    "}\n";

static const acui_expression_use fused_use = {"fused", loop, false},
                                 part_use = {"fused", loop, true};

/* ---- what was compiled ----------------------------------------------------------------------- */

extern const unsigned char acui_header_complex_math[], acui_header_expression_z[],
    acui_header_expression_i[];
extern const unsigned acui_header_complex_math_bytes, acui_header_expression_z_bytes,
    acui_header_expression_i_bytes;
/* What sources of complex numbers and of integers include; the library has it packed. */
static const struct {
    const char *name;
    const unsigned char *packed;
    const unsigned *bytes;
} headers[] = {
    {"complex_math.cuh", acui_header_complex_math, &acui_header_complex_math_bytes},
    {"expression_z.cuh", acui_header_expression_z, &acui_header_expression_z_bytes},
    {"expression_i.cuh", acui_header_expression_i, &acui_header_expression_i_bytes},
};
enum { HEADERS = sizeof headers / sizeof *headers };

/* To be freed; NULL: there is no memory. */
static char *header_text(int i)
{
    size_t bytes = acui_packed_size(headers[i].packed, *headers[i].bytes);
    char *text = acui_alloc(bytes + 1);
    if (text)
        acui_unpack(headers[i].packed, *headers[i].bytes, text, bytes);
    return text;
}

/* Starts compiling. The kernel can be launched at once. */
static acu_status load(const acui_expression_for *of, const acu_module_source *source,
                       acu_kernel **kernel)
{
    acu_future *future = NULL;
    acu_module *module = NULL;
    acu_status status = acu_module_load_async(of->device, source, &future);
    if (status == ACU_OK)
        status = acu_future_module(future, &module);
    if (status == ACU_OK)
        status = acu_kernel_get(module, of->use->kernel, kernel);
    acu_module_release(module);
    acu_future_release(future);
    return status;
}

static bool is_integer(acu_dtype dtype)
{
    char class = acui_class_of(dtype);
    return (class == 'i' || class == 'l') && dtype != ACU_BOOL;
}

static acu_status begin(acu_expression *e, const acui_expression_for *of, acu_kernel **kernel)
{
    static const char *const core[] = {"ACUDA_PRELUDE_CORE"}; /* shorter to compile */
    acu_compile_options options = {.size = sizeof options, .defines = core, .define_count = 1};
    acu_header given[HEADERS];
    char *text = acui_alloc_raw(ACUI_EXPRESSION_SOURCE), *own[HEADERS] = {NULL};
    bool complex = acui_is_complex(of->dtype), wide = complex || is_integer(of->dtype), all = text;
    for (int i = 0; i < HEADERS && all && wide; i++) {
        own[i] = header_text(i);
        given[i] = (acu_header){headers[i].name, own[i]};
        all = own[i];
    }
    options.headers = wide ? given : NULL;
    options.header_count = wide ? HEADERS : 0;
    options.no_fma = complex; /* as in other operations on them */
    options.define_count = !complex;
    acu_status status = ACU_ERR_NO_MEMORY;
    if (all) {
        acui_expression_write(&e->parsed, of, text);
        acu_module_source source = {.size = sizeof source, .cuda = text, .compile = &options};
        status = load(of, &source, kernel);
    } else
        acui_fail(status, "no memory for the source of a fused operation");
    acui_free(text);
    for (int i = 0; i < HEADERS; i++)
        acui_free(own[i]);
    return status;
}

static bool equal(const acui_expression_for *a, const acui_expression_for *b)
{
    return a->device == b->device && a->dtype == b->dtype && a->complex == b->complex &&
           a->use == b->use;
}

/* The place where the kernel is kept, or is to be kept. Frees the place of a kernel whose
 * compilation failed, or of another one if all are taken; *failed is that kernel. The lock is
 * held. */
static unsigned place_of(acu_expression *e, const acui_expression_for *of, acu_kernel **failed)
{
    unsigned i = 0;
    while (i < KEPT && !(e->kept[i].kernel && equal(&e->kept[i].of, of)))
        i++;
    if (i == KEPT) {
        i = e->next;
        e->next = (e->next + 1) % KEPT;
        *failed = e->kept[i].kernel;
        e->kept[i].kernel = NULL;
        return i;
    }
    acu_status status = acu_kernel_poll(e->kept[i].kernel);
    if (status != ACU_OK && status != ACU_NOT_READY) {
        *failed = e->kept[i].kernel;
        e->kept[i].kernel = NULL;
    }
    return i;
}

acu_status acui_expression_kernel(acu_expression *e, const acui_expression_for *of,
                                  acu_kernel **kernel)
{
    acu_kernel *old = NULL;
    acu_status status = ACU_OK;
    pthread_mutex_lock(&e->lock);
    unsigned i = place_of(e, of, &old);
    if (!e->kept[i].kernel)
        status = begin(e, of, &e->kept[i].kernel);
    e->kept[i].of = *of;
    *kernel = acu_kernel_retain(e->kept[i].kernel);
    pthread_mutex_unlock(&e->lock);
    acu_kernel_release(old);
    return status;
}

bool acui_expression_takes(acu_dtype dtype)
{
    return (acui_class_of(dtype) && dtype != ACU_BOOL) || acui_is_complex(dtype);
}

bool acui_expression_bits(const acu_val *scalar, acu_dtype dtype, uint64_t bits[2], char *why)
{
    return acui_is_complex(dtype) ? acui_scalar_parts(scalar, bits, why)
                                  : acui_scalar_bits(scalar, dtype, bits, why);
}

acu_status acui_expression_types(acu_expression *e, acu_dtype dtype, const acu_val *values,
                                 unsigned *complex, bool *result)
{
    acui_operand_types types = {0, 0};
    const int bits = 8 * (int)acu_dtype_bytes(dtype);
    *complex = 0;
    *result = false;
    if (!acui_is_complex(dtype) && (e->parsed.makes_complex || !is_integer(dtype)))
        return e->parsed.makes_complex
                   ? acui_fail(ACU_ERR_DTYPE, "\"%.200s\": complex() is for tensors of c64 and "
                               "c128, and these are of %s", e->text, acu_dtype_name(dtype))
                   : ACU_OK;
    for (size_t i = 0; i < e->parsed.operands; i++)
        if (acui_is_complex(dtype) &&
            (values[i].kind == ACU_TENSOR || acui_is_complex(values[i].dtype)))
            types.complex |= 1u << i;
    if (is_integer(dtype))
        types.largest = UINT64_MAX >> (64 - (bits < 32 ? 32 : bits)) >>
                        (acu_dtype_kind_of(dtype) == ACU_KIND_SIGNED || bits < 32);
    *complex = types.complex;
    acui_parsed *parsed = acui_alloc_raw(sizeof *parsed);
    if (!parsed)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for an expression");
    acu_status status = acui_expression_parse(e->text, &types, parsed);
    *result = parsed->complex;
    acui_free(parsed);
    return status;
}

/* ---- handles --------------------------------------------------------------------------------- */

acu_status acu_expression_create(const char *text, acu_expression **expression)
{
    ACUI_REFUSE_FORK();
    if (!text || !expression)
        return acui_fail(ACU_ERR_INVALID, "acu_expression_create: %s",
                         text ? "nowhere to put the expression" : "the text is NULL");
    acu_expression *e = acui_object_new(ACU_OBJECT_EXPRESSION, sizeof *e);
    if (!e)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for an expression");
    pthread_mutex_init(&e->lock, NULL);
    acu_status status = acui_expression_parse(text, &(acui_operand_types){0, 0}, &e->parsed);
    if (status == ACU_OK)
        memcpy(e->text, text, strlen(text) + 1); /* which fits now */
    if (status == ACU_OK)
        *expression = e;
    else
        acu_expression_release(e);
    return status;
}

acu_expression *acu_expression_retain(acu_expression *expression)
{
    if (acui_object_is(expression, ACU_OBJECT_EXPRESSION))
        acui_object_retain(expression);
    return expression;
}

void acu_expression_release(acu_expression *expression)
{
    if (!acui_object_is(expression, ACU_OBJECT_EXPRESSION) || !acui_object_drop(expression))
        return;
    for (int i = 0; i < KEPT; i++)
        acu_kernel_release(expression->kept[i].kernel);
    pthread_mutex_destroy(&expression->lock);
    acui_object_free(expression);
}

size_t acu_expression_operands(const acu_expression *expression)
{
    return acui_object_is(expression, ACU_OBJECT_EXPRESSION) ? expression->parsed.operands : 0;
}

const char *acu_expression_operand(const acu_expression *expression, size_t i)
{
    return i < acu_expression_operands(expression) ? expression->parsed.names[i] : NULL;
}

/* ---- the op ---------------------------------------------------------------------------------- */

typedef struct plan {
    acu_planning *p;
    const acui_parsed *parsed;
    acu_dtype dtype, result;
    acu_shape shape;
} plan;

static acu_op *check_operand(plan *f, size_t i)
{
    const acu_val *value = &f->p->values[i];
    char words[ACUI_OPS_WORDS];
    if (value->kind == ACU_SCALAR)
        return NULL;
    if (value->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, "fused", f->p->site,
                           "fused: %s is %s, and must be a tensor or a number",
                           f->parsed->names[i], acui_value_words(value, words));
    acu_dtype dtype = acu_tensor_dtype(value->tensor);
    if (!acui_expression_takes(dtype) || (f->dtype && dtype != f->dtype))
        return acu_op_fail(ACU_ERR_DTYPE, "fused", f->p->site,
                           "fused: %s is %s; all tensors must be of the same dtype, of numbers",
                           f->parsed->names[i], acui_value_words(value, words));
    if (!f->dtype)
        f->shape = acu_tensor_shape(value->tensor);
    else if (!acui_broadcast(&f->shape, acu_tensor_shape(value->tensor)))
        return acu_op_fail(ACU_ERR_SHAPE, "fused", f->p->site, "fused: %s is %s, which does not "
                           "broadcast with those before it", f->parsed->names[i],
                           acui_value_words(value, words));
    f->dtype = dtype;
    return NULL;
}

static acu_op *fill_params(plan *f, acui_fused *params)
{
    const acu_tensor *tensors[1 + ACUI_FUSED_OPERANDS] = {f->p->out.tensor};
    char why[ACUI_OPS_WORDS];
    params->elements = acu_shape_elements(f->shape);
    for (size_t i = 0; i < f->p->count; i++) {
        uint64_t bits[2] = {0};
        tensors[1 + i] = f->p->values[i].tensor;
        if (tensors[1 + i])
            continue;
        if (!acui_expression_bits(&f->p->values[i], f->dtype, bits, why))
            return acu_op_fail(ACU_ERR_DTYPE, "fused", f->p->site, "fused: %s: %s",
                               f->parsed->names[i], why);
        params->at[1 + i].is_scalar = 1;
        params->at[1 + i].scalar = bits[0];
        params->at[1 + i].imaginary = bits[1];
    }
    acui_layout(&params->index, params->at, f->shape, tensors, (int)f->p->count + 1);
    params->linear = acui_is_linear(&params->index, params->at, (int)f->p->count + 1);
    return NULL;
}

static acu_op *launch(plan *f, acu_kernel *kernel, const acui_fused *params, acu_op *out)
{
    acu_arg args[2 + ACUI_FUSED_OPERANDS];
    size_t count = 0;
    args[count++] = acu_arg_op(out, ACU_WRITE);
    for (size_t i = 0; i < f->p->count; i++)
        args[count++] = f->p->values[i].tensor
                            ? acu_arg_op(acu_op_take(&f->p->values[i], f->p->site), ACU_READ)
                            : acu_u64(0);
    args[count++] = acu_arg_struct(params, sizeof *params);
    const int64_t bytes = (int64_t)acu_dtype_bytes(f->dtype);
    /* Vectors of 16 bytes per thread, as in the kernel. */
    const int64_t vectors = f->p->count <= 2 && bytes > 2 ? 4 : 2;
    int64_t blocks = acui_blocks(params->elements, vectors * ACUI_BLOCK * 16 / bytes);
    acu_config config = ACU_GRID_BLOCK(blocks, 1, 1, ACUI_BLOCK, 1, 1);
    acu_op *op = acu_op_launch(kernel, &config, args, count, f->p->site);
    return acu_op_nth(acu_op_named(op, "fused"), 0, f->p->site);
}

static acu_op *plan_fused(acu_planning *p)
{
    acu_expression *e = p->user;
    plan f = {.p = p, .parsed = &e->parsed};
    acu_op *failed = NULL;
    for (size_t i = 0; i < p->count && !failed; i++)
        failed = check_operand(&f, i);
    if (!failed && !f.dtype)
        failed = acu_op_fail(ACU_ERR_INVALID, "fused", p->site,
                             "fused: one operand must be a tensor");
    acui_expression_for of = {.device = p->device, .dtype = f.dtype};
    bool complex = false; /* the result */
    if (!failed && acui_expression_types(e, f.dtype, p->values, &of.complex, &complex) != ACU_OK)
        failed = acu_op_fail(acu_last_error()->status, "fused", p->site, NULL);
    of.use = acui_is_complex(f.dtype) && !complex ? &part_use : &fused_use;
    f.result = complex ? f.dtype : acui_part_of(f.dtype);
    acui_fused params = {0};
    if (!failed && acu_shape_elements(f.shape) < 0)
        return acui_result(p, "fused", f.result, f.shape); /* which says that there are too many
                                                            * elements */
    if (!failed)
        failed = fill_params(&f, &params);
    acu_kernel *kernel = NULL;
    if (!failed && acui_expression_kernel(e, &of, &kernel) != ACU_OK)
        failed = acu_op_fail(acu_last_error()->status, "fused", p->site, NULL);
    if (failed)
        return failed;
    acu_op *out = acui_result(p, "fused", f.result, f.shape);
    acu_op *op = acu_op_status(out, NULL) == ACU_OK ? launch(&f, kernel, &params, out) : out;
    acu_kernel_release(kernel);
    return op;
}

static void release(void *expression)
{
    acu_expression_release(expression);
}

acu_op *acu_op_fused(acu_expression *expression, acu_op *const *operands, size_t count,
                     acu_site site)
{
    acu_op *failed = NULL;
    if (acui_object_check(expression, ACU_OBJECT_EXPRESSION, "acu_fused") != ACU_OK)
        failed = acu_op_fail(acu_last_error()->status, "fused", site, NULL);
    else if (count != expression->parsed.operands)
        failed = acu_op_fail(ACU_ERR_ARGUMENTS, "fused", site,
                             "the expression has %zu operands, and got %zu",
                             expression->parsed.operands, count);
    for (size_t i = 0; failed && operands && i < count; i++)
        acu_op_release(operands[i]);
    if (failed)
        return failed;
    acu_custom custom = {.name = "fused",
                         .fn = plan_fused,
                         .user = {acu_expression_retain(expression), release}};
    return acu_op_custom(custom, operands, count, site);
}
