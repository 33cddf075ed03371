/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* See cuda_runtime.h. */
