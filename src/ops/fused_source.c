/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The source of a kernel that computes an expression: types, functions, the expression, and what
 * the kernel does with it. */
#include "ops/expression.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

/* Of floating point, T in which they are computed is E too. */
#define FLOAT(t, s)                                                                                \
    "typedef " #t " T; typedef " #t " E; typedef " #s " S; typedef S O;\n"                         \
    "#define L(n) ((T)n##.0)\n"                                                                    \
    "static __device__ E to_e(unsigned long long a, unsigned long long)\n"                         \
    "{ return sizeof(T) == 8 ? (T)__longlong_as_double((long long)a)\n"                            \
    "                        : (T)__uint_as_float((unsigned)a); }\n"                               \
    "static __device__ E shifted_up(E v, unsigned by)\n"                                           \
    "{ return __shfl_up_sync(0xffffffffu, v, by); }\n"
#define ALIKE                                                                                      \
    "static __device__ E from(S s) { return s; }\n"                                                \
    "static __device__ void put(S &to, E v) { to = v; }\n"
static const char types_f32[] = FLOAT(float, float) ALIKE;
static const char types_f64[] = FLOAT(double, double) ALIKE;
static const char types_f16[] = FLOAT(float, unsigned short)
    "static __device__ E from(S s)\n"
    "{ E v; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(v) : \"h\"(s)); return v; }\n"
    "static __device__ void put(S &to, E v)\n"
    "{ asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(to) : \"f\"(v)); }\n";
static const char types_bf16[] = FLOAT(float, unsigned short)
    "static __device__ E from(S s) { return __uint_as_float((unsigned)s << 16); }\n"
    "static __device__ void put(S &to, E v) { unsigned b = __float_as_uint(v);\n"
    "    to = v != v ? 0x7fff : (S)((b + 0x7fffu + (b >> 16 & 1u)) >> 16); }\n";

/* Integers, computed as COMPUTED and stored as S. */
static const char types_whole[] =
    "#include \"expression_i.cuh\"\n"
    "typedef acui_whole<COMPUTED, unsigned WIDE> T; typedef T E; typedef S O;\n"
    "#define L(n) ((T)n##ull)\n"
    "static __device__ E to_e(unsigned long long a, unsigned long long) { return (COMPUTED)a; }\n"
    "static __device__ E shifted_up(E v, unsigned by)\n"
    "{ return __shfl_up_sync(0xffffffffu, v.v, by); }\n"
    "static __device__ E from(S s) { return s; }\n"
    "static __device__ void put(S &to, E v) { to = (S)v.v; }\n"
    "#define INLINE static __device__ __forceinline__\n";

/* Of complex ones, T is the type of what is real among them. P is a part as it is stored. */
#define COMPLEX(part, bytes, result)                                                               \
    "#include \"expression_z.cuh\"\n"                                                              \
    "typedef double T; typedef acui_number E; typedef " #part " P;\n"                              \
    "#define L(n) ((T)n##.0)\n"                                                                    \
    "struct __align__(" #bytes ") S { P x, y; };\n"                                                \
    "typedef " #result " O;\n"                                                                     \
    "static __device__ E to_e(unsigned long long a, unsigned long long b)\n"                       \
    "{ return {__longlong_as_double((long long)a), __longlong_as_double((long long)b)}; }\n"       \
    "static __device__ E shifted_up(E v, unsigned by)\n"                                           \
    "{ return {__shfl_up_sync(0xffffffffu, v.x, by), __shfl_up_sync(0xffffffffu, v.y, by)}; }\n"   \
    "static __device__ E from(S s) { return {s.x, s.y}; }\n"                                       \
    "static __device__ void put(S &to, E v) { to.x = (P)v.x; to.y = (P)v.y; }\n"                   \
    "static __device__ void put(P &to, T v) { to = (P)v; }\n"
static const char types_c64[] = COMPLEX(float, 8, S), types_c64_part[] = COMPLEX(float, 8, P),
                  types_c128[] = COMPLEX(double, 16, S), types_c128_part[] = COMPLEX(double, 16, P);

