/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the parts of the library that poses as cuDNN share. */
#ifndef ACUDA_TESTS_FAKE_CUDNN_H
#define ACUDA_TESTS_FAKE_CUDNN_H

#include "../vendor/fake.h"

#include <stdio.h>

enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_FINALIZED = 2004, NO_PATTERN = 3001, NO_MEMORY = 4003,
       FAILED = 5001 };
enum { RANK = 5 };

typedef struct fake_handle {
    void *stream;
    _Atomic(bool) busy;
} fake_handle;

typedef struct fake_tensor {
    int type, rank; /* cuDNN's type */
    int64_t dim[RANK], stride[RANK];
    char *at; /* on the device; for a job */
} fake_tensor;

extern fake_driver fake_cudnn;

/* Count it as a refusal, and remember why. Returns the status. */
int fake_refuse(int status, const char *why);
/* The status that a call is to answer now; it begins and ends the use of the handle. */
int fake_use(fake_handle *handle);
void fake_used(fake_handle *handle);

void *fake_make(size_t bytes); /* counted */
int fake_drop(void *made);

/* ---- numbers ---- */

int fake_type(int type); /* as fake.h numbers them */
int64_t fake_elements(const fake_tensor *t);
int64_t fake_extent(const fake_tensor *t); /* in bytes */
int64_t fake_offset(const fake_tensor *t, const int64_t *index);
/* The next index in order of the dimensions; false: that was the last one. */
bool fake_next(const fake_tensor *t, int64_t *index);
/* The tensor in host memory; NULL: that is not the device's memory, which is counted. */
char *fake_on_host(fake_driver *driver, const fake_tensor *t);
double fake_activation(int mode, double x); /* the backend's modes */

#endif
