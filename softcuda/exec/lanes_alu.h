/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The handlers of the lists of arithmetic. Included once for each instruction set; see isa.h.
 */
#include "exec/ops.h"
#include "exec/scalar_float.h"
#include "exec/scalar_int.h"

/* ---- plain lists ----------------------------------------------------------------------------- */

SX_OPS_INT(SX_DEF1, SX_DEF2, SX_DEF3, SX_DEF1_SCALAR, SX_DEF2_SCALAR, SX_DEF3_SCALAR)
SX_OPS_F64(SX_DEF1, SX_DEF2, SX_DEF3, SX_DEF1_SCALAR, SX_DEF2_SCALAR, SX_DEF3_SCALAR)
SX_OPS_CVT(SX_DEF1, SX_DEF2, SX_DEF3, SX_DEF1_SCALAR, SX_DEF2_SCALAR, SX_DEF3_SCALAR)

/* ---- f32, with and without flushing ---------------------------------------------------------- */

#define FLUSH1(name, expr) \
    SX_INLINE float name##_value(float x) \
    { \
        return expr; \
    }
#define FLUSH2(name, expr) \
    SX_INLINE float name##_value(float x, float y) \
    { \
        return expr; \
    }
#define FLUSH3(name, expr) \
    SX_INLINE float name##_value(float x, float y, float z) \
    { \
        return expr; \
    }
SX_OPS_F32(FLUSH1, FLUSH2, FLUSH3, FLUSH1)
#undef FLUSH1
#undef FLUSH2
#undef FLUSH3

