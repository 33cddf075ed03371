/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the test sees of the library that stands in for TensorRT (standin/NvInfer.h). */
#ifndef ACUDA_TESTS_TENSORRT_SHIM_H
#define ACUDA_TESTS_TENSORRT_SHIM_H

#ifdef __cplusplus
extern "C" {
#endif

int standin_live(void);     /* objects that were not deleted */
int standin_overlaps(void); /* uses of one context by two threads */
void standin_refuse(void);  /* the next run */

#ifdef __cplusplus
}
#endif
#endif
