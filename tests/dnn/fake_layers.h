/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the older calls share. */
#ifndef ACUDA_TESTS_FAKE_LAYERS_H
#define ACUDA_TESTS_FAKE_LAYERS_H

#include "fake_cudnn.h"

fake_tensor fake_placed(const fake_tensor *t, const void *at);
bool fake_same(const fake_tensor *a, const fake_tensor *b); /* types and extents */
/* Use the handle for one call that runs on its stream. The data is copied. */
int fake_layer(fake_handle *handle, void (*run)(fake_driver *, const void *), const void *data,
               size_t bytes);

#endif
