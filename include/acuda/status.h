/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What calls return, and the record that says in words what was wrong.
 *
 * ACU_OK is 0. Positive statuses (ACU_NOT_READY, ACU_TIMEOUT) mean that something is not done yet,
 * without having failed. Errors are negative, so `status < 0` tests for an error. Headers name
 * errors without their prefix: "NOT_FOUND" there is ACU_ERR_NOT_FOUND here.
 *
 * The scope of an error says how much is broken: only the call, which changed nothing; the
 * operation, together with everything that would have read its results; or the device, with
 * everything on it. An error on a future broke at least the operation, even if its scope is that of
 * a call.
 */
#ifndef ACUDA_STATUS_H
#define ACUDA_STATUS_H

#include <acuda/base.h>

#ifdef __cplusplus
#include <exception>
#include <new>
#endif

ACU_BEGIN

typedef enum acu_scope {
    ACU_SCOPE_NONE,      /* nothing is broken */
    ACU_SCOPE_CALL,      /* the call was refused, and changed nothing */
    ACU_SCOPE_OPERATION, /* the operation failed; its results must not be read */
    ACU_SCOPE_DEVICE     /* the device, or the driver, can not be used any more */
} acu_scope;

/* Every status: X(name, value, scope, text). A value never changes its meaning. */
#define ACU_STATUSES(X)                                                                            \
    X(ACU_OK, 0, NONE, "success")                                                                  \
    X(ACU_NOT_READY, 1, NONE, "not complete yet")                                                  \
    X(ACU_TIMEOUT, 2, NONE, "not complete within the time given")                                  \
    X(ACU_ERR_INVALID, -1, CALL, "invalid argument")                                               \
    X(ACU_ERR_SHAPE, -2, CALL, "shapes do not fit")                                                \
    X(ACU_ERR_DTYPE, -3, CALL, "wrong element type")                                               \
    X(ACU_ERR_DEVICE, -4, CALL, "on the wrong device")                                             \
    X(ACU_ERR_ARGUMENTS, -5, CALL, "wrong number, kind or size of arguments")                      \
    X(ACU_ERR_LIMIT, -6, CALL, "beyond a limit")                                                   \
    X(ACU_ERR_NO_MEMORY, -7, CALL, "out of host memory")                                           \
    X(ACU_ERR_NOT_FOUND, -8, CALL, "not found")                                                    \
    X(ACU_ERR_NOT_SUPPORTED, -9, CALL, "not supported here")                                       \
    X(ACU_ERR_NO_DRIVER, -10, CALL, "no CUDA driver that may be used")                             \
    X(ACU_ERR_BAD_HANDLE, -11, CALL, "not a live handle of this kind")                             \
    X(ACU_ERR_CONSUMED, -12, CALL, "the operation was taken already")                              \
    X(ACU_ERR_SHARED, -13, CALL, "must not be written or owned here")                              \
    X(ACU_ERR_IN_CALLBACK, -14, CALL, "not allowed inside a callback")                             \
    X(ACU_ERR_FULL, -15, CALL, "no room for more work in flight")                                  \
    X(ACU_ERR_BUSY, -16, CALL, "in use, or chosen otherwise before")                               \
    X(ACU_ERR_PTX, -17, CALL, "the driver refused the module's code")                              \
    X(ACU_ERR_IO, -18, CALL, "a file could not be read or written")                                \
    X(ACU_ERR_CAPTURE, -19, CALL, "not possible while a stream is captured")                       \
    X(ACU_ERR_COMPILE, -20, CALL, "the compiler refused the source")                               \
    X(ACU_ERR_DRIVER, -32, OPERATION, "a driver call failed")                                      \
    X(ACU_ERR_DEVICE_MEMORY, -33, OPERATION, "out of device memory")                               \
    X(ACU_ERR_DEPENDENCY, -34, OPERATION, "what it depends on failed")                             \
    X(ACU_ERR_CANCELLED, -35, OPERATION, "cancelled")                                              \
    X(ACU_ERR_DEADLINE, -36, OPERATION, "not complete within its timeout")                         \
    X(ACU_ERR_CALLBACK, -37, OPERATION, "the program's own function failed")                       \
    X(ACU_ERR_NUMERIC, -38, OPERATION, "there is no result for these numbers")                     \
    X(ACU_ERR_DEVICE_LOST, -64, DEVICE, "the device was lost to a fault")                          \
    X(ACU_ERR_FORKED, -65, DEVICE, "CUDA can not be used in the child of a fork")                  \
    X(ACU_ERR_SHUTDOWN, -66, DEVICE, "the driver is shutting down with the process")               \
    X(ACU_ERR_STALE, -67, DEVICE, "made before the device was reset")                              \
    X(ACU_ERR_NOT_HEALED, -68, DEVICE, "the device stays lost: only another process can use it")

typedef enum acu_status {
#define ACU_STATUS_ENUMERATE(name, value, scope, text) name = (value),
    ACU_STATUSES(ACU_STATUS_ENUMERATE)
#undef ACU_STATUS_ENUMERATE
} acu_status;

/* The name ("ACU_ERR_SHAPE"), the text ("shapes do not fit") and the scope of a status. For a
 * number that is not a status: "ACU_ERR_?", "unknown status", ACU_SCOPE_CALL. The strings are
 * static. None of these blocks. */
