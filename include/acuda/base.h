/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every other header needs: the version, export and language macros, the source line that made
 * an operation, time spans, and user data with its release function.
 */
#ifndef ACUDA_BASE_H
#define ACUDA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers. As one number, 10000 for a major, 100 for a minor version, for
 * comparing. acu_version is that of the library that the program runs with. The build reads the
 * three numbers here. */
#define ACU_VERSION_MAJOR 0
#define ACU_VERSION_MINOR 2
#define ACU_VERSION_PATCH 0
#define ACU_VERSION (ACU_VERSION_MAJOR * 10000 + ACU_VERSION_MINOR * 100 + ACU_VERSION_PATCH)

#ifdef __cplusplus
#define ACU_BEGIN extern "C" {
#define ACU_END }
#else
#define ACU_BEGIN
#define ACU_END
#endif

/* Options are meant to be given by designated initializers, of which g++ (-Wextra) warns for each
 * field that is left out; gcc does not in C, nor does clang. Behind this header g++ does not
 * either. Define ACU_KEEP_WARNINGS to have the warning nevertheless. */
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__) && !defined(ACU_KEEP_WARNINGS)
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

#if defined(__GNUC__)
#define ACU_API __attribute__((visibility("default")))
#define ACU_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define ACU_API
#define ACU_PRINTF(text, first)
#endif

/*
 * The line of the program that made an operation. The macros of op.h fill it in; other languages
 * pass their own. `file` must stay valid for the life of the process, as a string literal does.
 */
typedef struct acu_site {
    const char *file;
    int line;
} acu_site;
#ifdef __cplusplus
#define ACU_SITE (acu_site{__FILE__, __LINE__})
#else
#define ACU_SITE ((acu_site){__FILE__, __LINE__})
#endif

/* A list inside a macro, of at most 64 items. In C it expands to two arguments: the items and their
 * number. C++ has no compound literals, so there it is one argument, which C++ overloads of the
 * functions take; the list lives as long as the full expression that contains it. */
#ifdef __cplusplus
template <typename T> struct acui_list {
    const T *items;
    size_t count;
};
template <typename T, size_t N> static inline acui_list<T> acui_list_of(const T (&items)[N])
{
    return acui_list<T>{items, N};
}
template <typename T, size_t N> static inline acui_list<T> acui_list_behind(const T (&items)[N])
{
    return acui_list<T>{items + 1, N - 1};
}
#define ACUI_LIST(type, ...) acui_list_of<type>({__VA_ARGS__})
#define ACUI_LIST_BEHIND(type, ...) acui_list_behind<type>({__VA_ARGS__})
#else
/* The same without the first item and the last, which is empty: of a list that may have none. */
#define ACUI_LIST_BEHIND(type, ...)                                                                \
    (type const[ACUI_COUNT(__VA_ARGS__) - 1]){__VA_ARGS__} + 1, ACUI_COUNT(__VA_ARGS__) - 2
#define ACUI_LIST(type, ...)                                                                       \
    (type const[ACUI_COUNT(__VA_ARGS__)]){__VA_ARGS__}, ACUI_COUNT(__VA_ARGS__)
#define ACUI_COUNT(...)                                                                            \
    ACUI_NUMBER_67(__VA_ARGS__, 66, 65, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51,    \
                   50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,     \
                   31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,     \
                   12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ACUI_NUMBER_67(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32,  \
                       a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47,  \
                       a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62,  \
                       a63, a64, a65, a66, number, ...)                                            \
    number
#endif

/*
 * ACUI_CHOOSE(BY, x, ...) is BY(v, ...), where v is a variable with the value of x. BY chooses by
 * the type of its first argument (_Generic), and so has to name it twice. If it named x twice, an
 * expression would grow by a factor with each level of nesting, and be too large for a compiler at
 * eight levels or so; it still is for compilers that lack GNU's extensions. C++ has overloads.
 */
#if defined(__GNUC__) && !defined(__cplusplus)
#define ACUI_CHOOSE(BY, x, ...) ACUI_CHOOSE_NUMBERED(BY, __COUNTER__, x, __VA_ARGS__)
#define ACUI_CHOOSE_NUMBERED(BY, n, x, ...) ACUI_CHOOSE_BY(BY, n, x, __VA_ARGS__)
#define ACUI_CHOOSE_BY(BY, n, x, ...)                                                              \
    __extension__({                                                                                \
        __auto_type acui_x_##n = (x);                                                              \
        BY(acui_x_##n, __VA_ARGS__);                                                               \
    })
#else
#define ACUI_CHOOSE(BY, x, ...) BY((x), __VA_ARGS__)
#endif

/* A cast in the style of the language, for C++ programs built with warnings for C-style casts. */
#ifdef __cplusplus
#define ACUI_CAST(type, x) static_cast<type>(x)
#else
#define ACUI_CAST(type, x) ((type)(x))
#endif

/* Time spans are 64-bit nanoseconds. ACU_FOREVER never ends; 0 looks once and returns. */
#define ACU_FOREVER UINT64_MAX
#define ACU_US(n) (ACUI_CAST(uint64_t, n) * 1000u)
#define ACU_MS(n) (ACUI_CAST(uint64_t, n) * 1000000u)
#define ACU_SECONDS(n) (ACUI_CAST(uint64_t, n) * 1000000000u)
ACU_BEGIN
/* ACU_VERSION, as it was when the library was built. */
ACU_API int acu_version(void);
/* The current time in nanoseconds, on the clock that spans are measured with: monotonic, with an
 * arbitrary zero. */
ACU_API uint64_t acu_now(void);
ACU_END

/*
 * User data for a callback. `release`, if set, is called exactly once with `data`, after the last
 * use: when the callback has run and can not run again, or when it is certain that it never will.
 * It runs on the thread that drops the last reference, with no lock of acuda held, and must not
 * wait (IN_CALLBACK).
 */
typedef struct acu_user {
    void *data;
    void (*release)(void *data);
} acu_user;

static inline acu_user acui_user(void *data, void (*release)(void *data))
{
    acu_user user = {data, release};
    return user;
}
/* ACU_USER(data) or ACU_USER(data, release) */
#define ACU_USER(...) ACUI_USER_PICK(__VA_ARGS__, ACUI_USER_2, ACUI_USER_1, 0)(__VA_ARGS__)
#define ACUI_USER_PICK(data, release, name, ...) name
#define ACUI_USER_1(data) acui_user((data), NULL)
#define ACUI_USER_2(data, release) acui_user((data), (release))

/*
 * A function of the program's that acuda calls must not let an exception out: the C code that
 * called it would not be told. In C++ the macros that take a function (acu_then, acu_host and the
 * others of op.h) see to that themselves: an exception makes the op fail with CALLBACK, with its
 * text. Functions that are given in another way (a completion callback, a policy, the release of
 * user data, any function passed to acu_op_...) must be noexcept.
 *
 * acu_callback_fail (status.h) is for other languages, and for C: called inside such a function, it
 * makes what the function was given to fail with CALLBACK and this text, whatever the function
 * returns then. It has no effect in completion callbacks and releases, on which nothing depends; a
 * function of acu_or_else_if counts as having returned false.
 */

#endif
