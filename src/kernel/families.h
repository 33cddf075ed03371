/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Families of built-in kernels: kernels/<name>.cu, linked in as packed PTX, are a module
 * "acuda.<name>" on every device. A new family is one line here.
 */
#ifndef ACUI_KERNEL_FAMILIES_H
#define ACUI_KERNEL_FAMILIES_H

#include "kernel/kernel.h"

/* X(name): kernels/name.cu */
#define ACUI_FAMILIES(X) X(select) X(norm) X(image_rows)                                           \
    X(elementwise_f) X(elementwise_d) X(elementwise_i) X(elementwise_l) \
    X(elementwise_z) X(complex_sums) X(convert_f) X(convert_d)  \
    X(make) X(reduce_f) X(reduce_d) X(reduce_l) X(random) X(softmax) X(matmul) X(copy) X(arrange)  \
    X(sort) X(scan) X(index) X(image_sample) X(image_warp) X(image_filter) X(image_levels)         \
    X(boxes) X(conv) X(pool) X(attention) X(attention_mma) X(fft) X(fft_16) X(fft_10) X(matmul_mma)

#define ACUI_FAMILY_PREFIX "acuda."

/* Whether the name is of that kind: no module of the program's may have such a name. */
bool acui_is_family_name(const char *name);
/* The family's module on the device, retained for the caller; the device holds it too. Starts
 * loading it when it is asked for the first time. Never blocks. Errors: NOT_FOUND, NO_MEMORY, the
 * device's. */
acu_status acui_family_find(acu_device *device, const char *name, acu_module **module);

#endif
