/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What clang needs to compile CUDA C++ to PTX without a CUDA toolkit: CUDA's keywords, types,
 * built-in variables and device functions, written over clang's own builtins. It is included ahead
 * of every kernel that acuda builds:
 *
 *     clang -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib \
 *           -Xclang -target-feature -Xclang +ptx63 -include prelude.cuh -O3 -S -o k.ptx k.cu
 *
 * (clang 14 to 19; the PTX version must be named, because clang otherwise assumes one that lacks
 * the .sync instructions.) nvcc and NVRTC bring all of this themselves: for them the file is empty,
 * so that a kernel may include it and still be compiled by any of the three.
 *
 * Names and meanings are CUDA's. Not provided: textures, surfaces, device-side launches, __managed__.
 * Math functions are in math*.cuh, what few kernels need in more.cuh; the types of
 * 16 and 8 bits, cooperative groups and complex numbers in the headers of kernels/cuda, by CUDA's names.
 */
#ifndef ACUDA_KERNELS_PRELUDE_CUH
#define ACUDA_KERNELS_PRELUDE_CUH

/* A clang that found a toolkit has included its own wrapper of NVIDIA's headers by now. */
#if defined(__clang__) && defined(__CUDA__) && !defined(__NVCC__) && \
    !defined(__CUDACC_RTC__) && !defined(__CLANG_CUDA_RUNTIME_WRAPPER_H__)

#include <stddef.h>

/* clang-format off: what is one fact a line stays one line */

/* ---- keywords ---------------------------------------------------------------------------- */

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))
#if __clang_major__ < 15 /* newer versions know it as a keyword */
#define __noinline__ __attribute__((noinline))
#endif
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __grid_constant__ /* only a promise not to write: parameters stay where they are */
#endif
#ifndef __CUDACC__
#define __CUDACC__ 1 /* by this, headers ask whether this is CUDA C++ */
#endif

/* How the functions below are declared: static, so that a module carries only what it uses. */
#define ACUI_DEVICE static __inline__ __attribute__((device, always_inline, unused))
#define ACUI_DEVICE_OUTLINE static __inline__ __attribute__((device, noinline, unused))
#define ACUI_BOTH static __inline__ __attribute__((host, device, always_inline, unused))

/* ---- vector types ------------------------------------------------------------------------ */

/* Alignment is part of the ABI: 2 or 4 elements move in one access, of at most 16 bytes. */
#define ACUI_VECTOR(name, type, align2, align4)                                                    \
    struct name##1 { type x; };                                                                    \
    struct __align__(align2) name##2 { type x, y; };                                               \
    struct name##3 { type x, y, z; };                                                              \
    struct __align__(align4) name##4 { type x, y, z, w; };                                         \
    ACUI_BOTH name##1 make_##name##1(type x) { return {x}; }                                       \
    ACUI_BOTH name##2 make_##name##2(type x, type y) { return {x, y}; }                            \
    ACUI_BOTH name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                 \
    ACUI_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
ACUI_VECTOR(char, signed char, 2, 4)
ACUI_VECTOR(uchar, unsigned char, 2, 4)
ACUI_VECTOR(short, short, 4, 8)
ACUI_VECTOR(ushort, unsigned short, 4, 8)
ACUI_VECTOR(int, int, 8, 16)
ACUI_VECTOR(uint, unsigned, 8, 16)
ACUI_VECTOR(long, long, 16, 16)
ACUI_VECTOR(ulong, unsigned long, 16, 16)
ACUI_VECTOR(longlong, long long, 16, 16)
ACUI_VECTOR(ulonglong, unsigned long long, 16, 16)
ACUI_VECTOR(float, float, 8, 16)
ACUI_VECTOR(double, double, 16, 16)
#undef ACUI_VECTOR

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1)
        : x(vx), y(vy), z(vz) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};

/* ---- built-in variables: clang's own; it leaves the conversions to those who have the types - */

#include <__clang_cuda_builtin_vars.h>

