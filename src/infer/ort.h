/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * onnxruntime's C interface. It has one symbol, OrtGetApiBase; the calls stand in a table, which
 * only ever grows at its end. So a call is known by its place there, and by the version that
 * brought it.
 */
#ifndef ACUI_INFER_ORT_H
#define ACUI_INFER_ORT_H

#include "vendor/library.h"

#include <acuda/dtype.h>

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_run_options ort_run_options;
typedef struct ort_value ort_value;
typedef struct ort_memory ort_memory;
typedef struct ort_type ort_type;
typedef struct ort_tensor_type ort_tensor_type;
typedef struct ort_allocator ort_allocator;
typedef struct ort_cuda_options ort_cuda_options;
typedef void (*ort_log)(void *user, int severity, const char *category, const char *id,
                        const char *where, const char *message);

enum { ACUI_ORT_API = 11 }; /* the version that has all of these calls: onnxruntime 1.11 */
enum { ACUI_ORT_FATAL = 4 };
enum { ACUI_ORT_ARENA = 1, ACUI_ORT_DEVICE = 0, ACUI_ORT_DEFAULT = 0 };

/* X(place, field, parameters) of calls that return a status: NULL, or an object to be released. */
#define ACUI_ORT_CALLS(X)                                                                          \
    X(4, create_env, (ort_log, void *user, int severity, const char *id, ort_env **))              \
    X(7, session_of_file, (const ort_env *, const char *path, const ort_session_options *,         \
                           ort_session **))                                                        \
    X(8, session_of_bytes, (const ort_env *, const void *data, size_t bytes,                       \
                            const ort_session_options *, ort_session **))                          \
    X(9, run, (ort_session *, const ort_run_options *, const char *const *names,                   \
               const ort_value *const *values, size_t count, const char *const *out_names,         \
               size_t out_count, ort_value **out))                                                 \
    X(10, create_session_options, (ort_session_options **))                                        \
    X(24, set_threads, (ort_session_options *, int count))                                         \
    X(30, input_count, (const ort_session *, size_t *))                                            \
    X(31, output_count, (const ort_session *, size_t *))                                           \
    X(33, input_type, (const ort_session *, size_t, ort_type **))                                  \
    X(34, output_type, (const ort_session *, size_t, ort_type **))                                 \
    X(36, input_name, (const ort_session *, size_t, ort_allocator *, char **))                     \
    X(37, output_name, (const ort_session *, size_t, ort_allocator *, char **))                    \
    X(39, create_run_options, (ort_run_options **))                                                \
    X(49, value_of, (const ort_memory *, void *data, size_t bytes, const int64_t *dims,            \
                     size_t rank, int type, ort_value **))                                         \
    X(55, tensor_type, (const ort_type *, const ort_tensor_type **))                               \
    X(60, element_type, (const ort_tensor_type *, int *))                                          \
    X(61, rank, (const ort_tensor_type *, size_t *))                                               \
    X(62, dims, (const ort_tensor_type *, int64_t *, size_t rank))                                 \
    X(63, symbols, (const ort_tensor_type *, const char **, size_t rank))                          \
    X(68, create_memory, (const char *name, int allocator, int device, int kind, ort_memory **))   \
    X(69, create_host_memory, (int allocator, int kind, ort_memory **))                            \
    X(76, give, (ort_allocator *, void *))                                                         \
    X(78, allocator, (ort_allocator **))                                                           \
    X(125, providers, (char ***, int *count))                                                      \
    X(126, release_providers, (char **, int count))                                                \
    X(165, set_run, (ort_run_options *, const char *key, const char *value))                       \
    X(204, use_cuda, (ort_session_options *, const ort_cuda_options *))                            \
    X(205, create_cuda_options, (ort_cuda_options **))                                             \
    X(206, set_cuda, (ort_cuda_options *, const char *const *keys, const char *const *values,      \
                      size_t count))

/* X(place, field, parameter) of calls that release something; NULL is fine. */
#define ACUI_ORT_RELEASES(X)                                                                       \
    X(92, release_env, ort_env)                                                                    \
    X(93, release_status, ort_status)                                                              \
    X(94, release_memory, ort_memory)                                                              \
    X(95, release_session, ort_session)                                                            \
    X(96, release_value, ort_value)                                                                \
    X(97, release_run_options, ort_run_options)                                                    \
    X(98, release_type, ort_type)                                                                  \
    X(100, release_session_options, ort_session_options)                                           \
    X(208, release_cuda_options, ort_cuda_options)

typedef struct acui_ort {
    int (*code_of)(const ort_status *);
    const char *(*words_of)(const ort_status *);
#define ACU_X(place, field, parameters) ort_status *(*field) parameters;
    ACUI_ORT_CALLS(ACU_X)
#undef ACU_X
#define ACU_X(place, field, type) void (*field)(type *);
    ACUI_ORT_RELEASES(ACU_X)
#undef ACU_X
} acui_ort;

extern acui_ort acui_ort_calls; /* filled in once the library is open */

/* Open the library, unless it is open. Errors: NOT_FOUND, NOT_SUPPORTED (it is too old). Blocks. */
acu_status acui_ort_open(acu_device *device);
/* What a call answered, which is released; a failure is recorded, in onnxruntime's words. */
acu_status acui_ort_said(const char *call, ort_status *status);
#define ACUI_ORT(field, ...) acui_ort_said(#field, acui_ort_calls.field(__VA_ARGS__))

/* ACU_NO_DTYPE: acuda has none for it. */
acu_dtype acui_ort_dtype(int type);
int acui_ort_type(acu_dtype dtype);

#endif
