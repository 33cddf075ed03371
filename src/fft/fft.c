/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fourier transforms as operations: shapes, checked before cuFFT is asked for a plan (cufft.c), or
 * acuda's own kernels take it (own.c). */
#include "fft/cufft.h"
#include "fft/own.h"

#include "base/error.h"
#include "memory/memory.h"
#include "ops/ops.h"

#include <acuda/fft.h>

#include <string.h>

typedef enum kind { COMPLEX, TO_COMPLEX, TO_REAL } kind;

typedef struct request {
    int kind, rank, sign;
    int64_t n; /* of TO_REAL: the last dimension of the result */
} request;

static const char *const names[] = {"fft", "rfft", "irfft"};

static acu_op *refuse(const acu_planning *p, const request *r, acu_status status, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, names[r->kind], p->site, "%s of %s: %s", names[r->kind],
                       acui_value_words(&p->values[0], words), why);
}

static acu_op *check(const acu_planning *p, const request *r)
{
    const acu_tensor *t = p->values[0].kind == ACU_TENSOR ? p->values[0].tensor : NULL;
    if (!t)
        return refuse(p, r, ACU_ERR_INVALID, "it takes a tensor");
    acu_shape shape = acu_tensor_shape(t);
    acu_dtype dtype = acu_tensor_dtype(t);
    if (r->kind == TO_COMPLEX && dtype != ACU_F32 && dtype != ACU_F64)
        return refuse(p, r, ACU_ERR_DTYPE, "it must be f32 or f64 (acu_fft takes complex numbers)");
    if (r->kind != TO_COMPLEX && !acui_is_complex(dtype))
        return refuse(p, r, ACU_ERR_DTYPE, r->kind == COMPLEX
                      ? "it must be c64 or c128 (acu_rfft takes real numbers)"
                      : "it must be c64 or c128");
    if (r->rank < 1 || r->rank > 3)
        return refuse(p, r, ACU_ERR_INVALID, "the rank must be 1, 2 or 3");
    if (shape.rank < r->rank)
        return refuse(p, r, ACU_ERR_SHAPE, "it has too few dimensions for this rank");
    if (r->kind == TO_REAL && (r->n < 1 || shape.dim[shape.rank - 1] != r->n / 2 + 1))
        return refuse(p, r, ACU_ERR_SHAPE, "the last dimension must be n / 2 + 1");
    for (int d = 1; d <= r->rank; d++)
        if (shape.dim[shape.rank - d] == 0)
            return refuse(p, r, ACU_ERR_SHAPE, "there are no numbers along a dimension of the "
                          "transform");
    return NULL;
}

/* The shape of what is real, or, if nothing is, of both sides. */
static acu_shape extents_of(const acu_tensor *t, const request *r)
{
    acu_shape shape = acu_tensor_shape(t);
    if (r->kind == TO_REAL)
        shape.dim[shape.rank - 1] = r->n;
    return shape;
}

static acu_shape result_of(acu_shape shape, const request *r)
{
    if (r->kind == TO_COMPLEX)
        shape.dim[shape.rank - 1] = shape.dim[shape.rank - 1] / 2 + 1;
    return shape;
}

/* `part`: of the numbers, f32 or f64. */
static acui_fft describe(acu_shape shape, acu_dtype part, const request *r)
{
    acui_fft fft;
    memset(&fft, 0, sizeof fft);
    bool wide = part == ACU_F64;
    int real = wide ? ACUI_R_64F : ACUI_R_32F, complex = wide ? ACUI_C_64F : ACUI_C_32F;
    fft.key.rank = r->rank;
    fft.key.from = r->kind == TO_COMPLEX ? real : complex;
    fft.key.to = r->kind == TO_REAL ? real : complex;
    fft.key.batch = 1;
    for (int i = 0; i < shape.rank - r->rank; i++)
        fft.key.batch *= shape.dim[i];
    for (int i = 0; i < r->rank; i++)
        fft.key.n[i] = shape.dim[shape.rank - r->rank + i];
    fft.sign = r->sign;
    return fft;
}