#define FLUSH1(name, expr) \
    SX_DEF1(name, f32, f32, name##_value(x)) \
    SX_DEF1(name##_ftz, f32, f32, sx_ftz32(name##_value(sx_ftz32(x))))
#define FLUSH2(name, expr) \
    SX_DEF2(name, f32, f32, f32, name##_value(x, y)) \
    SX_DEF2(name##_ftz, f32, f32, f32, sx_ftz32(name##_value(sx_ftz32(x), sx_ftz32(y))))
#define FLUSH3(name, expr) \
    SX_DEF3(name, f32, f32, f32, f32, name##_value(x, y, z)) \
    SX_DEF3(name##_ftz, f32, f32, f32, f32, \
            sx_ftz32(name##_value(sx_ftz32(x), sx_ftz32(y), sx_ftz32(z))))
#define SCALAR1(name, expr) \
    SX_DEF1_SCALAR(name, f32, f32, name##_value(x)) \
    SX_DEF1_SCALAR(name##_ftz, f32, f32, sx_ftz32(name##_value(sx_ftz32(x))))
SX_OPS_F32(FLUSH1, FLUSH2, FLUSH3, SCALAR1)

/* ---- half precision, one value and pairs ----------------------------------------------------- */

#define HALF1(name, expr) \
    SX_INLINE uint16_t name##_value(uint16_t x) \
    { \
        return (uint16_t)(expr); \
    } \
    SX_DEF1(name, u16, u16, name##_value(x)) \
    SX_DEF1(name##x2, u32, u32, SX_PAIR(name##_value(SX_LO(x)), name##_value(SX_HI(x))))
#define HALF2(name, expr) \
    SX_INLINE uint16_t name##_value(uint16_t x, uint16_t y) \
    { \
        return (uint16_t)(expr); \
    } \
    SX_DEF2(name, u16, u16, u16, name##_value(x, y)) \
    SX_DEF2(name##x2, u32, u32, u32, \
            SX_PAIR(name##_value(SX_LO(x), SX_LO(y)), name##_value(SX_HI(x), SX_HI(y))))
#define HALF3(name, expr) \
    SX_INLINE uint16_t name##_value(uint16_t x, uint16_t y, uint16_t z) \
    { \
        return (uint16_t)(expr); \
    } \
    SX_DEF3_SCALAR(name, u16, u16, u16, u16, name##_value(x, y, z)) \
    SX_DEF3_SCALAR(name##x2, u32, u32, u32, u32, \
                   SX_PAIR(name##_value(SX_LO(x), SX_LO(y), SX_LO(z)), \
                           name##_value(SX_HI(x), SX_HI(y), SX_HI(z))))
SX_OPS_HALF(HALF1, HALF2, HALF3)

/* ---- comparisons: 32 conditions into one mask ------------------------------------------------ */

#if defined(__x86_64__)
SX_INLINE uint32_t sx_mask_2(const int16_t *r)
{
    uint32_t mask = 0;
    for (unsigned n = 0; n < 2; n++) {
        __m128i low = _mm_load_si128((const __m128i *)(const void *)(r + 16 * n));
        __m128i high = _mm_load_si128((const __m128i *)(const void *)(r + 16 * n + 8));
        mask |= (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << (16 * n);
    }
    return mask;
}

SX_INLINE uint32_t sx_mask_4(const int32_t *r)
{
    uint32_t mask = 0;
#if SX_ISA_LEVEL >= 2
    for (unsigned n = 0; n < 4; n++)
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_load_ps((const float *)(const f32 *)r + 8 * n))
                << (8 * n);
#else
    for (unsigned n = 0; n < 8; n++)
        mask |= (uint32_t)_mm_movemask_ps(_mm_load_ps((const float *)(const f32 *)r + 4 * n))
                << (4 * n);
#endif
    return mask;
}

SX_INLINE uint32_t sx_mask_8(const int64_t *r)
{
    uint32_t mask = 0;
#if SX_ISA_LEVEL >= 2
    for (unsigned n = 0; n < 8; n++)
        mask |= (uint32_t)_mm256_movemask_pd(_mm256_load_pd((const double *)(const f64 *)r + 4 * n))
                << (4 * n);
#else
    for (unsigned n = 0; n < 16; n++)
        mask |= (uint32_t)_mm_movemask_pd(_mm_load_pd((const double *)(const f64 *)r + 2 * n))
                << (2 * n);
#endif
    return mask;
}
#else
#define SX_PORTABLE_MASK(name, T) \
    SX_INLINE uint32_t name(const T *r) \
    { \
        uint32_t mask = 0; \
        for (unsigned l = 0; l < SX_LANES; l++) \
            mask |= r[l] ? sx_bit[l] : 0; \
        return mask; \
    }
SX_PORTABLE_MASK(sx_mask_2, int16_t)
SX_PORTABLE_MASK(sx_mask_4, int32_t)
SX_PORTABLE_MASK(sx_mask_8, int64_t)
#endif

#define MASK_LANE_u16 int16_t
#define MASK_LANE_s16 int16_t
#define MASK_LANE_u32 int32_t
#define MASK_LANE_s32 int32_t
#define MASK_LANE_f32 int32_t
#define MASK_LANE_u64 int64_t
#define MASK_LANE_s64 int64_t
#define MASK_LANE_f64 int64_t
#define MASK_OF_u16 sx_mask_2
#define MASK_OF_s16 sx_mask_2
#define MASK_OF_u32 sx_mask_4
#define MASK_OF_s32 sx_mask_4
#define MASK_OF_f32 sx_mask_4
#define MASK_OF_u64 sx_mask_8
#define MASK_OF_s64 sx_mask_8
#define MASK_OF_f64 sx_mask_8

#define COMPARE_WITH(name, T, through, cond) \
    SX_HANDLER(name) \
    { \
        const T *a = SX_REG(T, 1); \
        const T *b = SX_REG(T, 2); \
        _Alignas(64) MASK_LANE_##T r[SX_LANES]; \
        SX_EACH_LANE \
        { \
            const T x = through(a[l]); \
            const T y = through(b[l]); \
            r[l] = (cond) ? -1 : 0; \
        } \
        sx_pred_set(w, i->o[0], MASK_OF_##T(r), w->mask); \
        return i + 1; \
    }
#define COMPARE(name, T, cond) COMPARE_WITH(name, T, , cond)
#define COMPARE_FTZ(name, T, cond) COMPARE_WITH(name, T, sx_ftz32, cond)
SX_OPS_COMPARE(COMPARE, COMPARE_FTZ)

#define TEST(name, T, cond) \
    SX_HANDLER(name) \
    { \
        const T *a = SX_REG(T, 1); \
        uint32_t r = 0; \
        for (unsigned l = 0; l < SX_LANES; l++) { \
            const T x = a[l]; \
            r |= (cond) ? sx_bit[l] : 0; \
        } \
        sx_pred_set(w, i->o[0], r, w->mask); \
        return i + 1; \
    }
SX_OPS_TEST(TEST)

#define SELECT(name, T) \
    SX_HANDLER(name) \
    { \
        T *d = SX_REG(T, 0); \
        const T *a = SX_REG(T, 1); \
        const T *b = SX_REG(T, 2); \
        const uint32_t p = sx_pred(w, i->o[3]); \
        if (w->full) { \
            SX_EACH_LANE \
            { \
                d[l] = p & sx_bit[l] ? a[l] : b[l]; \
            } \
        } else { \
            const uint32_t m = w->mask; \
            SX_EACH_LANE \
            { \
                const T r = p & sx_bit[l] ? a[l] : b[l]; \
                d[l] = m & sx_bit[l] ? r : d[l]; \
            } \
        } \
        return i + 1; \
    }
SX_OPS_SELECT(SELECT)
