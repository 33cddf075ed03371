/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A vendor's library, opened at run time: which calls acuda needs of it, what its versions mean,
 * and what a device has of it. Each library has one of these as a static variable, in the folder
 * that wraps it; library.c opens it, handles.c makes what a device needs (handles, plans), call.c
 * makes operations that call it.
 */
#ifndef ACUI_VENDOR_LIBRARY_H
#define ACUI_VENDOR_LIBRARY_H

#include "device/device.h"
#include "driver/vendor.h"

#include <acuda/vendor.h>
#include <limits.h>

/* A call of the library: where its address goes. */
typedef struct acui_symbol {
    const char *name;
    void *field; /* a function pointer */
} acui_symbol;

/* A status of the library, other than success, which is 0. */
typedef struct acui_vendor_status {
    int value;
    acu_status status;
    const char *name, *words;
} acui_vendor_status;

typedef struct acui_library {
    acui_vendor find; /* the first member; `open` is library.c's */
    acu_vendor id;
    int oldest;  /* the oldest major version whose calls these are */
    int with_12, with_13; /* the major versions that came with CUDA 12 and 13, and need a driver of
                           * that age */
    size_t (**cuda)(void); /* or its call that says for which CUDA it was made, 12040; NULL: none */
    const acui_symbol *symbols;
    size_t symbol_count;
    const acui_symbol *newer; /* which not all versions that are of use have: then they are NULL */
    size_t newer_count;
    const acui_vendor_status *statuses;
    size_t status_count;
    /* Its cublasGetProperty: 0 major, 1 minor, 2 patch. NULL: it does not say its version, which
     * is taken for the oldest. */
    int (**property)(int which, int *value);
    bool anywhere; /* it runs without a GPU too, and is no part of CUDA */
    bool debian;   /* its package is Debian's, and not pip's */
    bool keyed; /* there is something else for each key, such as a plan for a shape */
    bool shared; /* what there is for a key may be used by any number of threads at the same time,
                  * each with a handle of its own (acui_handles_borrow) */
    /* Make what the key describes, for one thread at a time. The device is entered, and this is a
     * thread of the loader; `first` of its kind there: warm up. On failure the record is set. NULL:
     * nothing is made for a device, and nothing asks for handles. */
    acu_status (*make)(acu_device *device, const void *key, bool first, void **made);
    void (*end)(void *made); /* the device is entered */
    /* Where it is `shared`: the same for handles. */
    acu_status (*make_handle)(void **made);
    void (*end_handle)(void *made);

    /* Guarded by the lock. Once it is open, nothing changes any more. */
    pthread_mutex_t lock;
    void *library;        /* never closed */
    bool missing;
    int version;
    /* Read for each operation; relaxed: nothing depends on them. */
    _Atomic(bool) off, named, required;
} acui_library;

/* The libraries, by their number; each is defined where it is wrapped. */
#define ACU_X(id, name, variable, package) extern acui_library acui_library_##id;
ACU_VENDORS(ACU_X)
#undef ACU_X

acui_library *acui_library_of(acu_vendor vendor); /* NULL: there is no such library */
/* Why operations on the device should not use it, as far as settings say; NULL: they should. */
const char *acui_library_refusal(acui_library *library, const acu_device *device);
/* It may not be replaced by kernels of acuda's, even if it is not there. */
bool acui_library_required(const acui_library *library);
/* Whether what acuda has kernels for too is done by the library: it is there, or required. Looks
 * for it, the first time that it is asked for in this process. */
bool acui_library_preferred(acui_library *library, const acu_device *device);
const char *acui_library_path(const acui_library *library); /* once it is open */
/* Open it, unless it is open. Errors: NOT_FOUND, with where it was looked for. Blocks. */
acu_status acui_library_open(acui_library *library);
/* Record that the call failed, in the library's words. 0: ACU_OK, and nothing is recorded. */
acu_status acui_library_fail(const acui_library *library, const char *call, int status);

#endif