#define ACUI_CONVERSIONS(name)                                                                     \
    __device__ inline __cuda_builtin_##name##_t::operator dim3() const { return {x, y, z}; }       \
    __device__ inline __cuda_builtin_##name##_t::operator uint3() const { return {x, y, z}; }
ACUI_CONVERSIONS(threadIdx)
ACUI_CONVERSIONS(blockIdx)
ACUI_CONVERSIONS(blockDim)
ACUI_CONVERSIONS(gridDim)
#undef ACUI_CONVERSIONS

/* ---- what the driver supplies, and the C library's few functions -------------------------- */

extern "C" {
__device__ int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
__device__ void *malloc(size_t bytes);
__device__ void free(void *memory);
__device__ void __assertfail(const char *what, const char *file, unsigned line,
                             const char *function, size_t char_bytes) __attribute__((noreturn));
/* In device code clang takes the C library's names for ordinary functions. */
__device__ inline void *memcpy(void *to, const void *from, size_t bytes)
{
    return __builtin_memcpy(to, from, bytes);
}
__device__ inline void *memset(void *to, int byte, size_t bytes)
{
    return __builtin_memset(to, byte, bytes);
}
/* glibc's assert, where a kernel includes <assert.h> */
__device__ inline void __assert_fail(const char *what, const char *file, unsigned line,
                                     const char *function)
{
    __assertfail(what, file, line, function, 1);
}
}

#ifndef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#endif
#endif

/* ---- bits and integers ------------------------------------------------------------------- */

#define ACUI_CAST(name, to, from) /* the same bits as another type */                              \
    ACUI_DEVICE to name(from value)                                                                \
    {                                                                                              \
        to result;                                                                                 \
        __builtin_memcpy(&result, &value, sizeof result);                                          \
        return result;                                                                             \
    }
ACUI_CAST(__float_as_int, int, float)
ACUI_CAST(__float_as_uint, unsigned, float)
ACUI_CAST(__int_as_float, float, int)
ACUI_CAST(__uint_as_float, float, unsigned)
ACUI_CAST(__double_as_longlong, long long, double)
ACUI_CAST(__longlong_as_double, double, long long)
#undef ACUI_CAST

ACUI_DEVICE int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
ACUI_DEVICE int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
ACUI_DEVICE int __popc(unsigned v) { return __builtin_popcount(v); }
ACUI_DEVICE int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
ACUI_DEVICE unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
ACUI_DEVICE unsigned long long __brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
ACUI_DEVICE int __ffs(int v) { return __builtin_ffs(v); }
ACUI_DEVICE int __ffsll(long long v) { return __builtin_ffsll(v); }
ACUI_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    return (unsigned)__nvvm_prmt((int)a, (int)b, (int)selector);
}
ACUI_DEVICE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (shift & 31)) >> 32);
}
ACUI_DEVICE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}

ACUI_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
ACUI_DEVICE unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
ACUI_DEVICE long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
ACUI_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return __nvvm_mulhi_ull(a, b);
}
ACUI_DEVICE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
ACUI_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
ACUI_DEVICE unsigned __sad(int a, int b, unsigned c)
{
    return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c;
}
ACUI_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    return (a > b ? a - b : b - a) + c;
}
#if __CUDA_ARCH__ >= 610
ACUI_DEVICE int __dp4a(int a, int b, int c)
{
    int sum;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}
