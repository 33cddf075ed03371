/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every other header needs: export and language macros, the source line that made an
 * operation, time spans, and user data with its release function.
 */
#ifndef ACUDA_BASE_H
#define ACUDA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ACU_BEGIN extern "C" {
#define ACU_END }
#else
#define ACU_BEGIN
#define ACU_END
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

/* A list inside a macro. In C it expands to two arguments: the items and their number. C++ has no
 * compound literals, so there it is one argument, which C++ overloads of the functions take; the
 * list lives as long as the full expression that contains it. */
#ifdef __cplusplus
template <typename T> struct acui_list {
    const T *items;
    size_t count;
};
template <typename T, size_t N> static inline acui_list<T> acui_list_of(const T (&items)[N])
{
    return acui_list<T>{items, N};
}
#define ACUI_LIST(type, ...) acui_list_of<type>({__VA_ARGS__})
#else
#define ACUI_LIST(type, ...)                                                                       \
    (type const[]){__VA_ARGS__}, sizeof((type const[]){__VA_ARGS__}) / sizeof(type)
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
/* The current time in nanoseconds, on the clock that spans are measured with: monotonic, with an
 * arbitrary zero. */
ACU_API uint64_t acu_now(void);
ACU_END

/*
 * User data for a callback. `release`, if set, is called exactly once with `data`, after the last
 * use: when the callback has run and can not run again, or when it is certain that it never will.
 * It runs on the thread that drops the last reference, with no lock of acuda held, and must not
 * wait (WOULD_WAIT).
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

#endif
