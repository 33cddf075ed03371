/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tensor cores (compute capability 8.0 and newer), for f16, bf16 and tf32, adding in float.
 *
 * The parts of a matrix that the threads of a warp hold, as mma.m16n8k16 wants them (g is lane / 4,
 * t is lane % 4): of the left one rows g and g + 8, columns 2 t, 2 t + 1, and 8 further; of the right
 * one column g, the same rows; of the result rows g and g + 8, columns 2 t and 2 t + 1.
 */
#ifndef ACUI_MMA_CUH
#define ACUI_MMA_CUH

#include "elements.cuh"

struct as_f16 {
    static const int BYTES = 2;
    ACUI_DEVICE unsigned short one(float x) { return acui_to_f16(x); }
    ACUI_DEVICE void store(char *at, float x) { *(unsigned short *)at = one(x); }
    ACUI_DEVICE void store_two(char *at, float x, float y) { *(unsigned *)at = pack(x, y); }
    ACUI_DEVICE unsigned pack(float low, float high)
    {
        unsigned both;
        __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
        return both;
    }
    ACUI_DEVICE void multiply(float (&c)[4], const unsigned *a, unsigned b0, unsigned b1)
    {
        __asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};
struct as_bf16 {
    static const int BYTES = 2;
    ACUI_DEVICE unsigned short one(float x) { return acui_to_bf16(x); }
    ACUI_DEVICE void store(char *at, float x) { *(unsigned short *)at = one(x); }
    ACUI_DEVICE void store_two(char *at, float x, float y) { *(unsigned *)at = pack(x, y); }
    ACUI_DEVICE unsigned pack(float low, float high)
    {
        unsigned both;
        __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
        return both;
    }
    ACUI_DEVICE void multiply(float (&c)[4], const unsigned *a, unsigned b0, unsigned b1)
    {
        __asm__("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

/* Of f32's bits the hardware reads those of tf32, as if the others were cut off. Instructions take 8
 * along k: a chunk of 16 bytes is half of that, as for the others. */
struct as_tf32 {
    static const int BYTES = 4;
    ACUI_DEVICE void store(char *at, float x) { *(float *)at = x; }
    ACUI_DEVICE void store_two(char *at, float x, float y)
    {
        typedef float both __attribute__((ext_vector_type(2)));
        *(both *)at = both{x, y};
    }
    ACUI_DEVICE void multiply(float (&c)[4], const unsigned *a, unsigned b0, unsigned b1)
    {
        __asm__("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

ACUI_DEVICE unsigned shared_address(const void *at)
{
    return (unsigned)(unsigned long long)(const __attribute__((address_space(3))) void *)at;
}

/* Four matrices of 8 x 8; each lane names a row. */
template <bool TURNED> ACUI_DEVICE void load_four(unsigned (&r)[4], unsigned at)
{
    if (TURNED)
        __asm__ __volatile__("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
    else
        __asm__ __volatile__("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}

#endif