ACUI_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    unsigned sum;
    __asm__("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}
#endif

#define ACUI_MIN_MAX(type)                                                                         \
    ACUI_DEVICE type min(type a, type b) { return b < a ? b : a; }                                 \
    ACUI_DEVICE type max(type a, type b) { return a < b ? b : a; }
ACUI_MIN_MAX(int)
ACUI_MIN_MAX(unsigned)
ACUI_MIN_MAX(long)
ACUI_MIN_MAX(unsigned long)
ACUI_MIN_MAX(long long)
ACUI_MIN_MAX(unsigned long long)
#undef ACUI_MIN_MAX
ACUI_DEVICE float min(float a, float b) { return __nvvm_fmin_f(a, b); }
ACUI_DEVICE float max(float a, float b) { return __nvvm_fmax_f(a, b); }
ACUI_DEVICE double min(double a, double b) { return __nvvm_fmin_d(a, b); }
ACUI_DEVICE double max(double a, double b) { return __nvvm_fmax_d(a, b); }
ACUI_DEVICE int abs(int v) { return v < 0 ? -v : v; }
ACUI_DEVICE long abs(long v) { return v < 0 ? -v : v; }
ACUI_DEVICE long long abs(long long v) { return v < 0 ? -v : v; }
ACUI_DEVICE long long llabs(long long v) { return v < 0 ? -v : v; }

/* ---- barriers, fences, clocks -------------------------------------------------------------- */

/* clang 14 believes that the builtins of __syncthreads and of fences leave alone a variable whose
 * address nobody takes, as most __shared__ ones are, and moves reads of it ahead of them; but it
 * moves nothing across an asm. */
#define ACUI_ORDER __asm__ __volatile__("" ::: "memory")
ACUI_DEVICE void acui_syncthreads() { ACUI_ORDER; __syncthreads(); ACUI_ORDER; }
#define __syncthreads acui_syncthreads /* clang's own name can not be defined anew */
ACUI_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
ACUI_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
ACUI_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
ACUI_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
ACUI_DEVICE void __threadfence_block() { ACUI_ORDER; __nvvm_membar_cta(); ACUI_ORDER; }
ACUI_DEVICE void __threadfence() { ACUI_ORDER; __nvvm_membar_gl(); ACUI_ORDER; }
ACUI_DEVICE void __threadfence_system() { ACUI_ORDER; __nvvm_membar_sys(); ACUI_ORDER; }
#undef ACUI_ORDER
ACUI_DEVICE void __trap() { __asm__ volatile("trap;"); }
ACUI_DEVICE void __brkpt() { __asm__ volatile("brkpt;"); }
ACUI_DEVICE void __nanosleep(unsigned ns) { __asm__ volatile("nanosleep.u32 %0;" : : "r"(ns)); }
ACUI_DEVICE long long clock64()
{
    long long cycles;
    __asm__ volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
    return cycles;
}
ACUI_DEVICE int clock()
{
    int cycles;
    __asm__ volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
    return cycles;
}

/* ---- warps -------------------------------------------------------------------------------- */

ACUI_DEVICE unsigned __activemask()
{
    unsigned mask;
    __asm__ volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
ACUI_DEVICE int __all_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_all_sync(mask, predicate != 0);
}
ACUI_DEVICE int __any_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_any_sync(mask, predicate != 0);
}
ACUI_DEVICE int __uni_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_uni_sync(mask, predicate != 0);
}
ACUI_DEVICE unsigned __ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)__nvvm_vote_ballot_sync(mask, predicate != 0);
}

/* A value of 4 or 8 bytes moves as one or two words. The instruction's last operand packs the width
 * of a segment with the lane at which it is clamped: 0 for `up`, 31 for the others. */
#define ACUI_SHUFFLE(name, builtin, clamp, lane_type)                                              \
    template <typename T>                                                                          \
    ACUI_DEVICE T name(unsigned mask, T value, lane_type lane, int width = 32)                     \
    {                                                                                              \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, #name " moves 4 or 8 bytes");              \
        int words[sizeof(T) / 4];                                                                  \
        __builtin_memcpy(words, &value, sizeof value);                                             \
        for (int &word : words)                                                                    \
            word = builtin(mask, word, (int)lane, (32 - width) << 8 | (clamp));                    \
        __builtin_memcpy(&value, words, sizeof value);                                             \
        return value;                                                                              \
    }
ACUI_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 0x1f, int)
ACUI_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0, unsigned)
ACUI_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 0x1f, unsigned)
ACUI_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 0x1f, int)
#undef ACUI_SHUFFLE

