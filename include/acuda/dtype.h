/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Element types (dtypes). Includes nothing, so that kernels may include it. */
#ifndef ACUDA_DTYPE_H
#define ACUDA_DTYPE_H

/*
 * X(identifier, name, bytes of an element, kind). The names are the usual ones. f16 and bf16 are
 * the two half-precision formats. tf32 is stored in 4 bytes, like f32; the hardware reads 19 of its
 * bits. In the names of the types of 8 bits and less, e and m give the bits of exponent and
 * mantissa, fn means no infinities, and u means no sign (f8e8m0fnu is a power of two and has no
 * zero). An element of f4e2m1fnx2 is one byte that holds two numbers, the first in the low half:
 * shapes and strides count such pairs. c64 and c128 are complex: two floats or two doubles, the
 * real part first, as in C, C++ and NumPy (complex64, complex128) and as float2 and double2 in
 * kernels.
 */
#define ACU_DTYPES(X)                                                                              \
    X(BOOL, "bool", 1, BOOL)                                                                       \
    X(U8, "u8", 1, UNSIGNED) X(U16, "u16", 2, UNSIGNED)                                            \
    X(U32, "u32", 4, UNSIGNED) X(U64, "u64", 8, UNSIGNED)                                          \
    X(I8, "i8", 1, SIGNED) X(I16, "i16", 2, SIGNED)                                                \
    X(I32, "i32", 4, SIGNED) X(I64, "i64", 8, SIGNED)                                              \
    X(F16, "f16", 2, FLOAT) X(BF16, "bf16", 2, FLOAT) X(F32, "f32", 4, FLOAT)                      \
    X(TF32, "tf32", 4, FLOAT) X(F64, "f64", 8, FLOAT)                                              \
    X(F8E4M3FN, "f8e4m3fn", 1, FLOAT) X(F8E5M2, "f8e5m2", 1, FLOAT)                                \
    X(F8E8M0FNU, "f8e8m0fnu", 1, FLOAT) X(F4E2M1FNX2, "f4e2m1fnx2", 1, FLOAT)                      \
    X(C64, "c64", 8, COMPLEX) X(C128, "c128", 16, COMPLEX)

typedef enum acu_dtype {
    ACU_NO_DTYPE = 0,
#define ACU_X(id, name, bytes, kind) ACU_##id,
    ACU_DTYPES(ACU_X)
#undef ACU_X
    ACU_DTYPE_COUNT
} acu_dtype;

#endif