static acu_op *by_own(acu_planning *p, const request *r, acu_dtype part, acu_shape shape,
                      acu_op *out)
{
    acui_fft_own t = {.name = names[r->kind],
                      .dtype = part,
                      .n = shape,
                      .rank = r->rank,
                      .from = r->kind == TO_COMPLEX ? ACUI_FFT_REAL
                              : r->kind == TO_REAL  ? ACUI_FFT_HALF
                                                    : ACUI_FFT_COMPLEX,
                      .to = r->kind == TO_COMPLEX ? ACUI_FFT_HALF
                            : r->kind == TO_REAL  ? ACUI_FFT_REAL
                                                  : ACUI_FFT_COMPLEX,
                      .inverse = r->sign > 0};
    return acui_fft_by_own(p, &t, acu_op_take(&p->values[0], p->site), out);
}

/* cuFFT wants memory, also that of reals, aligned for complex numbers. */
static bool is_aligned(const acu_tensor *t, acu_dtype part)
{
    CUdeviceptr at = t ? acu_buffer_address(t->buffer) + t->offset : 0;
    return at % (2 * acu_dtype_bytes(part)) == 0;
}

static acu_op *make(request r, acu_op *x, acu_site site);

/* Of what is not dense, or into what is not: a copy of it is. */
static acu_op *by_copies(acu_planning *p, const request *r)
{
    bool copied = !acu_tensor_dense(p->values[0].tensor);
    acu_op *x = acu_op_take(&p->values[0], p->site);
    if (copied)
        x = acu_op_elementwise(ACU_OP_COPY, &x, 1, p->site);
    acu_op *result = make(*r, x, p->site);
    if (p->out.tensor && !acu_tensor_dense(p->out.tensor))
        result = acu_op_elementwise(ACU_OP_COPY, &result, 1, p->site);
    return acui_into(p, result);
}

static acu_op *plan(acu_planning *p)
{
    const request *r = p->data;
    acu_op *failed = check(p, r);
    if (failed)
        return failed;
    if (!acu_tensor_dense(p->values[0].tensor) ||
        (p->out.tensor && !acu_tensor_dense(p->out.tensor)))
        return by_copies(p, r);
    const char *name = names[r->kind];
    acu_dtype part = acui_part_of(acu_tensor_dtype(p->values[0].tensor));
    acu_shape shape = extents_of(p->values[0].tensor, r);
    acui_fft fft = describe(shape, part, r);
    acu_dtype to = r->kind == TO_REAL ? part : acui_whole_of(part);
    acu_op *out = acui_result(p, name, to, result_of(shape, r));
    if (acu_op_status(out, NULL) != ACU_OK || acu_shape_elements(shape) == 0)
        return out;
    bool aligned = is_aligned(p->values[0].tensor, part) && is_aligned(p->out.tensor, part);
    if (!aligned || !acui_library_preferred(&acui_library_CUFFT, p->device))
        return by_own(p, r, part, shape, out);
    acu_op *x = acu_op_take(&p->values[0], p->site);
    if (r->kind == TO_REAL)
        x = acu_op_dup(x, p->site);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(x, r->kind == TO_REAL ? ACU_UPDATE : ACU_READ)};
    acui_vendor_call call = {.library = &acui_library_CUFFT,
                             .name = name,
                             .fn = acui_fft_run,
                             .repeats = ACUI_REPEATED,
                             .data = &fft,
                             .bytes = sizeof fft,
                             .key_bytes = sizeof fft.key};
    return acu_op_nth(acui_vendor_op(&call, args, 2, p->site), 0, p->site);
}

static acu_op *make(request r, acu_op *x, acu_site site)
{
    return acu_op_custom((acu_custom){.name = names[r.kind], .fn = plan, .data = &r,
                                      .bytes = sizeof r}, &x, 1, site);
}

acu_op *acu_op_fft(acu_op *x, int rank, acu_direction direction, acu_site site)
{
    if (direction != ACU_FORWARD && direction != ACU_INVERSE) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "fft", site, "fft: %d is no acu_direction",
                           (int)direction);
    }
    return make((request){.kind = COMPLEX, .rank = rank, .sign = direction == ACU_INVERSE ? 1 : -1},
                x, site);
}

acu_op *acu_op_rfft(acu_op *x, int rank, acu_site site)
{
    return make((request){.kind = TO_COMPLEX, .rank = rank, .sign = -1}, x, site);
}

acu_op *acu_op_irfft(acu_op *x, int rank, int64_t n, acu_site site)
{
    return make((request){.kind = TO_REAL, .rank = rank, .sign = 1, .n = n}, x, site);
}
