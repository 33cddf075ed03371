/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elements as integers whose order and equality are those of the elements; and plain moves of them. */
#ifndef ACUDA_KERNELS_KEYS_CUH
#define ACUDA_KERNELS_KEYS_CUH

#include "elements.cuh"

/* Floating point as an integer of the same order: NaN above all, and both zeros equal. */
template <typename T> ACUI_DEVICE T acui_real_key(T bits, T infinite, T sign, T all)
{
    const T size = (T)(bits & (T)~sign);
    if (size > infinite)
        return all;
    if (size == 0)
        return sign;
    return bits & sign ? (T)(bits ^ all) : (T)(bits | sign);
}
template <typename T> ACUI_DEVICE T acui_real_key(T bits, T infinite)
{
    return acui_real_key<T>(bits, infinite, (T)((T)1 << (sizeof(T) * 8 - 1)), (T)~(T)0);
}

ACUI_DEVICE unsigned long long acui_key_of(const char *at, int dtype, bool descending)
{
    unsigned long long key;
    switch (dtype) {
    case ACU_BOOL: key = *(const unsigned char *)at != 0; break;
    case ACU_U8: key = *(const unsigned char *)at; break;
    case ACU_I8: key = *(const unsigned char *)at ^ 0x80u; break;
    case ACU_U16: key = *(const unsigned short *)at; break;
    case ACU_I16: key = *(const unsigned short *)at ^ 0x8000u; break;
    case ACU_F16: key = acui_real_key<unsigned short>(*(const unsigned short *)at, 0x7c00); break;
    case ACU_BF16: key = acui_real_key<unsigned short>(*(const unsigned short *)at, 0x7f80); break;
    case ACU_U32: key = *(const unsigned *)at; break;
    case ACU_I32: key = *(const unsigned *)at ^ 0x80000000u; break;
    case ACU_U64: key = *(const unsigned long long *)at; break;
    case ACU_I64: key = *(const unsigned long long *)at ^ 1ull << 63; break;
    case ACU_F64: key = acui_real_key<unsigned long long>(*(const unsigned long long *)at, 0x7ffull << 52); break;
    default: key = acui_real_key<unsigned>(*(const unsigned *)at, 0x7f800000u); break;
    }
    return descending ? ~key : key;
}

/* Copies element `from` to place `to`, of elements of so many bytes; x may be NULL: zero. */
ACUI_DEVICE void acui_move_element(char *out, long long to, const char *x, long long from, int bytes)
{
    if (bytes == 1)
        out[to] = x ? x[from] : 0;
    else if (bytes == 2)
        ((unsigned short *)out)[to] = x ? ((const unsigned short *)x)[from] : 0;
    else if (bytes == 4)
        ((unsigned *)out)[to] = x ? ((const unsigned *)x)[from] : 0;
    else if (bytes == 16)
        ((uint4 *)out)[to] = x ? ((const uint4 *)x)[from] : make_uint4(0, 0, 0, 0);
    else
        ((unsigned long long *)out)[to] = x ? ((const unsigned long long *)x)[from] : 0;
}

#endif