/* In assembly: for 64 bits clang 14 writes a mask of 64 bits, which ptxas refuses. */
#if __CUDA_ARCH__ >= 700
template <typename T> ACUI_DEVICE unsigned __match_any_sync(unsigned mask, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_any_sync compares 4 or 8 bytes");
    unsigned equal;
    if constexpr (sizeof(T) == 4) {
        unsigned bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        __asm__ volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(equal) : "r"(bits), "r"(mask));
    } else {
        unsigned long long bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        __asm__ volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(equal) : "l"(bits), "r"(mask));
    }
    return equal;
}
#define ACUI_MATCH_ALL(bits_type)                                                                  \
    "{\n\t.reg .pred %%all;\n\t"                                                                  \
    "match.all.sync." bits_type " %0|%%all, %2, %3;\n\t"                                           \
    "selp.s32 %1, 1, 0, %%all;\n\t}"
template <typename T> ACUI_DEVICE unsigned __match_all_sync(unsigned mask, T value, int *all)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_all_sync compares 4 or 8 bytes");
    unsigned equal;
    if constexpr (sizeof(T) == 4) {
        unsigned bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        __asm__ volatile(ACUI_MATCH_ALL("b32")
                         : "=r"(equal), "=r"(*all) : "r"(bits), "r"(mask));
    } else {
        unsigned long long bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        __asm__ volatile(ACUI_MATCH_ALL("b64")
                         : "=r"(equal), "=r"(*all) : "l"(bits), "r"(mask));
    }
    return equal;
}
#undef ACUI_MATCH_ALL
#endif

#if __CUDA_ARCH__ >= 800
#define ACUI_REDUX(name, op, type)                                                                 \
    ACUI_DEVICE type name(unsigned mask, type value)                                               \
    {                                                                                              \
        type result;                                                                               \
        __asm__ volatile("redux.sync." op " %0, %1, %2;"                                           \
                         : "=r"(result) : "r"(value), "r"(mask));                                  \
        return result;                                                                             \
    }
ACUI_REDUX(__reduce_add_sync, "add.s32", int)
ACUI_REDUX(__reduce_add_sync, "add.u32", unsigned)
ACUI_REDUX(__reduce_min_sync, "min.s32", int)
ACUI_REDUX(__reduce_min_sync, "min.u32", unsigned)
ACUI_REDUX(__reduce_max_sync, "max.s32", int)
ACUI_REDUX(__reduce_max_sync, "max.u32", unsigned)
ACUI_REDUX(__reduce_and_sync, "and.b32", unsigned)
ACUI_REDUX(__reduce_or_sync, "or.b32", unsigned)
ACUI_REDUX(__reduce_xor_sync, "xor.b32", unsigned)
#undef ACUI_REDUX
#endif

/* ---- atomics: relaxed, and each gives the value before ------------------------------------- */

/* F(name, type, builtin, type of the builtin). CUDA's 64-bit type is long long. clang's `long` is
 * another type of the same size, for which there are no overloads, as in CUDA. */
