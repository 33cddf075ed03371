/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The software CUDA driver as a part of another program: the entry points by their exact names.
 * They behave as those of libcuda.so.1. Environment variables describe the machine that they show:
 *
 *   SOFTCUDA_DEVICES  how many devices, 1 to 16 (default 1)
 *   SOFTCUDA_MEMORY   bytes of memory of each, with K, M, G or T (default 4G)
 *   SOFTCUDA_SM       compute capability times ten, 50 to 120 (default 80)
 *   SOFTCUDA_HEAL     1: a kernel's fault ends with its context. On a GPU it does not: there, and
 *                     here by default, every context of the process, old or new, answers the
 *                     error until the process ends. For experiments; nothing should rely on it.
 *   SOFTCUDA_RACES    1: races in the shared memory of kernels are faults
 *   SOFTCUDA_EXACT    1: a kernel's read of device memory that nothing has written since it was
 *                     allocated is a fault; newly allocated memory holds bytes of 0xff (up to 64
 *                     MiB; of larger memory the ends); and acuda's own pools keep nothing, and
 *                     round no size up
 *   SOFTCUDA_REPORT   "stderr" or a file: each kernel fault and each refused module or kernel is
 *                     written there as one line; "%p" in the name stands for the process id
 *   SOFTCUDA_SEED     a number that alone decides how streams interleave; see schedule.h
 *   SOFTCUDA_FAULTS   a script of what goes wrong, and where; see faults.h
 *   SOFTCUDA_TRACE    a file for the program's calls and the streams' works, in order; "%p" in its
 *                     name stands for the process id
 */
#ifndef SOFTCUDA_DRIVER_SOFTCUDA_H
#define SOFTCUDA_DRIVER_SOFTCUDA_H

/*
 * The entry point that libcuda.so.1 exports as `symbol` ("cuMemAlloc_v2"), or NULL if no driver
 * exports that. What this driver can not do is there too, and answers CUDA_ERROR_NOT_SUPPORTED. The
 * stand-in exports this function as well: by it a program can tell that its libcuda.so.1 is not a
 * GPU's.
 */
__attribute__((visibility("default"))) void *softcuda_symbol(const char *symbol);

/*
 * One sentence about the last kernel fault or refused module of the process: kernel, line, thread,
 * address. Never NULL; "" before the first. The text is valid until the calling thread asks again.
 */
__attribute__((visibility("default"))) const char *softcuda_last_error_text(void);

#endif
