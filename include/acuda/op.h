/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations (ops): lazy descriptions of GPU work, and the ways to compose them.
 *
 * Making an op calls no driver, allocates no device memory and touches no stream. Submitting one
 * (future.h) walks it once. Host callbacks (`then`, `map`, `inspect`) run during that walk, on the
 * submitting thread, long before the GPU has computed anything: they see handles, not contents.
 *
 * An op is consumed by the function that takes it (a combinator, a launch, a submit), even if that
 * function fails, with one exception: a submit that fails with FULL, because a bound of the
 * program's on work in flight is reached, leaves the op for another try. acu_op_release gives up an
 * op that nobody took. acu_op_retain keeps an op for a second use: it runs once, and all its users
 * see the same result, or the same failure. Users in another submission than the one that planned
 * it differ in one way: if they work with some of its values, they wait for, and fail with, only
 * the work that makes those; if they pass values on, or need none, they wait for, and fail with,
 * the whole op.
 *
 * Constructors never fail. A bad one yields an op that carries the error and the program's source
 * line; the submit that receives it reports the error, and nothing of that op runs. Passing NULL
 * for an op is such an error too, so constructors can be nested without checks.
 *
 * An op yields a flat list of values: tensors, partitions or scalars. Each value has a form:
 *   owned     the op holds the only handle: it made the tensor, or got it through acu_give
 *   borrowed  the program keeps its handle and may use it at once; later operations on the tensor
 *             are ordered after this one (acu_value, and every tensor passed in the place of an op)
 *   shared    several readers, read-only (acu_share, or an op used more than once)
 * What goes in comes back in the same form: the values of a launch are its arguments, in order.
 *
 * A tensor is memory, not a copy of what it held when the op was made. Steps inside one op that use
 * the same tensor run in the order in which they are written: the operands of an op from left to
 * right, each with all that it consists of, and then the op itself. So in
 * acu_add(x, acu_into(x, acu_mul(x, 2))) the inner operation doubles x, and the sum, which comes
 * later, reads the new x twice. To add the old one, copy it first:
 * acu_add(acu_dup(x), acu_into(x, acu_mul(x, 2))).
 *
 * Ops nest as deep as memory allows, whatever the stack of the thread: while an op is planned or
 * described, each level takes up to 1 KiB, which the thread gets where its own stack is used up. At
 * 1 GiB, more than a million levels, that ends with LIMIT, since an op that makes another one
 * for ever (with acu_then, for instance) would take all memory. The exception is a chain of
 * launches, each of which takes a value of the previous one as its first argument: it may have any
 * length. A loop that keeps extending an op (with acu_add(op, 1), for instance) should submit it
 * now and then, and can continue with the result at once.
 *
 * Where a macro says ACU_OPERAND, pass an acu_op (consumed) or an acu_tensor (borrowed); where
 * nothing is written through it, that may be a `const acu_tensor *`. Each macro
 * covers a plain function that takes arrays, counts and an acu_site: acu_add covers
 * acu_op_elementwise. Where a function takes only ops, other languages pass a tensor as
 * acu_op_value(tensor, site), and a number as acu_op_number_f64(number, site), _i64 or _u64
 * (ops.h). A list in a macro has at most 64 items (more do not compile); the functions take any
 * number.
 */
#ifndef ACUDA_OP_H
#define ACUDA_OP_H

#include <acuda/kernel.h>
#include <acuda/stream.h>
#include <acuda/tensor.h>
#include <string.h>

ACU_BEGIN

typedef struct acu_op acu_op;

/* Another reference, for a second use. Returns `op`. */
ACU_API acu_op *acu_op_retain(acu_op *op);
/* Give up an op and everything it holds. Never blocks; NULL is fine. */
ACU_API void acu_op_release(acu_op *op);
/* ACU_OK, or the error that the constructor of this very op saw, with its record in *error (`error`
 * may be NULL). It can not see much: an op that took a bad one is not bad itself, and most of what
 * is wrong shows only when the whole is planned. acu_op_describe finds that too. */
ACU_API acu_status acu_op_status(const acu_op *op, acu_error *error);
/*
 * Names the op in messages, instead of its kind. The name is copied; 47 bytes of it are kept.
 * Returns `op`. The name also goes to
 *   - the input of an op that only passes on what that yields (nth, share, own, on, partition,
 *     unpartition, a view, inspect, with_context, with_pool, after, finally, into), unless others
 *     may use the input as well;
 *   - of the ops that an op is made of (those of ops.h, acu_op_custom), the last, whose values it
 *     yields.
 * It goes no further: not to the inputs of a zip, to the whole that was unzipped, or to what the
 * function of a then or make returns. acu_with_context is for everything inside.
 */
ACU_API acu_op *acu_op_named(acu_op *op, const char *name);

/* ---- arguments and scalars ------------------------------------------------------------------ */

typedef enum acu_access {
    ACU_READ = 1,   /* the kernel only reads it */
    ACU_WRITE = 2,  /* the kernel overwrites all of it; its old contents do not matter */
    ACU_UPDATE = 3  /* the kernel reads and writes it, or writes a part of it */
} acu_access;

typedef enum acu_arg_kind {
    ACU_ARG_NONE, /* an argument that was zeroed, by mistake */
    ACU_ARG_OP,
    ACU_ARG_TENSOR,
    ACU_ARG_SCALAR,
    ACU_ARG_STRUCT,
    ACU_ARG_LIST,
    ACU_ARG_FIELDS
} acu_arg_kind;

/* One argument of a launch; made by the functions and macros below, passed by value. What is wrong
 * with it is said by the function that takes it: an access that is none (INVALID), a scalar whose
 * dtype is no element type (DTYPE). It has 16 bytes, so that it is passed in registers. */
typedef struct acu_arg {
    uint8_t kind;   /* acu_arg_kind */
    int8_t access;  /* acu_access: of an op, a tensor or a list */
    int16_t dtype;  /* acu_dtype: of a scalar */
    uint32_t bytes; /* of a struct; of a list, how many tensors it has */
    union {
        acu_op *op;
        acu_tensor *tensor;
        const void *memory; /* a struct; the tensors of a list; an acu_struct */
        uint64_t bits;      /* a scalar; of c128: `memory` is where its two doubles are */
    } u;
} acu_arg;

ACU_API acu_arg acu_arg_op(acu_op *op, acu_access access);
ACU_API acu_arg acu_arg_tensor(acu_tensor *tensor, acu_access access);
ACU_API acu_arg acu_arg_scalar(acu_dtype dtype, uint64_t bits);
/* A struct by value, copied when the launch op is made; at most 4096 bytes. A device address in it
 * is a number like any other: the memory is neither ordered nor kept alive for the launch; see
 * acu_arg_fields. */
ACU_API acu_arg acu_arg_struct(const void *memory, size_t bytes);