ACU_API const char *acu_status_name(acu_status status);
ACU_API const char *acu_status_text(acu_status status);
ACU_API acu_scope acu_status_scope(acu_status status);

#define ACU_ERROR_MESSAGE 384 /* bytes, including the terminating NUL; longer messages are cut */
#define ACU_ERROR_OP 48
#define ACU_ERROR_CONTEXT 160

/*
 * The record of one failure. Fields that do not apply are 0, NULL or "". The strings that are
 * pointers are static or belong to the program (`file`), so a record may be copied and kept.
 */
typedef struct acu_error {
    acu_status status;
    unsigned driver_result;    /* the CUresult of the driver call that failed */
    const char *driver_name;   /* the name of that result, "CUDA_ERROR_ILLEGAL_ADDRESS" */
    const char *driver_call;   /* the name of that call, "cuLaunchKernel" */
    int device;                /* ordinal; -1: no device in particular */
    char op[ACU_ERROR_OP];     /* the operation's name or kind */
    const char *file;          /* where the program made the operation */
    int line;
    char context[ACU_ERROR_CONTEXT]; /* the texts of the acu_with_context around it, "outermost:
                                      * ...: innermost" */
    char message[ACU_ERROR_MESSAGE]; /* what was wrong, for the program's author to act on */
    acu_status cause; /* of CALLBACK: what the program's function returned, if that was a status; a
                       * number that is none (errno's, CUDA's) stays as it is; of NUMERIC: the
                       * `info` of LAPACK and cuSOLVER */
    uint64_t reserved[4]; /* 0 */
} acu_error;

/*
 * The record of the last acuda call that failed on this thread. Never NULL; its status is ACU_OK
 * before the first failure. Only the next failure overwrites it: calls that return ACU_OK,
 * ACU_NOT_READY or ACU_TIMEOUT leave it as it is. Valid as long as the thread. Failures of
 * submissions are on their futures (acu_future_error). Functions that report how something else
 * failed (acu_future_error, acu_group_error, acu_op_status, acu_device_status) give its record
 * through a parameter and leave this one, as do the start functions of adapters (a status only).
 */
ACU_API const acu_error *acu_last_error(void);

/* All that the compiler or the driver said about the last load or compilation that failed on this
 * thread (one that acu_module_poll or acu_module_wait reported included), line by line; the error
 * record has room for the first error only. "" if it said nothing. Valid until the thread's next
 * load, compilation or such report. Never blocks. */
ACU_API const char *acu_last_log(void);

/* Inside a function of the program that acuda calls: makes what the function was given to fail with
 * CALLBACK and this text (base.h says more). Returns CALLBACK; INVALID outside of one. */
ACU_API acu_status acu_callback_fail(const char *format, ...) ACU_PRINTF(1, 2);

/*
 * The record as one line, its context first. Written as by snprintf: cut to `size` bytes, always
 * terminated if size > 0; returns the length of the whole line. For example:
 *   saxpy.c:20: launch of saxpy on device 0: CUDA_ERROR_ILLEGAL_ADDRESS (700): the device was lost
 *   to a fault: ...
 */
ACU_API size_t acu_error_describe(const acu_error *error, char *buffer, size_t size);

ACU_END

/*
 * ACUI_CALLBACK(type, fn, user): the function and the user data that a macro passes on. In C these
 * are two arguments; in C++ one, a function that lets no exception out, with the program's function
 * among its user data.
 */
#if defined(__cplusplus) && (defined(__cpp_exceptions) || defined(__EXCEPTIONS))
template <typename Fn> struct acui_callback {
    Fn fn;
    acu_user user;
};
template <typename R, typename... A> struct acui_guard {
    R (*fn)(void *, A...);
    acu_user user;
    static R call(void *guard, A... arguments)
    {
        const acui_guard *self = static_cast<const acui_guard *>(guard);
        try {
            return self->fn(self->user.data, arguments...);
        } catch (const std::exception &e) {
            acu_callback_fail("an exception: %s", e.what());
        } catch (...) {
            acu_callback_fail("an exception that is no std::exception");
        }
        return R();
    }
    static R no_memory(void *, A...)
    {
        acu_callback_fail("no memory to call it");
        return R();
    }
    static void release(void *guard)
    {
        acui_guard *self = static_cast<acui_guard *>(guard);
        if (self->user.release)
            self->user.release(self->user.data);
        delete self;
    }
};
template <typename R, typename... A>
static inline acui_callback<R (*)(void *, A...)> acui_guarded(R (*fn)(void *, A...), acu_user user)
{
    typedef acui_guard<R, A...> guard;
    if (!fn)
        return {fn, user}; /* is refused */
    guard *made = new (std::nothrow) guard{fn, user};
    if (!made)
        return {guard::no_memory, user};
    return {guard::call, acu_user{made, guard::release}};
}
#define ACUI_CALLBACK(type, fn, user) acui_guarded(static_cast<type>(fn), user)
#define ACUI_CALLBACK_IS_ONE
#else
#define ACUI_CALLBACK(type, fn, user) (fn), user
#endif

#endif