#define ACUI_ATOMICS(F)                                                                            \
    F(atomicAdd, int, __nvvm_atom_add_gen_i, int)                                                  \
    F(atomicAdd, unsigned, __nvvm_atom_add_gen_i, int)                                             \
    F(atomicAdd, unsigned long long, __nvvm_atom_add_gen_ll, long long)                            \
    F(atomicAdd, float, __nvvm_atom_add_gen_f, float)                                              \
    F(atomicMin, int, __nvvm_atom_min_gen_i, int)                                                  \
    F(atomicMin, unsigned, __nvvm_atom_min_gen_ui, unsigned)                                       \
    F(atomicMin, long long, __nvvm_atom_min_gen_ll, long long)                                     \
    F(atomicMin, unsigned long long, __nvvm_atom_min_gen_ull, unsigned long long)                  \
    F(atomicMax, int, __nvvm_atom_max_gen_i, int)                                                  \
    F(atomicMax, unsigned, __nvvm_atom_max_gen_ui, unsigned)                                       \
    F(atomicMax, long long, __nvvm_atom_max_gen_ll, long long)                                     \
    F(atomicMax, unsigned long long, __nvvm_atom_max_gen_ull, unsigned long long)                  \
    F(atomicAnd, int, __nvvm_atom_and_gen_i, int)                                                  \
    F(atomicAnd, unsigned, __nvvm_atom_and_gen_i, int)                                             \
    F(atomicAnd, unsigned long long, __nvvm_atom_and_gen_ll, long long)                            \
    F(atomicOr, int, __nvvm_atom_or_gen_i, int)                                                    \
    F(atomicOr, unsigned, __nvvm_atom_or_gen_i, int)                                               \
    F(atomicOr, unsigned long long, __nvvm_atom_or_gen_ll, long long)                              \
    F(atomicXor, int, __nvvm_atom_xor_gen_i, int)                                                  \
    F(atomicXor, unsigned, __nvvm_atom_xor_gen_i, int)                                             \
    F(atomicXor, unsigned long long, __nvvm_atom_xor_gen_ll, long long)                            \
    F(atomicExch, int, __nvvm_atom_xchg_gen_i, int)                                                \
    F(atomicExch, unsigned, __nvvm_atom_xchg_gen_i, int)                                           \
    F(atomicExch, unsigned long long, __nvvm_atom_xchg_gen_ll, long long)                          \
    F(atomicInc, unsigned, __nvvm_atom_inc_gen_ui, unsigned)                                       \
    F(atomicDec, unsigned, __nvvm_atom_dec_gen_ui, unsigned)
#define ACUI_ATOMIC(name, type, builtin, builtin_type)                                             \
    ACUI_DEVICE type name(type *address, type value)                                               \
    {                                                                                              \
        return (type)builtin((builtin_type *)address, (builtin_type)value);                        \
    }
ACUI_ATOMICS(ACUI_ATOMIC)
#if __CUDA_ARCH__ >= 600
ACUI_ATOMIC(atomicAdd, double, __nvvm_atom_add_gen_d, double)
#endif
#undef ACUI_ATOMIC
#undef ACUI_ATOMICS

#define ACUI_ATOMIC_CAS(type, builtin, builtin_type)                                               \
    ACUI_DEVICE type atomicCAS(type *address, type expected, type desired)                         \
    {                                                                                              \
        return (type)builtin((builtin_type *)address, (builtin_type)expected,                      \
                             (builtin_type)desired);                                               \
    }
ACUI_ATOMIC_CAS(int, __nvvm_atom_cas_gen_i, int)
ACUI_ATOMIC_CAS(unsigned, __nvvm_atom_cas_gen_i, int)
ACUI_ATOMIC_CAS(unsigned long long, __nvvm_atom_cas_gen_ll, long long)
#undef ACUI_ATOMIC_CAS

ACUI_DEVICE int atomicSub(int *address, int value)
{
    return atomicAdd(address, (int)(0u - (unsigned)value));
}
ACUI_DEVICE unsigned atomicSub(unsigned *address, unsigned value)
{
    return atomicAdd(address, 0u - value);
}
ACUI_DEVICE float atomicExch(float *address, float value)
{
    return __int_as_float(atomicExch((int *)address, __float_as_int(value)));
}

/* ---- loads -------------------------------------------------------------------------------- */

/* Through the read-only cache: for memory that no thread writes while the kernel runs. */
template <typename T> ACUI_DEVICE T __ldg(const T *address) { return *address; }
ACUI_DEVICE float __ldg(const float *address) { return __nvvm_ldg_f(address); }
ACUI_DEVICE double __ldg(const double *address) { return __nvvm_ldg_d(address); }
ACUI_DEVICE int __ldg(const int *address) { return __nvvm_ldg_i(address); }
ACUI_DEVICE unsigned __ldg(const unsigned *address) { return __nvvm_ldg_ui(address); }
ACUI_DEVICE long long __ldg(const long long *address) { return __nvvm_ldg_ll(address); }
ACUI_DEVICE unsigned long long __ldg(const unsigned long long *address)
{
    return __nvvm_ldg_ull(address);
}