/* A struct by value with the addresses of tensors in it, as many libraries' kernels take it:
 *
 *     struct { float *y; const float *x; float a; int n; } p = {.a = 2, .n = 1000};
 *     acu_field fields[] = {{0, y, ACU_UPDATE}, {8, x, ACU_READ}};   // offsetof(...), mostly
 *     acu_struct with = {.size = sizeof with, .memory = &p, .bytes = sizeof p,
 *                        .fields = fields, .count = 2};
 *     acu_op *op = acu_launch(kernel, ACU_BLOCK(4, 4), acu_arg_fields(&with));
 *
 * Each address takes 8 bytes at a multiple of 8, and is that of the tensor's first element; what
 * the struct has there does not matter. The tensors (at most 512, borrowed) are ordered and kept
 * alive as if they were arguments. All is copied when the op is made. Only for launches. Yields
 * ACU_NONE. Errors, of the op: ARGUMENTS (bytes, offsets, two fields in one place), INVALID (an
 * access, a tensor), SHARED (two fields write the same memory). */
typedef struct acu_field {
    size_t offset;
    acu_tensor *tensor;
    acu_access access;
} acu_field;
typedef struct acu_struct {
    size_t size; /* sizeof(acu_struct) */
    const void *memory;
    size_t bytes; /* of that: 1 to 4096 */
    const acu_field *fields;
    size_t count;
    size_t stride; /* bytes from one field to the next; 0: sizeof(acu_field) */
} acu_struct;
ACU_API acu_arg acu_arg_fields(const acu_struct *with);

/* Several tensors (1 to 511, borrowed) as one argument of a launch, for a kernel parameter of type
 * acu_list (device.cuh) with room for at least as many. The list is copied when the op is made.
 * Like a struct, it yields ACU_NONE. */
ACU_API acu_arg acu_arg_list(acu_tensor *const *tensors, size_t count, acu_access access);
#define acu_in_list(tensors, count) acu_arg_list((tensors), (count), ACU_READ)
#define acu_out_list(tensors, count) acu_arg_list((tensors), (count), ACU_WRITE)
#define acu_inout_list(tensors, count) acu_arg_list((tensors), (count), ACU_UPDATE)

/* acu_arg_op, acu_arg_tensor and acu_arg_scalar, inline: programs make these with each launch. A
 * number that does not fit is made one that is wrong as well. */
static inline int8_t acui_arg_access(acu_access access)
{
    return ACUI_CAST(int, access) >= -128 && ACUI_CAST(int, access) <= 127
               ? ACUI_CAST(int8_t, access)
               : ACUI_CAST(int8_t, 0);
}
static inline int16_t acui_arg_dtype(acu_dtype dtype)
{
    return ACUI_CAST(int, dtype) >= -32768 && ACUI_CAST(int, dtype) <= 32767
               ? ACUI_CAST(int16_t, dtype)
               : ACUI_CAST(int16_t, ACU_NO_DTYPE);
}
static inline acu_arg acui_arg_op(acu_op *op, acu_access access)
{
    acu_arg arg = {ACU_ARG_OP, acui_arg_access(access), ACU_NO_DTYPE, 0, {NULL}};
    arg.u.op = op;
    return arg;
}
static inline acu_arg acui_arg_tensor(acu_tensor *tensor, acu_access access)
{
    acu_arg arg = {ACU_ARG_TENSOR, acui_arg_access(access), ACU_NO_DTYPE, 0, {NULL}};
    arg.u.tensor = tensor;
    return arg;
}
static inline acu_arg acui_arg_const(const acu_tensor *tensor, acu_access access)
{
    acu_arg arg = {ACU_ARG_TENSOR, acui_arg_access(access), ACU_NO_DTYPE, 0, {NULL}};
    arg.u.memory = tensor; /* the pointer that u.tensor is, but for the const */
    return arg;
}
static inline acu_arg acui_arg_scalar(acu_dtype dtype, uint64_t bits)
{
    acu_arg arg = {ACU_ARG_SCALAR, ACU_READ, acui_arg_dtype(dtype), 0, {NULL}};
    arg.u.bits = bits;
    return arg;
}

static inline acu_arg acu_i8(int8_t v) { return acui_arg_scalar(ACU_I8, ACUI_CAST(uint8_t, v)); }
static inline acu_arg acu_u8(uint8_t v) { return acui_arg_scalar(ACU_U8, v); }
static inline acu_arg acu_i16(int16_t v)
{
    return acui_arg_scalar(ACU_I16, ACUI_CAST(uint16_t, v));
}
static inline acu_arg acu_u16(uint16_t v) { return acui_arg_scalar(ACU_U16, v); }
static inline acu_arg acu_i32(int32_t v)
{
    return acui_arg_scalar(ACU_I32, ACUI_CAST(uint32_t, v));
}
static inline acu_arg acu_u32(uint32_t v) { return acui_arg_scalar(ACU_U32, v); }
static inline acu_arg acu_i64(int64_t v)
{
    return acui_arg_scalar(ACU_I64, ACUI_CAST(uint64_t, v));
}
static inline acu_arg acu_u64(uint64_t v) { return acui_arg_scalar(ACU_U64, v); }
static inline acu_arg acu_bool(bool v) { return acui_arg_scalar(ACU_BOOL, v); }
static inline acu_arg acu_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return acui_arg_scalar(ACU_F32, bits);
}
static inline acu_arg acu_f64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return acui_arg_scalar(ACU_F64, bits);
}
/* Types that C lacks, given as bits. */
static inline acu_arg acu_f16_bits(uint16_t bits) { return acui_arg_scalar(ACU_F16, bits); }
static inline acu_arg acu_bf16_bits(uint16_t bits) { return acui_arg_scalar(ACU_BF16, bits); }
static inline acu_arg acu_tf32_bits(uint32_t bits) { return acui_arg_scalar(ACU_TF32, bits); }
static inline acu_arg acu_f8e4m3fn_bits(uint8_t bits)
{
    return acui_arg_scalar(ACU_F8E4M3FN, bits);
}
static inline acu_arg acu_f8e5m2_bits(uint8_t bits) { return acui_arg_scalar(ACU_F8E5M2, bits); }
static inline acu_arg acu_f8e8m0fnu_bits(uint8_t bits)
{
    return acui_arg_scalar(ACU_F8E8M0FNU, bits);
}
static inline acu_arg acu_f4e2m1fnx2_bits(uint8_t bits)
{
    return acui_arg_scalar(ACU_F4E2M1FNX2, bits);
}
/* Complex numbers, by their parts, as a kernel takes them in float2 or double2. */
static inline acu_arg acu_c64(float real, float imaginary)
{
    uint32_t bits[2];
    memcpy(&bits[0], &real, sizeof real);
    memcpy(&bits[1], &imaginary, sizeof imaginary);
    return acui_arg_scalar(ACU_C64, ACUI_CAST(uint64_t, bits[1]) << 32 | bits[0]);
}
/* c128 does not fit into an argument: `parts` are two doubles (a `double _Complex`, for instance),
 * copied by the function that takes the argument. As an argument of a launch it is what
 * acu_arg_struct makes. */
