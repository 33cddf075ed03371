/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A file that is larger than device memory, streamed through the GPU: read, upload, kernel,
 * download and write are one submission for each chunk. A few slots take turns, so memory is
 * bounded. While one chunk is read or written, the others are on the device: the steps in a slot
 * are ordered by its data, and the slots share nothing. (Reading and writing take turns, since host
 * work of all submissions has one thread.)
 *
 *     stream_file IN OUT [CHUNK-KIB]    writes the inverted bytes of IN to OUT
 *     stream_file                       does so with a temporary file, and checks the result
 */
#include "example.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char stream_file_ptx[];

enum { SLOTS = 3 };

/* Memory for one chunk on its way; reused once the previous chunk is written. */
typedef struct slot {
    acu_tensor *in, *out, *device; /* in and out: page-locked host memory */
    acu_future *future;            /* of the chunk that is in the slot */
    int from, to;
    off_t at;
    size_t bytes;
} slot;

static acu_status read_chunk(void *user, const acu_val *values, size_t count)
{
    slot *s = user;
    (void)count;
    ssize_t got = pread(s->from, acu_tensor_host(values[0].tensor), s->bytes, s->at);
    return got == (ssize_t)s->bytes ? ACU_OK : ACU_ERR_IO;
}

static acu_status write_chunk(void *user, const acu_val *values, size_t count)
{
    slot *s = user;
    (void)count;
    ssize_t put = pwrite(s->to, acu_tensor_host(values[0].tensor), s->bytes, s->at);
    return put == (ssize_t)s->bytes ? ACU_OK : ACU_ERR_IO;
}

/* One chunk, from file to file, as one op. */
static acu_op *chunk_op(slot *s, acu_kernel *kernel)
{
    unsigned words = (unsigned)acu_tensor_elements(s->device);
    acu_op *up = acu_copy(s->device, acu_host(read_chunk, s, acu_out(s->in)));
    acu_op *work = acu_launch(kernel, acu_for_num_elems(words), acu_inout(acu_first(up)),
                              acu_u32(words));
    acu_op *down = acu_copy(s->out, acu_first(work));
    return acu_host(write_chunk, s, acu_in(acu_first(down)));
}

static void wait_for(slot *s)
{
    if (s->future)
        check(acu_future_wait(s->future, ACU_FOREVER));
    acu_future_release(s->future);
    s->future = NULL;
}

static void open_slot(acu_device *device, slot *s, size_t chunk)
{
    acu_shape shape = ACU_SHAPE((int64_t)(chunk / 4));
    check(acu_tensor_alloc_pinned(device, ACU_U32, shape, &s->in));
    check(acu_tensor_alloc_pinned(device, ACU_U32, shape, &s->out));
    check(acu_tensor_alloc(device, ACU_U32, shape, &s->device));
}

static void close_slot(slot *s)
{
    wait_for(s);
    acu_tensor_release(s->in);
    acu_tensor_release(s->out);
    acu_tensor_release(s->device);
}

/* The device holds `SLOTS` chunks at a time, however long the file is. */
static void stream(int from, int to, size_t chunk)
{
    slot slots[SLOTS] = {{.from = from, .to = to}, {.from = from, .to = to},
                         {.from = from, .to = to}};
    struct stat file;
    if (fstat(from, &file) != 0)
        exit(1);
    acu_device *device = open_device();
    acu_kernel *kernel = load_kernel(device, stream_file_ptx, "invert");
    for (int i = 0; i < SLOTS; i++)
        open_slot(device, &slots[i], chunk);
    int chunks = 0;
    for (off_t at = 0; at < file.st_size; at += (off_t)chunk, chunks++) {
        slot *s = &slots[chunks % SLOTS];
        wait_for(s);
        s->at = at;
        s->bytes = file.st_size - at < (off_t)chunk ? (size_t)(file.st_size - at) : chunk;
        check(acu_submit(device, chunk_op(s, kernel), NULL, &s->future));
    }
    for (int i = 0; i < SLOTS; i++)
        close_slot(&slots[i]);
    acu_kernel_release(kernel);
    check(acu_close(device));
    printf("%lld bytes in %d chunks, at most %zu of them on the device\n", (long long)file.st_size,
           chunks, SLOTS * chunk);
}

/* A temporary file, which is deleted when it is closed. */
static int temporary(void)
{
    FILE *file = tmpfile();
    if (!file)
        exit(1);
    return fileno(file);
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 7 + (i >> 9));
}

static int try_out(void)
{
    enum { BYTES = 1234567 };
    static unsigned char data[BYTES];
    int from = temporary(), to = temporary();
    for (size_t i = 0; i < BYTES; i++)
        data[i] = byte_at(i);
    if (pwrite(from, data, BYTES, 0) != BYTES)
        return 1;
    stream(from, to, 64 << 10);
    memset(data, 0, BYTES);
    if (pread(to, data, BYTES, 0) != BYTES)
        return 1;
    size_t right = 0;
    for (size_t i = 0; i < BYTES; i++)
        right += data[i] == (unsigned char)~byte_at(i);
    printf("%zu of %d bytes are right\n", right, BYTES);
    return right == BYTES ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return try_out();
    int from = open(argv[1], O_RDONLY), to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    size_t chunk = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) << 10 : (size_t)32 << 20;
    if (from < 0 || to < 0 || chunk == 0 || chunk > (size_t)1 << 30) {
        fprintf(stderr, "usage: stream_file IN OUT [CHUNK-KIB]\n");
        return 1;
    }
    stream(from, to, chunk);
    return 0;
}