/* ---- arithmetic with a named rounding, and the hardware's approximations --------------------- */

/* In assembly: LLVM takes many of its builtins for a plain sum, quotient or cast. Of these it may
 * make an fma or an approximation, it computes constants with another rounding, and a conversion of
 * a constant that does not fit has no value for it. */
#define ACUI_ASM_1(name, ptx, to, t, from, f)                                                      \
    ACUI_DEVICE to name(from v)                                                                    \
    {                                                                                              \
        to result;                                                                                 \
        __asm__(ptx " %0, %1;" : t(result) : f(v));                                            \
        return result;                                                                             \
    }
#define ACUI_ASM_2(name, ptx, type, t)                                                             \
    ACUI_DEVICE type name(type a, type b)                                                          \
    {                                                                                              \
        type result;                                                                               \
        __asm__(ptx " %0, %1, %2;" : "=" t(result) : t(a), t(b));                                  \
        return result;                                                                             \
    }
#define ACUI_ASM_3(name, ptx, type, t)                                                             \
    ACUI_DEVICE type name(type a, type b, type c)                                                  \
    {                                                                                              \
        type result;                                                                               \
        __asm__(ptx " %0, %1, %2, %3;" : "=" t(result) : t(a), t(b), t(c));                        \
        return result;                                                                             \
    }
/* Most versions of ptxas, and drivers, compute an f32 sum of two constants wrong by a bit, where it
 * is half between two numbers (12.2 to 13.5: 16777220 - 1 rounded to the nearest becomes 16777218).
 * LLVM computes it right. Of f32, ptxas computes mul right, and leaves fma, div and sums with other
 * roundings to the GPU. */