static inline acu_arg acu_c128(const void *parts)
{
    acu_arg arg = {ACU_ARG_SCALAR, ACU_READ, acui_arg_dtype(ACU_C128), 0, {NULL}};
    arg.u.memory = parts;
    return arg;
}

ACU_API acu_op *acu_op_value(const acu_tensor *tensor, acu_site site); /* acu_value */
static inline acu_op *acui_operand_op(acu_op *op, acu_site site)
{
    (void)site;
    return op;
}
#ifdef __cplusplus
ACU_END /* overloads can not have C's linkage */
static inline acu_op *acui_operand(acu_op *x, acu_site) { return x; }
static inline acu_op *acui_operand(const acu_tensor *x, acu_site site)
{
    return acu_op_value(x, site);
}
static inline acu_op *acui_target(acu_op *x, acu_site) { return x; }
static inline acu_op *acui_target(acu_tensor *x, acu_site site) { return acu_op_value(x, site); }
static inline acu_arg acui_arg(acu_op *x, acu_access access) { return acui_arg_op(x, access); }
static inline acu_arg acui_arg(acu_tensor *x, acu_access access)
{
    return acui_arg_tensor(x, access);
}
static inline acu_arg acui_arg_read(acu_op *x) { return acui_arg_op(x, ACU_READ); }
static inline acu_arg acui_arg_read(const acu_tensor *x) { return acui_arg_const(x, ACU_READ); }
ACU_BEGIN
#define ACU_OPERAND(x) acui_operand((x), ACU_SITE)
#define ACUI_TARGET(x) acui_target((x), ACU_SITE)
#else
#define acui_arg_read(x) ACUI_CHOOSE(ACUI_ARG_READ_BY, x, ACU_READ)
#define ACUI_ARG_READ_BY(x, access)                                                                \
    _Generic(x, acu_op *: acui_arg_op, acu_tensor *: acui_arg_const,                               \
             const acu_tensor *: acui_arg_const)(x, access)
#define acui_arg(x, access) ACUI_CHOOSE(ACUI_ARG_BY, x, access)
#define ACUI_ARG_BY(x, access)                                                                     \
    _Generic(x, acu_op *: acui_arg_op, acu_tensor *: acui_arg_tensor)(x, access)
#define ACU_OPERAND(x) ACUI_CHOOSE(ACUI_OPERAND_BY, x, ACU_SITE)
#define ACUI_OPERAND_BY(x, site)                                                                   \
    _Generic(x, acu_op *: acui_operand_op, acu_tensor *: acu_op_value,                             \
             const acu_tensor *: acu_op_value)(x, site)
/* An operand that is written: no `const acu_tensor *`. */
#define ACUI_TARGET(x) ACUI_CHOOSE(ACUI_TARGET_BY, x, ACU_SITE)
#define ACUI_TARGET_BY(x, site)                                                                    \
    _Generic(x, acu_op *: acui_operand_op, acu_tensor *: acu_op_value)(x, site)
#endif
#define ACU_ARGS(...) ACUI_LIST(acu_arg, __VA_ARGS__)
/* Of a macro whose last parameters are arguments, or none: these and an empty one. */
#define ACUI_ANY_ARGS(...)                                                                         \
    ACUI_LIST_BEHIND(acu_arg, acui_arg_scalar(ACU_NO_DTYPE, 0), __VA_ARGS__)
/* x is an ACU_OPERAND in acu_in(x), acu_out(x) and acu_inout(x). */
#define acu_in(x) acui_arg_read((x))
#define acu_out(x) acui_arg((x), ACU_WRITE)
#define acu_inout(x) acui_arg((x), ACU_UPDATE)

/* ---- values --------------------------------------------------------------------------------- */

/* An op that yields the tensor; the program keeps its handle (borrowed). */
#define acu_value(tensor) acu_op_value((tensor), ACU_SITE)
/* An op that yields the tensor and takes over the program's handle (owned). */
#define acu_give(tensor) acu_op_give((tensor), ACU_SITE)
/* An op that yields a scalar: acu_scalar(acu_f32(2)). */
#define acu_scalar(arg) acu_op_scalar((arg), ACU_SITE)
ACU_API acu_op *acu_op_give(acu_tensor *tensor, acu_site site);
ACU_API acu_op *acu_op_scalar(acu_arg scalar, acu_site site);

typedef enum acu_form { ACU_OWNED, ACU_BORROWED, ACU_SHARED } acu_form;
typedef enum acu_partition_mode { ACU_WHOLE, ACU_PREFIX, ACU_MAPPED } acu_partition_mode;
typedef enum acu_value_kind { ACU_NONE, ACU_TENSOR, ACU_PARTITION, ACU_SCALAR } acu_value_kind;

/* One value, as `then`, `map` and `inspect` see it. */
typedef struct acu_val {
    acu_value_kind kind;
    acu_form form;
    acu_tensor *tensor; /* of a tensor or partition; borrowed, valid during the callback */
    acu_partition_mode mode; /* of a partition */
    union {
        unsigned blocks; /* of a mapped one; 0: not specified */
        acu_dtype dtype; /* of a scalar */
    };
    union {
        unsigned grid[3]; /* of a partition: one block per tile; a number too large for a grid is
                           * given as 0 */
        uint64_t bits;    /* of a scalar; of c128, those of the real part */
    };
    acu_shape tile; /* of a partition */
    uint64_t imaginary; /* of a scalar of c128: the bits of that part; else 0 */
} acu_val;

/* Inside `then`: an op that yields this value, in its form. It takes the value out of the list. */
#define acu_take(value) acu_op_take((value), ACU_SITE)
ACU_API acu_op *acu_op_take(acu_val *value, acu_site site);

/* ---- composing ------------------------------------------------------------------------------ */

/*
 * `fn` receives the values of `x` and returns the op to run next, which is ordered after `x`
 * whether they share data or not. It runs during submit, on the submitting thread. It may make and
 * submit ops, but not wait (waiting fails with IN_CALLBACK). If it returns NULL, the submission
 * fails with CALLBACK. In the macro, `fn` is followed by the user data and, optionally, its release
 * function: acu_then(x, f, p, free).
 */
