/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers of images in registers, as float: reading and writing them in five dtypes. */
#ifndef ACUDA_KERNELS_IMAGE_CUH
#define ACUDA_KERNELS_IMAGE_CUH

#include "../src/image/params.h"
#include "elements.cuh"

#define ACUI_GLOBAL __attribute__((address_space(1)))
typedef const ACUI_GLOBAL char *acui_from;
typedef ACUI_GLOBAL char *acui_to;

/* Element `at`. UNROLL: how many pixels are read at once; there is less code where each number is
 * looked up. */
struct acui_bytes_only {
    static const int UNROLL = 4;
    ACUI_DEVICE float read(int, acui_from from, long long at)
    {
        return (float)((const ACUI_GLOBAL unsigned char *)from)[at];
    }
};
struct acui_any_pixel {
    static const int UNROLL = 1;
    ACUI_DEVICE float read(int dtype, acui_from from, long long at)
    {
        switch (dtype) {
        case ACU_U8: return (float)((const ACUI_GLOBAL unsigned char *)from)[at];
        case ACU_U16: return (float)((const ACUI_GLOBAL unsigned short *)from)[at];
        case ACU_F16: return acui_from_f16(((const ACUI_GLOBAL unsigned short *)from)[at]);
        case ACU_BF16: return acui_from_bf16(((const ACUI_GLOBAL unsigned short *)from)[at]);
        default: return ((const ACUI_GLOBAL float *)from)[at];
        }
    }
};

/* Integers: the nearest that exists; NaN becomes 0. */
ACUI_DEVICE void acui_put(int dtype, acui_to to, long long at, float value)
{
    switch (dtype) {
    case ACU_U8:
        ((ACUI_GLOBAL unsigned char *)to)[at] =
            (unsigned char)(int)rintf(fminf(fmaxf(value, 0.0f), 255.0f));
        break;
    case ACU_U16:
        ((ACUI_GLOBAL unsigned short *)to)[at] =
            (unsigned short)(int)rintf(fminf(fmaxf(value, 0.0f), 65535.0f));
        break;
    case ACU_F16: ((ACUI_GLOBAL unsigned short *)to)[at] = acui_to_f16(value); break;
    case ACU_BF16: ((ACUI_GLOBAL unsigned short *)to)[at] = acui_to_bf16(value); break;
    default: ((ACUI_GLOBAL float *)to)[at] = value; break;
    }
}

#endif
