/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NumPy's files of one array (.npy, format 1.0 to 3.0), in C order and little-endian. */
#ifndef ACUDA_CLI_NPY_H
#define ACUDA_CLI_NPY_H

#include <acuda/tensor.h>

typedef struct npy {
    acu_dtype dtype;
    acu_shape shape; /* of a scalar: [1] */
    void *data;      /* from malloc */
    size_t bytes;
} npy;

/* false: an error was printed. */
bool npy_read(const char *path, npy *array);
bool npy_write(const char *path, const npy *array);
/* "f4" in a file's header for ACU_F32; NULL: NumPy has no such type. */
const char *npy_type(acu_dtype dtype);

#endif