#define ACUI_SUM(name, ptx, nearest, op)                                                           \
    ACUI_DEVICE float name(float a, float b)                                                       \
    {                                                                                              \
        float result;                                                                              \
        if (nearest && __builtin_constant_p(a) && __builtin_constant_p(b))                         \
            return a op b;                                                                         \
        __asm__(ptx " %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));                               \
        return result;                                                                             \
    }
#define ACUI_TO_WHOLE(mode, ptx, stem, from, f, suffix)                                            \
    ACUI_ASM_1(__##stem##2int_##mode, "cvt." ptx "i.s32." suffix, int, "=r", from, f)              \
    ACUI_ASM_1(__##stem##2uint_##mode, "cvt." ptx "i.u32." suffix, unsigned, "=r", from, f)        \
    ACUI_ASM_1(__##stem##2ll_##mode, "cvt." ptx "i.s64." suffix, long long, "=l", from, f)         \
    ACUI_ASM_1(__##stem##2ull_##mode, "cvt." ptx "i.u64." suffix, unsigned long long, "=l", from, f)
#define ACUI_ROUNDED(mode, ptx, nearest)                                                           \
    ACUI_SUM(__fadd_##mode, "add." ptx ".f32", nearest, +)                                         \
    ACUI_SUM(__fsub_##mode, "sub." ptx ".f32", nearest, -)                                         \
    ACUI_ASM_2(__fmul_##mode, "mul." ptx ".f32", float, "f")                                       \
    ACUI_ASM_2(__fdiv_##mode, "div." ptx ".f32", float, "f")                                       \
    ACUI_ASM_3(__fmaf_##mode, "fma." ptx ".f32", float, "f")                                       \
    ACUI_ASM_3(__fmaf_ieee_##mode, "fma." ptx ".f32", float, "f")                                  \
    ACUI_ASM_1(__frcp_##mode, "rcp." ptx ".f32", float, "=f", float, "f")                          \
    ACUI_ASM_1(__fsqrt_##mode, "sqrt." ptx ".f32", float, "=f", float, "f")                        \
    ACUI_ASM_2(__dadd_##mode, "add." ptx ".f64", double, "d")                                      \
    ACUI_ASM_2(__dsub_##mode, "sub." ptx ".f64", double, "d")                                      \
    ACUI_ASM_2(__dmul_##mode, "mul." ptx ".f64", double, "d")                                      \
    ACUI_ASM_2(__ddiv_##mode, "div." ptx ".f64", double, "d")                                      \
    ACUI_ASM_3(__fma_##mode, "fma." ptx ".f64", double, "d")                                       \
    ACUI_ASM_1(__drcp_##mode, "rcp." ptx ".f64", double, "=d", double, "d")                        \
    ACUI_ASM_1(__dsqrt_##mode, "sqrt." ptx ".f64", double, "=d", double, "d")                      \
    ACUI_TO_WHOLE(mode, ptx, float, float, "f", "f32")                                             \
    ACUI_TO_WHOLE(mode, ptx, double, double, "d", "f64")                                           \
    ACUI_ASM_1(__double2float_##mode, "cvt." ptx ".f32.f64", float, "=f", double, "d")             \
    ACUI_ASM_1(__int2float_##mode, "cvt." ptx ".f32.s32", float, "=f", int, "r")                   \
    ACUI_ASM_1(__uint2float_##mode, "cvt." ptx ".f32.u32", float, "=f", unsigned, "r")             \
    ACUI_ASM_1(__ll2float_##mode, "cvt." ptx ".f32.s64", float, "=f", long long, "l")              \
    ACUI_ASM_1(__ull2float_##mode, "cvt." ptx ".f32.u64", float, "=f", unsigned long long, "l")    \
    ACUI_ASM_1(__ll2double_##mode, "cvt." ptx ".f64.s64", double, "=d", long long, "l")            \
    ACUI_ASM_1(__ull2double_##mode, "cvt." ptx ".f64.u64", double, "=d", unsigned long long, "l")
ACUI_ROUNDED(rn, "rn", true)
ACUI_ROUNDED(rz, "rz", false)
ACUI_ROUNDED(ru, "rp", false)
ACUI_ROUNDED(rd, "rm", false)
#undef ACUI_ROUNDED
#undef ACUI_SUM
#undef ACUI_TO_WHOLE
ACUI_DEVICE double __int2double_rn(int v) { return v; } /* exact */
ACUI_DEVICE double __uint2double_rn(unsigned v) { return v; }

/* One or two instructions each, with the hardware's accuracy: the last bits differ between GPUs,
 * and between a GPU and the software device. The functions in math.cuh give the same bits
 * everywhere. */
ACUI_DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
ACUI_DEVICE float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.32192809f); }
ACUI_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
ACUI_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.693147181f; }
ACUI_DEVICE float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.301029996f; }
ACUI_DEVICE float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __log2f(x)); }
ACUI_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
ACUI_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
ACUI_DEVICE float __tanf(float x) { return __nvvm_div_approx_f(__sinf(x), __cosf(x)); }
/* Small numbers are their own; within 2^-12 of itself. */
ACUI_DEVICE float __tanhf(float x)
{
    const float large = 1.0f - __nvvm_div_approx_f(2.0f, __expf(2.0f * x) + 1.0f);
    return x > -0.02f && x < 0.02f ? x : large;
}
ACUI_DEVICE void __sincosf(float x, float *sine, float *cosine)
{
    *sine = __sinf(x);
    *cosine = __cosf(x);
}
ACUI_DEVICE float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
ACUI_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
ACUI_DEVICE float __frsqrt_rn(float x) { return (float)__ddiv_rn(1.0, __dsqrt_rn(x)); }
ACUI_DEVICE float __saturatef(float x) { return __nvvm_saturate_f(x); }

#include "math.cuh"
#ifndef ACUDA_PRELUDE_CORE /* what acuda's own kernels do without */
#include "more.cuh"
#include "math_more.cuh"
#endif

#endif
#endif