static const char functions[] =
    "#define INLINE static __device__ __forceinline__\n"
    "#define FN(name, value) INLINE T fn_##name(T a) { return value; }\n"
    "FN(abs, fabs(a)) FN(sign, a != a ? a : (T)((a > 0) - (a < 0))) FN(square, a * a)\n"
    "FN(sqrt, sqrt(a)) FN(rsqrt, (T)1 / sqrt(a)) FN(reciprocal, (T)1 / a) FN(exp, exp(a))\n"
    "FN(log, log(a)) FN(sin, sin(a)) FN(cos, cos(a)) FN(tanh, tanh(a)) FN(erf, erf(a))\n"
    "INLINE T fn_sigmoid(T a)\n"
    "{ T e = exp(-fabs(a)), r = (T)1 / ((T)1 + e); return a < 0 ? e * r : r; }\n"
    "FN(silu, a * fn_sigmoid(a)) FN(gelu, (T)0.5 * a * ((T)1 + erf(a * (T)0.70710678118654752)))\n"
    "FN(relu, a < 0 ? (T)0 : a) FN(floor, floor(a)) FN(ceil, ceil(a)) FN(trunc, trunc(a))\n"
    "FN(round, rint(a)) FN(conj, a) FN(real, a) FN(imag, (T)0)\n"
    "FN(angle, a != a ? a : copysign((T)1, a) < 0 ? (T)3.14159265358979323846 : (T)0)\n"
    "#define FN2(name, value) INLINE T fn_##name(T a, T b) { return value; }\n"
    "FN2(min, a != a || a < b ? a : b) FN2(max, a != a || a > b ? a : b) FN2(pow, pow(a, b))\n"
    "#define FN3(name, value) INLINE T fn_##name(T a, T b, T c) { return value; }\n"
    "FN3(fma, fma(a, b, c)) FN3(where, a != 0 ? b : c)\n"
    "INLINE T fn_clamp(T a, T b, T c)\n"
    "{ a = a < b || b != b ? b : a; return a > c || c != c ? c : a; }\n";

static const char *types_of(const acui_expression_for *of)
{
    bool part = of->use->part;
    switch (of->dtype) {
    case ACU_F64:
        return types_f64;
    case ACU_F16:
        return types_f16;
    case ACU_BF16:
        return types_bf16;
    case ACU_C64:
        return part ? types_c64_part : types_c64;
    case ACU_C128:
        return part ? types_c128_part : types_c128;
    default:
        return types_f32;
    }
}

static ACU_PRINTF(3, 4) size_t append(char *text, size_t length, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int more = vsnprintf(text + length, ACUI_EXPRESSION_SOURCE - length, format, list);
    va_end(list);
    return length + (size_t)more;
}

/* Types and functions. */
static size_t put_types(char *text, size_t n, const acui_expression_for *of)
{
    static const char *const stored[] = {"char", "short", "int", "long long"};
    const char class = acui_class_of(of->dtype);
    if (class != 'i' && class != 'l')
        return append(text, n, "%s%s", types_of(of), functions);
    const size_t bytes = acu_dtype_bytes(of->dtype);
    const bool no_sign = acu_dtype_kind_of(of->dtype) == ACU_KIND_UNSIGNED;
    return append(text, n, "#define WIDE %s\n#define COMPUTED %sWIDE\ntypedef %s %s S;\n%s",
                  bytes == 8 ? "long long" : "int", no_sign && bytes >= 4 ? "unsigned " : "",
                  no_sign ? "unsigned" : "signed", stored[bytes == 8 ? 3 : bytes / 2], types_whole);
}

void acui_expression_write(const acui_parsed *parsed, const acui_expression_for *of, char *text)
{
    size_t n = append(text, 0, "%s\n#define N %zu\n#define ARGUMENTS ", TEXT(ACUI_LAYOUT_TYPES),
                      parsed->operands);
    for (size_t i = 0; i < parsed->operands; i++)
        n = append(text, n, "%sconst S *a%zu", i ? ", " : "", i);
    n = append(text, n, "\n#define NAMES ");
    for (size_t i = 0; i < parsed->operands; i++)
        n = append(text, n, "%sa%zu", i ? ", " : "", i);
    n = put_types(text, append(text, n, "\n"), of);
    n = append(text, n, "INLINE auto value(const E (&v)[N])\n{\n");
    for (size_t i = 0; i < parsed->operands; i++) {
        bool real = acui_is_complex(of->dtype) && !(of->complex >> i & 1);
        n = append(text, n, "    const auto v%zu = v[%zu]%s;\n", i, i, real ? ".x" : "");
    }
    n = append(text, n, "    return %s;\n}\n", parsed->code);
    for (size_t i = 0; i < parsed->operands; i++)
        n = append(text, n, "#define PLACE_%s %zu\n", parsed->names[i], i);
    append(text, n, "%s", of->use->code);
}