typedef acu_op *(*acu_then_fn)(void *user, acu_val *values, size_t count);
#define acu_then(x, fn, ...)                                                                       \
    acu_op_then(ACU_OPERAND(x), ACUI_CALLBACK(acu_then_fn, fn, ACU_USER(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_then(acu_op *x, acu_then_fn fn, acu_user user, acu_site site);

/*
 * `fn` returns the op to run once the device is known: the one that the submission, or an acu_on
 * around this op, names, else the default device (borrowed for the call). For parts that are made
 * for their device, such as a kernel of a module loaded there. Same thread and rules as `then`.
 */
typedef acu_op *(*acu_make_fn)(void *user, acu_device *device);
#define acu_make(fn, ...)                                                                          \
    acu_op_make(ACUI_CALLBACK(acu_make_fn, fn, ACU_USER(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_make(acu_make_fn fn, acu_user user, acu_site site);

/*
 * An op of a kind of the program's own, built from other ops once its operands are known; the
 * built-in operations (ops.h) are made this way. `fn` receives the operands' values, that is, their
 * dtypes and shapes, and the device. It returns the op that does the work, of launches for
 * instance, whose values become the values of the whole. Order follows from data only. Same thread
 * and rules as `then`.
 *
 * Each operand yields one value. `data` is copied (at most 4096 bytes) and lent to `fn`; the user
 * data is released with the op. acu_op_describe also calls `fn`, perhaps more than once, so `fn`
 * must have no effect other than the op that it returns.
 */
typedef struct acu_planning {
    size_t size;        /* of this struct, in the library */
    acu_device *device; /* of `out`, else of the first operand in device memory, else as for
                         * acu_make; borrowed */
    acu_site site;      /* of this op, to be passed to the ops that `fn` makes */
    acu_val *values;    /* of the operands; acu_take moves one into an op */
    size_t count;
    acu_val out;        /* ACU_NONE, or the tensor that acu_into wants the result in: hand it on
                         * with acu_into(acu_take(&planning->out), op), or take it for the argument
                         * that is written; if `fn` leaves it, the acu_into is refused */
    const void *data;
    void *user;
} acu_planning;
typedef acu_op *(*acu_custom_fn)(acu_planning *planning);
typedef struct acu_custom {
    const char *name; /* for messages */
    acu_custom_fn fn;
    const void *data;
    size_t bytes;
    acu_user user;
    uint64_t reserved[4]; /* 0, else NOT_SUPPORTED */
} acu_custom;
ACU_API acu_op *acu_op_custom(acu_custom custom, acu_op *const *operands, size_t count,
                              acu_site site);
/*
 * An op that reports an error when it is submitted: for constructors, and for `fn` above, to
 * return. If `format` is NULL, the text is that of the thread's last error, from the call that just
 * failed, provided that it has this status. A status that is not an error (ACU_OK, ACU_NOT_READY)
 * is INVALID; FULL becomes LIMIT, because it is for the submit itself to say.
 */
ACU_API acu_op *acu_op_fail(acu_status status, const char *name, acu_site site, const char *format,
                            ...) ACU_PRINTF(4, 5);

/*
 * Put the result of `x`, a built-in operation or another custom op, into `out`, a tensor of the
 * result's dtype and shape, instead of a new tensor: acu_into(y, acu_add(y, z)). Yields out.
 * (acu_zeros, acu_ones, acu_full, acu_dup and the like are not among these operations: acu_fill and
 * acu_copy write a tensor that exists.)
 * Errors: NOT_SUPPORTED (x is of another kind, does not make exactly one tensor, or ignores `out`),
 * DTYPE, SHAPE, SHARED.
 */
#define acu_into(out, x) acu_op_into(ACUI_TARGET(out), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_into(acu_op *out, acu_op *x, acu_site site);

/*
 * `fn` may change the values in place with acu_val_set_*; their number stays the same. If it
 * returns anything but ACU_OK, the submission fails with CALLBACK. Same thread and rules as `then`.
 */
typedef acu_status (*acu_map_fn)(void *user, acu_val *values, size_t count);
#define acu_map(x, fn, ...)                                                                        \
    acu_op_map(ACU_OPERAND(x), ACUI_CALLBACK(acu_map_fn, fn, ACU_USER(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_map(acu_op *x, acu_map_fn fn, acu_user user, acu_site site);
/* Replace a value by a tensor, whose handle is taken over (owned), or by a scalar. If the
 * replacement is not valid (NULL, or not an element type), the value becomes ACU_NONE. */
ACU_API void acu_val_set_tensor(acu_val *value, acu_tensor *tensor);
ACU_API void acu_val_set_scalar(acu_val *value, acu_arg scalar);

/* `fn` looks at the values; they pass through unchanged. */
typedef void (*acu_inspect_fn)(void *user, const acu_val *values, size_t count);
#define acu_inspect(x, fn, ...)                                                                    \
    acu_op_inspect(ACU_OPERAND(x), ACUI_CALLBACK(acu_inspect_fn, fn, ACU_USER(__VA_ARGS__)),       \
                   ACU_SITE)
ACU_API acu_op *acu_op_inspect(acu_op *x, acu_inspect_fn fn, acu_user user, acu_site site);

/* Calls fn(x, user) immediately: lets functions that build ops be chained in reading order. */
typedef acu_op *(*acu_apply_fn)(acu_op *x, void *user);
#define acu_apply(x, fn, user) ((fn)(ACU_OPERAND(x), (user)))

/* The values of all the ops, one after another. The ops run in no particular order, except that
 * those which touch the same data run in the order of the list. If all are small copies, they
 * become one (acu_copy_many). */
#define acu_zip(...) acu_op_zip(ACUI_LIST(acu_op *, __VA_ARGS__), ACU_SITE)
ACU_API acu_op *acu_op_zip(acu_op *const *ops, size_t count, acu_site site);

/* Split an op that yields `count` values into `count` ops of one value each; `x` runs once. Fills
 * parts[0 .. count-1]; each part must be used or released. */
#define acu_unzip(x, parts, count) acu_op_unzip(ACU_OPERAND(x), (parts), (count), ACU_SITE)
ACU_API void acu_op_unzip(acu_op *x, acu_op **parts, size_t count, acu_site site);

/* One of the values. The others are dropped once the GPU is done with them. */
#define acu_nth(x, index) acu_op_nth(ACU_OPERAND(x), (index), ACU_SITE)
#define acu_first(x) acu_nth((x), 0)
#define acu_last(x) acu_nth((x), ACU_LAST)
#define ACU_LAST SIZE_MAX
ACU_API acu_op *acu_op_nth(acu_op *x, size_t index, acu_site site);

/* All values become shared: readable by several ops. (Those of an op that several use, by
 * acu_op_retain, do so by themselves.) */
#define acu_share(x) acu_op_share(ACU_OPERAND(x), ACU_SITE)
/* All values become owned again. Fails with SHARED if another handle or view of one is left. */
#define acu_own(x) acu_op_own(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_share(acu_op *x, acu_site site);
ACU_API acu_op *acu_op_own(acu_op *x, acu_site site);

/* Everything in `x` that names no device of its own runs on `device`. */
#define acu_on(device, x) acu_op_on((device), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_on(acu_device *device, acu_op *x, acu_site site);

/*
 * `x`, ordered after `before`, whether they share data or not. `before` runs as part of this op, or
 * as part of the submission that used it first, and then not if that is given up or fails before.
 * Yields x's values; those of `before` are dropped. This orders and nothing else: if `before`
 * fails, the submission that it is a part of fails, but nothing else that is ordered after it.
 * acu_after_future (future.h) does the same with a submission.
 */
#define acu_after(x, before) acu_op_after(ACU_OPERAND(x), ACU_OPERAND(before), ACU_SITE)
ACU_API acu_op *acu_op_after(acu_op *x, acu_op *before, acu_site site);

/*
 * If `x` fails, `other` runs, and its values take the place of x's.
 *
 * When: every failure counts, whether it is found when `x` is submitted (a launch that the device
 * can not do, lack of memory), issued or complete (host work, a device that is lost while `other`
 * is on another one); only giving the submission up does not. Both are planned with the submission,
 * `x` first, so `other` has a fixed place in the order. Whether it runs is decided when all of `x`
 * is over, and readers of the values wait for that. If it runs, its outcome is that of the whole.
 * If not, nothing in it runs, except ops that others use too (acu_op_retain), and what it would
 * have written stays unchanged.
 *
 * `fn`, if given, receives the error, once, and returns whether `other` is to run; if it returns
 * false, the error stands. For host work that failed, error->cause is what its function returned.
 * `fn` runs on one of acuda's threads, or while the op is submitted. It may submit, but not wait.
 *
 * Values: both ops yield the same number of them, of the same kinds, dtypes and shapes; scalars are
 * equal. Best is to let `other` write the same tensors as `x`, which the program passes to both:
 * values in other tensors are copied into x's after `other` has run. If `x` is refused, the values
 * are simply those of `other`. If several use one `x` (acu_op_retain), each has its own
 * alternative, and all of these put their values into x's tensors, in the order of the ops: acu_dup
 * keeps those of one of them.
 *
 * Data: as always, what `x` was to write, and failed to, can not be read before it is overwritten,
 * not even by `other`. So that takes such a tensor with acu_out; acu_inout would read it
 * (DEPENDENCY). Nor are values available to it that `x` never got to make.
 *
 * Errors: ARGUMENTS, DTYPE, SHAPE (values differ), NOT_SUPPORTED (scalars differ).
 */
#define acu_or_else(x, other)                                                                      \
    acu_op_or_else(ACU_OPERAND(x), ACU_OPERAND(other), NULL, ACU_USER(NULL), ACU_SITE)
#define acu_or_else_if(x, other, fn, ...)                                                          \
    acu_op_or_else(ACU_OPERAND(x), ACU_OPERAND(other),                                             \
                   ACUI_CALLBACK(acu_or_else_fn, fn, ACU_USER(__VA_ARGS__)), ACU_SITE)
typedef bool (*acu_or_else_fn)(void *user, const acu_error *error);
ACU_API acu_op *acu_op_or_else(acu_op *x, acu_op *other, acu_or_else_fn fn, acu_user user,
                               acu_site site);

/*
 * `last` runs after all of `x`, whatever becomes of `x`: success, failure, or the submission being
 * given up (then its future is complete earlier, and nobody waits for `last`). Yields x's values;
 * those of `last` are dropped. If `last` fails, so does the whole, with the first failure. Readers
 * of x's values do not wait for `last` unless its data requires it.
 * `last` does not run if `x` never began: if the op was refused, was only scheduled and then given
 * up, or is part of an alternative (acu_or_else) that does not run. The user data of both is
 * released all the same.
 */
#define acu_finally(x, last) acu_op_finally(ACU_OPERAND(x), ACU_OPERAND(last), ACU_SITE)
ACU_API acu_op *acu_op_finally(acu_op *x, acu_op *last, acu_site site);

/*
 * Errors that come from inside `x`, when it is submitted or later, also carry `text`
 * (acu_error.context); nested contexts are joined, as in "frame 17: denoise". The text is copied.
 * 159 bytes are kept of all the contexts around an error, the outermost first. Costs nothing where
 * nothing fails.
 */
#define acu_with_context(x, text) acu_op_with_context(ACU_OPERAND(x), (text), ACU_SITE)
ACU_API acu_op *acu_op_with_context(acu_op *x, const char *text, acu_site site);

/*
 * Disjoint tiles of a tensor of rank 1 to 3, for a kernel to write. A launch that takes a partition
 * has one block per tile (grid.x counts tiles of the last dimension, grid.y of the one before,
 * grid.z of the one before that) and passes the kernel an `acu_tile` (device.cuh). Tiles at the far
 * ends are clipped. If the launch's own grid, or another partition's, differs, the launch is
 * refused (SHAPE).
 *
 * There are two other ways to assign tiles to blocks:
 *   prefix   the launch's grid, or another partition's, may have fewer blocks than there are tiles,
 *            in each dimension; the tiles beyond stay unchanged (so acu_out counts as acu_inout).
 *            Without another grid every tile has a block.
 *   mapped   the launch has `blocks` blocks, but no more than there are tiles (0: eight for each
 *            multiprocessor; a grid given by the launch is used as it is). Each block loops over
 *            its tiles: the kernel takes an `acu_tiles` (device.cuh; an acu_tile would see only one
 *            of them).
 *
 * An owned value must be the only handle on its storage (SHARED otherwise). A shared value is
 * refused. A borrowed one may be partitioned at any time.
 */
#define acu_partition(x, tile) acui_partition((x), (tile), ACU_WHOLE, 0)
#define acu_partition_prefix(x, tile) acui_partition((x), (tile), ACU_PREFIX, 0)
#define acu_partition_mapped(x, tile, blocks) acui_partition((x), (tile), ACU_MAPPED, (blocks))
#define acu_unpartition(x) acu_op_unpartition(ACU_OPERAND(x), ACU_SITE) /* a plain tensor passes
                                                                         * unchanged */
/* `blocks` is for ACU_MAPPED. */
ACU_API acu_op *acu_op_partition(acu_op *x, acu_shape tile, acu_partition_mode mode,
                                 unsigned blocks, acu_site site);
/* The same for acu_value(tensor). */
ACU_API acu_op *acu_op_partition_tensor(acu_tensor *tensor, acu_shape tile,
                                        acu_partition_mode mode, unsigned blocks, acu_site site);
#ifdef __cplusplus
ACU_END /* as above */
static inline acu_op *acui_partition_of(acu_op *x, acu_shape tile, acu_partition_mode mode,
                                        unsigned blocks, acu_site site)
{
    return acu_op_partition(x, tile, mode, blocks, site);
}
static inline acu_op *acui_partition_of(acu_tensor *x, acu_shape tile, acu_partition_mode mode,
                                        unsigned blocks, acu_site site)
{
    return acu_op_partition_tensor(x, tile, mode, blocks, site);
}
ACU_BEGIN
#define acui_partition(x, tile, mode, blocks)                                                      \
    acui_partition_of((x), (tile), (mode), (blocks), ACU_SITE)
#else
#define acui_partition(x, tile, mode, blocks)                                                      \
    ACUI_CHOOSE(ACUI_PARTITION_BY, x, tile, mode, blocks, ACU_SITE)
#define ACUI_PARTITION_BY(x, tile, mode, blocks, site)                                             \
    _Generic(x, acu_op *: acu_op_partition, acu_tensor *: acu_op_partition_tensor)(                \
        x, (tile), (mode), (blocks), site)
#endif
ACU_API acu_op *acu_op_unpartition(acu_op *x, acu_site site);

/* ---- views ---------------------------------------------------------------------------------- */

/*
 * Other tensors over the same storage. Each op yields the view that the function of the same name
 * makes (acu_tensor_*, described in tensor.h), in the form of its input; the view of an owned
 * tensor is then its only handle. Nothing is copied or enqueued. Lists with one number per
 * dimension are written as shapes: acu_slice(x, ACU_SHAPE(0, 8), ACU_SHAPE(4, 16)).
 * Errors, of the submit: SHAPE, DTYPE, INVALID.
 */
#define acu_reshape(x, shape) acu_op_reshape(ACU_OPERAND(x), (shape), ACU_SITE)
#define acu_flatten(x) acu_op_flatten(ACU_OPERAND(x), ACU_SITE)
#define acu_slice(x, start, end)                                                                   \
    acu_op_slice(ACU_OPERAND(x), (start), (end), ACU_NO_STEP, ACU_SITE)
#define acu_slice_step(x, start, end, step)                                                        \
    acu_op_slice(ACU_OPERAND(x), (start), (end), (step), ACU_SITE)
#define acu_select(x, dimension, index)                                                            \
    acu_op_select(ACU_OPERAND(x), (dimension), (index), ACU_SITE)
#define acu_squeeze(x, dimension) acu_op_squeeze(ACU_OPERAND(x), (dimension), ACU_SITE)
#define acu_unsqueeze(x, dimension) acu_op_unsqueeze(ACU_OPERAND(x), (dimension), ACU_SITE)
/* acu_permute(x, 2, 0, 1): the dimensions in another order */
#define acu_permute(x, ...)                                                                        \
    acu_op_permute(ACU_OPERAND(x), ACUI_LIST(int, __VA_ARGS__), ACU_SITE)
#define acu_transpose(x, a, b) acu_op_transpose(ACU_OPERAND(x), (a), (b), ACU_SITE)
#define acu_broadcast_to(x, shape) acu_op_broadcast_to(ACU_OPERAND(x), (shape), ACU_SITE)
#define acu_reinterpret(x, dtype) acu_op_reinterpret(ACU_OPERAND(x), (dtype), ACU_SITE)
#ifdef __cplusplus
#define ACU_NO_STEP (acu_shape{})
#else
#define ACU_NO_STEP ((acu_shape){.rank = 0})
#endif
ACU_API acu_op *acu_op_reshape(acu_op *x, acu_shape shape, acu_site site);
ACU_API acu_op *acu_op_flatten(acu_op *x, acu_site site);
ACU_API acu_op *acu_op_slice(acu_op *x, acu_shape start, acu_shape end, acu_shape step,
                             acu_site site);
ACU_API acu_op *acu_op_select(acu_op *x, int dimension, int64_t index, acu_site site);
ACU_API acu_op *acu_op_squeeze(acu_op *x, int dimension, acu_site site);
ACU_API acu_op *acu_op_unsqueeze(acu_op *x, int dimension, acu_site site);
ACU_API acu_op *acu_op_permute(acu_op *x, const int *order, size_t count, acu_site site);
ACU_API acu_op *acu_op_transpose(acu_op *x, int a, int b, acu_site site);
ACU_API acu_op *acu_op_broadcast_to(acu_op *x, acu_shape shape, acu_site site);
ACU_API acu_op *acu_op_reinterpret(acu_op *x, acu_dtype dtype, acu_site site);

/* ---- shapes before anything runs ------------------------------------------------------------- */

/* One value that an op would yield. */
typedef struct acu_value_info {
    acu_value_kind kind;
    acu_form form;
    acu_dtype dtype;
    acu_shape shape;                /* of a tensor or partition, as are the fields that follow */
    int64_t strides[ACU_MAX_RANK];  /* elements */
    acu_memory_kind memory;
    int ordinal;                    /* its device */
    acu_shape tile;                 /* of a partition */
    acu_partition_mode mode;
    uint64_t reserved[4]; /* 0 */
} acu_value_info;

/*
 * What `op` would yield if it were submitted to `device` (as for acu_submit; may be NULL). Writes
 * at most `room` values to `infos`, and their full number to *count. The op is not consumed and
 * nothing of it runs; it can be submitted afterwards, or described again. Errors are those that the
 * submit would return for wrong shapes, dtypes, forms, arguments and grids. Of the program's
 * functions, only those of custom ops are called.
 *
 * Any thread may call this that has its own reference to the op; meanwhile, threads that submit ops
 * with several users wait. Never blocks. No driver call, except that the first look at a built-in
 * op makes one of acuda's threads begin to load its kernels.
 * Further errors: NOT_SUPPORTED (it contains something that is known only once it is submitted:
 * then, map, make, replay, after_future, into, copy_many, prefetch, advise; or_else_if of an op
 * that is refused), INVALID (a part of it was submitted before, perhaps by another thread just
 * now). Only the submit checks whether the values of an alternative (or_else) can be copied to
 * those that they replace.
 */
ACU_API acu_status acu_op_describe(acu_device *device, acu_op *op, acu_value_info *infos,
                                   size_t room, size_t *count);

/* A tensor without memory, standing in for one that does not exist yet, to describe what ops would
 * make of it. It can not be submitted (INVALID). */
#define acu_meta(dtype, shape) acu_op_meta((dtype), (shape), ACU_SITE)
ACU_API acu_op *acu_op_meta(acu_dtype dtype, acu_shape shape, acu_site site);

/* ---- making and filling --------------------------------------------------------------------- */

/* New tensors on the device that the op runs on (acu_submit, acu_on), allocated in stream order
 * when it is issued. acu_zeros of f8e8m0fnu, which has no zero, is refused (DTYPE). */
#define acu_empty(dtype, shape) acu_op_empty((dtype), (shape), ACU_SITE) /* contents undefined */
#define acu_zeros(dtype, shape) acu_op_zeros((dtype), (shape), ACU_SITE)
#define acu_ones(dtype, shape) acu_op_ones((dtype), (shape), ACU_SITE)
/* acu_full(shape, acu_f32(2)) */
#define acu_full(shape, scalar) acu_op_full((shape), (scalar), ACU_SITE)
/* A small tensor from host memory, which is copied now; at most ACU_CONST_MAX bytes. */
#define acu_const(dtype, shape, memory) acu_op_const((dtype), (shape), (memory), ACU_SITE)
#define ACU_CONST_MAX 65536
ACU_API acu_op *acu_op_empty(acu_dtype dtype, acu_shape shape, acu_site site);
ACU_API acu_op *acu_op_zeros(acu_dtype dtype, acu_shape shape, acu_site site);
ACU_API acu_op *acu_op_ones(acu_dtype dtype, acu_shape shape, acu_site site);
ACU_API acu_op *acu_op_full(acu_shape shape, acu_arg scalar, acu_site site);
ACU_API acu_op *acu_op_const(acu_dtype dtype, acu_shape shape, const void *memory, acu_site site);

/* Overwrite every element of `x`, a device tensor of any layout; yields x. The scalar has x's
 * dtype. Driver: cuMemsetD8Async, D16 or D32 for a dense tensor; a kernel for tensors with gaps and
 * for 8-byte elements. Errors: DTYPE, SHARED, NOT_SUPPORTED (host memory). */
#define acu_fill(x, scalar) acu_op_fill(ACUI_TARGET(x), (scalar), ACU_SITE)
ACU_API acu_op *acu_op_fill(acu_op *x, acu_arg scalar, acu_site site);

/* ---- copying -------------------------------------------------------------------------------- */

/*
 * Copy all elements between two tensors of equal dtype and shape, wherever they are and whatever
 * their layout: host and device in any direction, one device or two, host to host; dense, pitched,
 * strided or permuted; of any size. Always asynchronous. Source and destination must not share
 * bytes (INVALID), except that copying a tensor onto itself does nothing. Yields dst, src.
 *
 * How it is done: if both sides are one run of bytes, or rows or slices of enough bytes, by the
 * driver (cuMemcpyHtoDAsync, DtoH, DtoD, cuMemcpy2DAsync, cuMemcpy3DAsync); other layouts by a
 * kernel, which reads and writes pinned memory directly over the bus; pageable memory, and copies
 * from host to host, by helper threads (staging.h); between devices by cuMemcpyPeerAsync, with
 * kernels that pack views into dense memory and unpack them.
 */
#define acu_copy(dst, src) acu_op_copy(ACUI_TARGET(dst), ACU_OPERAND(src), ACU_SITE)
ACU_API acu_op *acu_op_copy(acu_op *dst, acu_op *src, acu_site site);
/*
 * `count` copies, from srcs[i] to dsts[i], as if done one after the other; the tensors are
 * borrowed. Many small copies between dense tensors, within a device or between it and pinned
 * memory, cost little more than one if no copy touches another's data: a single kernel does them
 * all, reading and writing host memory directly. Yields dsts[0], srcs[0], dsts[1], ...
 */
#define acu_copy_many(dsts, srcs, count) acu_op_copy_many((dsts), (srcs), (count), ACU_SITE)
ACU_API acu_op *acu_op_copy_many(acu_tensor *const *dsts, acu_tensor *const *srcs, size_t count,
                                 acu_site site);
/* A new tensor in device memory with the same contents, on the device that x belongs to, even if x
 * is in host memory. Yields only the new one. */
#define acu_dup(x) acu_op_dup(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_dup(acu_op *x, acu_site site);
/*
 * A new tensor in pinned host memory with the same contents. Yields only the new one: a device
 * tensor that was given to the op or made in it is reclaimed, and its memory freed once copied.
 * Errors: NOT_SUPPORTED (x is host memory).
 *
 * The new memory, and so its host address, is reserved when the op is planned. If the pinned pool
 * (pool.h) has a block of that size in its cache, that takes no driver call. If not, which is
 * mostly the first use of a size, one of acuda's threads page-locks new memory (cuMemHostRegister;
 * milliseconds for many MiB). The copy, and everything that touches the tensor, waits for that as
 * for other work; until then the tensor's address on the device is 0, and if page-locking fails, so
 * do they. Never blocks. To spare a submission that wait, make a tensor of the same size beforehand
 * (acu_tensor_alloc_pinned) and release it.
 */
#define acu_to_host(x) acu_op_to_host(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_to_host(acu_op *x, acu_site site);
/* A new tensor on `device` with the same contents; x is on the host or on any device. */
#define acu_to_device(device, x) acu_op_to_device((device), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_to_device(acu_device *device, acu_op *x, acu_site site);

/* ---- launching ------------------------------------------------------------------------------ */

/*
 * Launch a kernel: acu_launch(saxpy, ACU_BLOCK(4, 4), acu_out(y), acu_f32(2), acu_in(x)). The
 * kernel receives a tensor as a pointer to its first element, a partition as a struct (device.cuh),
 * and a scalar as itself. Checked when the op is planned, before anything is enqueued: the number
 * and sizes of the arguments; dtypes, where the kernel declares them; that no two arguments write
 * the same memory; that all data is on the kernel's device, on one that it may access
 * (acu_device_open_peer), or in pinned or managed memory, which is every device's; grid, block and
 * shared memory against the limits of the kernel and the device. Yields its arguments, in order. A
 * kernel without parameters: acu_launch(tick, ACU_BLOCK(32)), one block of it.
 *
 * kernel       borrowed; its device is where the launch runs
 * config       grid and block: ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz), acu_for_num_elems(n), or,
 *              where partitions give the grid, ACU_BLOCK(x, y) or ACU_AUTO; others as an
 *              acu_config. To the function, NULL means ACU_AUTO
 * args, count  one for each parameter, in their order: acu_in, acu_out or acu_inout of a tensor or
 *              an op, or a scalar (acu_f32, ...). Ops are consumed. In the macro, simply listed
 * site         ACU_SITE: the line of the program, for messages
 */
#define acu_launch(kernel, ...) ACUI_LAUNCH(kernel, __VA_ARGS__, )
#define ACUI_LAUNCH(kernel, config, ...)                                                           \
    acui_launch_on((kernel), (config), ACUI_ANY_ARGS(__VA_ARGS__), ACU_SITE)
ACU_API acu_op *acu_op_launch(acu_kernel *kernel, const acu_config *config, const acu_arg *args,
                              size_t count, acu_site site);
static inline acu_op *acui_launch_on(acu_kernel *kernel, acu_config config, const acu_arg *args,
                                  size_t count, acu_site site)
{
    return acu_op_launch(kernel, &config, args, count, site);
}

/*
 * Any call that enqueues work on a CUDA stream: a vendor library's, another runtime's. `fn` runs
 * when the op is issued, with the device's context current. It must enqueue on `stream` only, and
 * neither wait nor submit, nor start a scheduled submission (all fail with IN_CALLBACK). The
 * arguments say which data the call touches: they order it, and keep the data alive. If `fn`
 * returns anything but ACU_OK, the submission fails with CALLBACK. Yields its arguments.
 *
 * acu_capturable says of such an op (consumed, and returned) that an explicit graph may hold it:
 * what `fn` enqueues is captured when the graph is made, so that it is called once then, and not
 * for each replay; the user data lives as long as the graph. It must enqueue the same whenever it
 * is called, and nothing that CUDA can not capture (waits, allocations, copies of pageable memory).
 * For any other op, INVALID.
 */
typedef acu_status (*acu_foreign_fn)(void *user, CUstream stream, const acu_val *values,
                                     size_t count);
#define acu_foreign(fn, ...) ACUI_FOREIGN(fn, __VA_ARGS__, )
#define ACUI_FOREIGN(fn, user, ...)                                                                \
    acu_op_foreign(ACUI_CALLBACK(acu_foreign_fn, fn, ACU_USER(user)), ACUI_ANY_ARGS(__VA_ARGS__),  \
                   ACU_SITE)
ACU_API acu_op *acu_op_foreign(acu_foreign_fn fn, acu_user user, const acu_arg *args, size_t count,
                               acu_site site);
#define acu_capturable(x) acu_op_capturable((x), ACU_SITE)
ACU_API acu_op *acu_op_capturable(acu_op *x, acu_site site);

/*
 * Host work as an op. `fn` runs on one of acuda's threads once the device is done with the data it
 * touches, and later ops on the same data wait for it. Its tensors are host tensors (pinned or
 * wrapped), whose contents may be read and written as the arguments say. `fn` may take its time,
 * and may submit, but not wait. If it returns anything but ACU_OK, the submission fails with
 * CALLBACK. Host functions of all submissions run one after the other, on one thread; those that
 * clean up (acu_finally) and the decisions of acu_or_else_if go ahead of others that wait.
 *
 * In the macro, as in acu_foreign, arguments follow the user data: acu_host(fn, p, acu_in(x)), or
 * acu_host(fn, p) without any. To give the user data a release function, call the function that
 * the macro stands for: acu_op_host(fn, ACU_USER(p, free), NULL, 0, ACU_SITE).
 */
typedef acu_status (*acu_host_fn)(void *user, const acu_val *values, size_t count);
#define acu_host(fn, ...) ACUI_HOST(fn, __VA_ARGS__, )
#define ACUI_HOST(fn, user, ...)                                                                   \
    acu_op_host(ACUI_CALLBACK(acu_host_fn, fn, ACU_USER(user)), ACUI_ANY_ARGS(__VA_ARGS__),        \
                ACU_SITE)
ACU_API acu_op *acu_op_host(acu_host_fn fn, acu_user user, const acu_arg *args, size_t count,
                            acu_site site);

/*
 * Host work that ends later than its function returns: a request to another library, or to another
 * thread of the program, which reads or writes the tensors meanwhile. `fn` is called as that of
 * acu_host is, and must not take long. If it returns ACU_OK, the op is over once somebody ends the
 * promise, from any thread, which may be before `fn` has returned. If it returns an error, the
 * op fails like acu_host, and the promise is gone: it must not be ended. The values stay valid
 * until then, as do their tensors.
 *
 *     static acu_status begin(void *user, acu_promise *done, const acu_val *vals, size_t count)
 *     {
 *         return request_read(user, acu_tensor_host(vals[0].tensor), done);  // yours
 *     }
 *     ... on the thread that learns of the end: acu_promise_end(done, ACU_OK, NULL);
 *
 * Cancelling the submission, or a deadline of it, ends its future at once, but not the op: the data
 * stays in use until the promise is ended. Whoever can stop the work asks
 * acu_promise_given_up now and then. acu_close and acu_device_wait wait for all promises, as
 * for all work; one that nobody ends keeps them waiting.
 */
typedef struct acu_promise acu_promise;
typedef acu_status (*acu_host_async_fn)(void *user, acu_promise *done, const acu_val *values,
                                        size_t count);
#define acu_host_async(fn, ...) ACUI_HOST_ASYNC(fn, __VA_ARGS__, )
#define ACUI_HOST_ASYNC(fn, user, ...)                                                             \
    acu_op_host_async(ACUI_CALLBACK(acu_host_async_fn, fn, ACU_USER(user)),                        \
                      ACUI_ANY_ARGS(__VA_ARGS__), ACU_SITE)
ACU_API acu_op *acu_op_host_async(acu_host_async_fn fn, acu_user user, const acu_arg *args,
                                  size_t count, acu_site site);

/*
 * End the work. `done` is invalid afterwards. With any other outcome than ACU_OK the op fails with
 * CALLBACK (acu_error.cause is the outcome), and so does what reads the data that it was to write
 * (DEPENDENCY); the text, which may be NULL, says why. Work that waited for this is issued before
 * the call returns, so it makes the driver calls of that, and must not be made from a function that
 * the driver calls (cuLaunchHostFunc). Never blocks. Errors: INVALID (NULL, ended before),
 * BAD_HANDLE.
 */
ACU_API acu_status acu_promise_end(acu_promise *done, acu_status outcome, const char *format,
                                   ...) ACU_PRINTF(3, 4);
/* Whether nobody wants the work any more: its submission was cancelled, missed its deadline, or
 * failed elsewhere. It must be ended all the same. Before the end only. Never blocks. */
ACU_API bool acu_promise_given_up(acu_promise *done);

ACU_END

#ifdef __cplusplus /* for the macros above: in C++ a list is one argument */
static inline acu_op *acu_op_zip(acui_list<acu_op *> ops, acu_site site)
{
    return acu_op_zip(ops.items, ops.count, site);
}
static inline acu_op *acu_op_permute(acu_op *x, acui_list<int> order, acu_site site)
{
    return acu_op_permute(x, order.items, order.count, site);
}
static inline acu_op *acui_launch_on(acu_kernel *kernel, acu_config config, acui_list<acu_arg> args,
                                  acu_site site)
{
    return acu_op_launch(kernel, &config, args.items, args.count, site);
}
static inline acu_op *acu_op_foreign(acu_foreign_fn fn, acu_user user, acui_list<acu_arg> args,
                                     acu_site site)
{
    return acu_op_foreign(fn, user, args.items, args.count, site);
}
static inline acu_op *acu_op_host(acu_host_fn fn, acu_user user, acui_list<acu_arg> args,
                                  acu_site site)
{
    return acu_op_host(fn, user, args.items, args.count, site);
}
static inline acu_op *acu_op_host_async(acu_host_async_fn fn, acu_user user,
                                        acui_list<acu_arg> args, acu_site site)
{
    return acu_op_host_async(fn, user, args.items, args.count, site);
}
#ifdef ACUI_CALLBACK_IS_ONE
static inline acu_op *acu_op_then(acu_op *x, acui_callback<acu_then_fn> f, acu_site site)
{
    return acu_op_then(x, f.fn, f.user, site);
}
static inline acu_op *acu_op_make(acui_callback<acu_make_fn> f, acu_site site)
{
    return acu_op_make(f.fn, f.user, site);
}
static inline acu_op *acu_op_map(acu_op *x, acui_callback<acu_map_fn> f, acu_site site)
{
    return acu_op_map(x, f.fn, f.user, site);
}
static inline acu_op *acu_op_inspect(acu_op *x, acui_callback<acu_inspect_fn> f, acu_site site)
{
    return acu_op_inspect(x, f.fn, f.user, site);
}
static inline acu_op *acu_op_or_else(acu_op *x, acu_op *other, acui_callback<acu_or_else_fn> f,
                                     acu_site site)
{
    return acu_op_or_else(x, other, f.fn, f.user, site);
}
static inline acu_op *acu_op_foreign(acui_callback<acu_foreign_fn> f, acui_list<acu_arg> args,
                                     acu_site site)
{
    return acu_op_foreign(f.fn, f.user, args.items, args.count, site);
}
static inline acu_op *acu_op_host(acui_callback<acu_host_fn> f, acui_list<acu_arg> args,
                                  acu_site site)
{
    return acu_op_host(f.fn, f.user, args.items, args.count, site);
}
static inline acu_op *acu_op_host_async(acui_callback<acu_host_async_fn> f, acui_list<acu_arg> args,
                                        acu_site site)
{
    return acu_op_host_async(f.fn, f.user, args.items, args.count, site);
}
#endif
#endif
#endif
