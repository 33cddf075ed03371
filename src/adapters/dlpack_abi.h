/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The part of DLPack's structs and numbers that acuda uses, from DLPack version 1.1
 * (github.com/dmlc/dlpack). They are an ABI: programs get them from <dlpack/dlpack.h>, with the
 * same tags.
 */
#ifndef ACUI_ADAPTERS_DLPACK_ABI_H
#define ACUI_ADAPTERS_DLPACK_ABI_H

#include <stdint.h>

enum { ACUI_DL_MAJOR = 1, ACUI_DL_MINOR = 1 };

typedef enum acui_dl_device_type {
    ACUI_DL_CPU = 1,
    ACUI_DL_CUDA = 2,
    ACUI_DL_CUDA_HOST = 3,
    ACUI_DL_EXTENSION = 12,
    ACUI_DL_CUDA_MANAGED = 13
} acui_dl_device_type;

typedef enum acui_dl_code {
    ACUI_DL_INT = 0,
    ACUI_DL_UINT = 1,
    ACUI_DL_FLOAT = 2,
    ACUI_DL_BFLOAT = 4,
    ACUI_DL_COMPLEX = 5,
    ACUI_DL_BOOL = 6,
    ACUI_DL_F8E4M3FN = 10,
    ACUI_DL_F8E5M2 = 12,
    ACUI_DL_F8E8M0FNU = 14,
    ACUI_DL_F4E2M1FN = 17
} acui_dl_code;

/* Flags of the versioned struct. */
#define ACUI_DL_READ_ONLY 1u
#define ACUI_DL_IS_COPIED 2u
#define ACUI_DL_PADDED 4u /* elements of less than a byte have a byte each */

typedef struct acui_dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t rank;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: dense */
    uint64_t byte_offset;
} acui_dl_tensor;

struct DLManagedTensorVersioned {
    struct { uint32_t major, minor; } version;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
    uint64_t flags;
    acui_dl_tensor tensor;
};

/* The struct before version 1. */
struct DLManagedTensor {
    acui_dl_tensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
};

_Static_assert(sizeof(acui_dl_tensor) == 48 && sizeof(struct DLManagedTensorVersioned) == 80 &&
                   sizeof(struct DLManagedTensor) == 64,
               "the ABI of 64-bit machines");

#endif
