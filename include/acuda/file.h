/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reading files into tensors, and writing tensors to files, as operations among others:
 *
 *   acu_file_open("weights.bin", ACU_FILE_READ, &file);
 *   acu_op *y = acu_matmul(x, acu_file_read(file, 4096, w));
 *
 * The bytes of a tensor are those of the file from an offset on, as they are in memory. Work that
 * reads the tensor waits for the file, and the file waits for work that used it before: order
 * follows from the data in tensors. Operations on one file that touch different tensors run in any
 * order and at the same time; acu_after orders them.
 *
 * Up to four threads of acuda's read and write, in pieces of 1 to 16 MiB, which pass through four
 * pinned buffers from the device's pool (pool.h) while others are copied. Tensors in host memory
 * are read and written in place. Nothing waits on the thread that submits. If the submission is
 * given up (acu_future_cancel, a timeout), pieces that were not begun are not read or written.
 */
#ifndef ACUDA_FILE_H
#define ACUDA_FILE_H

#include <acuda/op.h>

ACU_BEGIN

typedef struct acu_file acu_file;

typedef enum acu_file_mode {
    ACU_FILE_READ,  /* it exists, and is only read */
    ACU_FILE_WRITE, /* read and written; made, if there is none; what is in it stays */
    ACU_FILE_CREATE /* the same, but emptied first */
} acu_file_mode;

/* Any file with offsets: no pipe. A new file is readable and writable as the process's umask says.
 * Blocks as long as the system's open does. Errors: INVALID, IO (with the system's words),
 * NO_MEMORY. */
ACU_API acu_status acu_file_open(const char *path, acu_file_mode mode, acu_file **file);
/* Its length now, in bytes. Errors: IO, BAD_HANDLE. */
ACU_API acu_status acu_file_size(acu_file *file, uint64_t *bytes);
ACU_API acu_file *acu_file_retain(acu_file *file);
/* Closed once no operation needs it any more. What was written gets to the disk when the system
 * writes it. */
ACU_API void acu_file_release(acu_file *file);

/*
 * Overwrite all of x, a dense tensor, or an op that yields one, with bytes of the file; write the
 * bytes of x. Both yield x. The handle is borrowed, and kept by the op.
 *
 * Errors: INVALID (x is no tensor, or not dense; the file is open for reading only; beyond 2^63),
 * SHARED (x must not be written), BAD_HANDLE, NO_MEMORY; of the future: IO. Its message says how
 * many bytes of a piece were read or written, where, and why no more: the file ends there, or the
 * system's words. A tensor that was read in part has no valid contents. None blocks. Driver: those
 * of copies (acu_copy). Not in explicit graphs.
 */
#define acu_file_read(file, offset, x)                                                             \
    acu_op_file_read((file), (offset), ACUI_TARGET(x), ACU_SITE)
#define acu_file_write(file, offset, x)                                                            \
    acu_op_file_write((file), (offset), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_file_read(acu_file *file, uint64_t offset, acu_op *x, acu_site site);
ACU_API acu_op *acu_op_file_write(acu_file *file, uint64_t offset, acu_op *x, acu_site site);

ACU_END
#endif
