/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of others and for others: CUDA's own, within a process and between two; and that of
 * another API, for which a file in memory stands on the software device. A GPU takes no such file:
 * there the test expects a refusal with a message, since a test can not get memory of a real
 * Vulkan.
 */
#include "support/one_device.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N = 1000, BYTES = N * sizeof(float) };
#define SOCKET_NAME "ACUDA_TEST_SOCKET"

/* Memory for others; skips the test if there is none. */
static acu_buffer *exportable(size_t bytes)
{
    acu_buffer *buffer = NULL;
    if (!test_can_share(device))
        skip();
    assert_works(acu_buffer_create_exportable(device, bytes, &buffer));
    return buffer;
}

static acu_external *import_fd(acu_external_kind kind, int fd, size_t bytes)
{
    acu_external_options from = {.size = sizeof from, .kind = kind, .fd = fd, .bytes = bytes};
    acu_external *external = NULL;
    assert_works(acu_external_import(device, &from, &external));
    return external;
}

/* N numbers at an offset of the buffer. */
static acu_tensor *tensor_at(acu_buffer *buffer, size_t offset)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_tensor_create(buffer, offset, ACU_F32, ACU_SHAPE(N), &tensor));
    return tensor;
}

static void fill(acu_tensor *tensor, float value)
{
    assert_works(acu_sync(device, acu_fill(tensor, acu_f32(value)), NULL));
}

static void assert_holds(acu_tensor *tensor, float value)
{
    float got[N] = {0};
    assert_works(acu_read_sync(tensor, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == value);
}

/* ---- in one process ---- */

static void what_is_exported_is_imported_again(void **state)
{
    (void)state;
    acu_buffer *mine = exportable(BYTES), *theirs = NULL;
    int fd = -1;
    assert_int_equal(acu_buffer_bytes(mine), BYTES);
    assert_int_equal(acu_buffer_kind(mine), ACU_MEMORY_FOREIGN);
    assert_works(acu_buffer_export(mine, &fd));
    acu_tensor *x = tensor_at(mine, 0);
    fill(x, 2.5f);
    acu_external *external = import_fd(ACU_EXTERNAL_CUDA, fd, BYTES);
    assert_int_equal(close(fd), 0); /* it belonged to the program */
    assert_int_equal(acu_external_bytes(external), BYTES);
    assert_ptr_equal(acu_external_device(external), device);
    assert_works(acu_external_buffer(external, 0, 0, &theirs));
    acu_tensor *y = tensor_at(theirs, 0);
    assert_true(acu_buffer_address(theirs) != acu_buffer_address(mine));
    assert_holds(y, 2.5f);
    fill(y, -1);
    assert_holds(x, -1);
    acu_tensor_release(x);
    acu_buffer_release(mine); /* the memory lives on */
    assert_holds(y, -1);
    assert_fails(acu_buffer_export(theirs, &fd), ACU_ERR_INVALID, "was imported|a duplicate");
    acu_tensor_release(y);
    acu_buffer_release(theirs);
    acu_external_release(acu_external_retain(external));
    acu_external_release(external);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_ALLOCATION), 0);
}

static void one_import_is_many_buffers(void **state)
{
    (void)state;
    enum { PART = 3 * 4096 };
    acu_buffer *mine = exportable(4 * PART), *a = NULL, *b = NULL, *again = NULL;
    int fd = -1;
    assert_works(acu_buffer_export(mine, &fd));
    acu_external *external = import_fd(ACU_EXTERNAL_CUDA, fd, 4 * PART);
    close(fd);
    assert_works(acu_external_buffer(external, PART, PART, &a));
    assert_works(acu_external_buffer(external, 2 * PART, 0, &b));
    assert_int_equal(acu_buffer_bytes(b), 2 * PART);
    assert_works(acu_external_buffer(external, PART, PART, &again));
    assert_ptr_equal(again, a);
    acu_buffer_release(again);
    again = NULL;
    assert_fails(acu_external_buffer(external, PART - 1, 2, &again), ACU_ERR_BUSY,
                 "2 bytes from 12287 on|overlap another buffer");
    assert_fails(acu_external_buffer(external, PART, PART - 1, &again), ACU_ERR_BUSY,
                 "12287 bytes from 12288 on");
    assert_fails(acu_external_buffer(external, 0, 0, &again), ACU_ERR_BUSY,
                 "49152 bytes from 0 on");
    assert_fails(acu_external_buffer(external, 4 * PART, 0, &again), ACU_ERR_INVALID,
                 "from 49152 on|within the 49152");
    assert_fails(acu_external_buffer(external, 1, SIZE_MAX, &again), ACU_ERR_INVALID, "within");
    assert_fails(acu_external_buffer(external, 0, 1, NULL), ACU_ERR_INVALID, "nowhere");
    assert_null(again);
    acu_tensor *x = tensor_at(mine, PART), *y = tensor_at(a, 0), *z = tensor_at(b, PART);
    acu_external_release(external); /* its buffers have it */
    fill(x, 3);
    assert_holds(y, 3);
    fill(z, 4);
    acu_tensor_release(x);
    x = tensor_at(mine, 3 * PART);
    assert_holds(x, 4);
    acu_buffer_release(a);
    acu_tensor_release(y);
    acu_tensor_release(z);
    acu_tensor_release(x);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MAPPING), 2);
    acu_buffer_release(b);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MAPPING), 1);
    acu_buffer_release(mine);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MAPPING), 0);
}

static void the_last_use_gives_it_back(void **state)
{
    (void)state;
    acu_buffer *buffer = exportable(BYTES);
    acu_tensor *x = tensor_at(buffer, 0), *copy = NULL;
    acu_stream *stream = NULL;
    acu_future *future = NULL;
    fill(x, 7);
    assert_works(acu_stream_create(device, 0, &stream));
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options on = {.size = sizeof on, .stream = stream};
    assert_works(acu_submit(device, acu_dup(x), &on, &future));
    acu_tensor_release(x);
    acu_buffer_release(buffer);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MAPPING), 1); /* it is in flight */
    test_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    copy = acu_tensor_retain(acu_future_tensor(future, 0));
    acu_future_release(future);
    assert_holds(copy, 7);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MAPPING), 0);
    acu_tensor_release(copy);
    acu_stream_release(stream);
}

static void read_only_is_not_written(void **state)
{
    (void)state;
    acu_buffer *mine = exportable(BYTES), *theirs = NULL;
    int fd = -1;
    acu_tensor *x = tensor_at(mine, 0);
    fill(x, 5);
    assert_works(acu_buffer_export(mine, &fd));
    acu_external_options from = {.size = sizeof from, .fd = fd, .bytes = BYTES, .read_only = true};
    acu_external *external = NULL;
    assert_works(acu_external_import(device, &from, &external));
    close(fd);
    assert_works(acu_external_buffer(external, 0, 0, &theirs));
    acu_tensor *y = tensor_at(theirs, 0);
    assert_holds(y, 5);
    acu_future *none = NULL;
    acu_status st = acu_submit(device, acu_fill(y, acu_f32(1)), NULL, &none);
    assert_int_equal(st, ACU_ERR_SHARED);
    assert_null(none);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_buffer_release(theirs);
    acu_external_release(external);
    acu_buffer_release(mine);
}

/* ---- between processes ---- */

static void send_fd(int socket, int fd)
{
    char byte = 'x';
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    assert_int_equal(sendmsg(socket, &message, 0), 1);
}

static int receive_fd(int socket)
{
    char byte;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    assert_int_equal(recvmsg(socket, &message, 0), 1);
    int fd = -1;
    memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    return fd;
}

static void another_process_has_it_too(void **state)
{
    (void)state;
    acu_buffer *buffer = exportable(2 * BYTES);
    acu_tensor *x = tensor_at(buffer, 0), *y = tensor_at(buffer, BYTES);
    int ends[2], fd = -1;
    char number[16];
    fill(x, 1.5f);
    fill(y, 0);
    assert_works(acu_buffer_export(buffer, &fd));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    send_fd(ends[0], fd);
    close(fd);
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv(SOCKET_NAME, number, 1);
    test_in_process("child");
    close(ends[0]);
    close(ends[1]);
    assert_holds(x, 1.5f);
    assert_holds(y, 3);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_buffer_release(buffer);
}

/* The other process: y = 2 x, over the same memory. */
static void child(void **state)
{
    device_setup(state);
    const char *number = getenv(SOCKET_NAME);
    assert_non_null(number);
    int fd = receive_fd(atoi(number));
    acu_external *external = import_fd(ACU_EXTERNAL_CUDA, fd, 2 * BYTES);
    close(fd);
    acu_buffer *buffer = NULL;
    assert_works(acu_external_buffer(external, 0, 0, &buffer));
    acu_tensor *x = tensor_at(buffer, 0), *y = tensor_at(buffer, BYTES);
    assert_holds(x, 1.5f);
    assert_holds(y, 0);
    assert_works(acu_sync(device, acu_copy(y, acu_add(x, x)), NULL));
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_buffer_release(buffer);
    acu_external_release(external);
    device_teardown(state);
}

/* ---- of another API ---- */

static void a_file_stands_for_another_api(void **state)
{
    (void)state;
    enum { ALL = 3 * 4096, OFFSET = 4096 + 256 };
    int file = memfd_create("frame", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, ALL), 0);
    if (test_on_gpu()) {
        acu_external_options from = {
            .size = sizeof from, .kind = ACU_EXTERNAL_OPAQUE_FD, .fd = file, .bytes = ALL};
        acu_external *none = NULL;
        acu_status st = acu_external_import(device, &from, &none);
        assert_int_not_equal(st, ACU_OK);
        assert_int_not_equal(acu_status_scope(st), ACU_SCOPE_DEVICE);
        assert_non_null(strstr(acu_last_error()->message, "another API of 12288 bytes"));
        assert_int_equal(close(file), 0);
        return;
    }
    char *host = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(host, MAP_FAILED);
    acu_external *external = import_fd(ACU_EXTERNAL_OPAQUE_FD, file, ALL);
    assert_int_equal(close(file), 0); /* still the program's own */
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_EXTERNAL), 1);
    acu_buffer *first = NULL, *rest = NULL;
    assert_works(acu_external_buffer(external, 0, OFFSET, &first));
    assert_works(acu_external_buffer(external, OFFSET, 0, &rest));
    acu_tensor *x = tensor_at(first, 0), *y = tensor_at(rest, 4);
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = 0.5f;
    memcpy(host, values, sizeof values);
    assert_holds(x, 0.5f);
    fill(y, 9);
    memcpy(values, host + OFFSET + 4, sizeof values);
    assert_true(values[0] == 9 && values[N - 1] == 9);
    int fd = -1;
    assert_fails(acu_buffer_export(first, &fd), ACU_ERR_INVALID, "was imported");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_buffer_release(first);
    acu_external_release(external);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 1);
    acu_buffer_release(rest);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_MEMORY), 0);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_EXTERNAL), 0);
    munmap(host, ALL);
}

/* ---- what is refused ---- */

/* The driver refuses it; the device keeps working. */
static void driver_refuses(acu_external_kind kind, int fd, size_t bytes, const char *words)
{
    acu_external_options from = {.size = sizeof from, .kind = kind, .fd = fd, .bytes = bytes};
    acu_external *none = NULL;
    acu_status st = acu_external_import(device, &from, &none);
    assert_int_not_equal(st, ACU_OK);
    assert_int_not_equal(acu_status_scope(st), ACU_SCOPE_DEVICE);
    assert_int_equal(acu_last_error()->status, st);
    if (!strstr(acu_last_error()->message, words))
        fail_msg("\"%s\" has no \"%s\"", acu_last_error()->message, words);
    assert_null(none);
}

static void wrong_descriptors(void **state)
{
    (void)state;
    acu_buffer_release(exportable(1)); /* or skip */
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    errno = 7;
    for (int kind = ACU_EXTERNAL_CUDA; kind <= ACU_EXTERNAL_DMA_BUF; kind++)
        driver_refuses((acu_external_kind)kind, pipes[0], 4096,
                       "the driver does not take descriptor");
    assert_int_equal(errno, 7);
    close(pipes[0]);
    close(pipes[1]);
    acu_external_options from = {.size = sizeof from, .fd = pipes[0], .bytes = 4096};
    acu_external *none = NULL;
    assert_fails(acu_external_import(device, &from, &none), ACU_ERR_INVALID, "is not open");
    from.kind = ACU_EXTERNAL_OPAQUE_FD;
    from.fd = -1;
    assert_fails(acu_external_import(device, &from, &none), ACU_ERR_INVALID, "-1 is not open");
    assert_int_equal(errno, 7);
    from.bytes = 0;
    assert_fails(acu_external_import(device, &from, &none), ACU_ERR_INVALID, "0 bytes");
    assert_fails(acu_external_import(device, NULL, &none), ACU_ERR_INVALID, "0 bytes");
    from.bytes = 1;
    assert_fails(acu_external_import(device, &from, NULL), ACU_ERR_INVALID, "nowhere");
    from.kind = (acu_external_kind)9;
    assert_fails(acu_external_import(device, &from, &none), ACU_ERR_INVALID, "no kind 9");
    assert_null(none);
}

static void too_large(void **state)
{
    (void)state;
    acu_buffer *buffer = exportable(BYTES), *none = NULL;
    int fd = -1;
    assert_works(acu_buffer_export(buffer, &fd));
    driver_refuses(ACU_EXTERNAL_CUDA, fd, (size_t)64 << 20, "is the memory as large as that?");
    close(fd);
    acu_buffer_release(buffer);
    size_t left, total;
    assert_works(acu_device_memory(device, &left, &total));
    assert_fails(acu_buffer_create_exportable(device, 2 * total, &none), ACU_ERR_DEVICE_MEMORY,
                 "allocating |bytes that can be handed");
    assert_fails(acu_buffer_create_exportable(device, SIZE_MAX, &none), ACU_ERR_DEVICE_MEMORY,
                 "there are no 18446744073709551615 bytes");
    assert_fails(acu_buffer_create_exportable(device, 0, &none), ACU_ERR_INVALID, "0 bytes");
    assert_null(none);
}

static void other_buffers_are_not_exported(void **state)
{
    (void)state;
    acu_buffer *buffer = NULL, *wrapped = NULL;
    int fd = -1;
    assert_works(acu_buffer_create(device, 64, &buffer));
    assert_works(acu_buffer_wrap_device(device, acu_buffer_address(buffer), 64, (acu_user){0},
                                        &wrapped));
    assert_fails(acu_buffer_export(buffer, &fd), ACU_ERR_INVALID, "acu_buffer_create_exportable");
    assert_fails(acu_buffer_export(wrapped, &fd), ACU_ERR_INVALID, "acu_buffer_create_exportable");
    assert_int_equal(fd, -1);
    acu_buffer_release(wrapped);
    acu_buffer_release(buffer);
    acu_external_release(NULL);
    assert_int_equal(acu_external_bytes(NULL), 0);
    assert_null(acu_external_device(NULL));
}

static void a_device_without_it(void **state)
{
    (void)state;
    acu_buffer *none = NULL;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_DeviceGetAttribute,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_INVALID_VALUE};
    assert_works(acu_driver_fail(&fault));
    assert_fails(acu_buffer_create_exportable(device, 64, &none), ACU_ERR_NOT_SUPPORTED,
                 "has no memory that is shared as a file descriptor");
    assert_null(none);
}

/* Imported memory goes with its last handle, and can not be used with the new device. */
static void after_a_reset(void **state)
{
    (void)state;
    acu_buffer_release(exportable(1)); /* or skip */
    test_in_process("reset");
}

static void reset(void **state)
{
    device_setup(state);
    acu_device *fresh = NULL;
    acu_buffer *buffer = exportable(BYTES);
    acu_tensor *x = tensor_at(buffer, 0);
    acu_reset_options options = {.size = sizeof options,
                                 .nothing_else_in_this_process_uses_the_device = true};
    int fd = -1;
    assert_works(acu_device_reset(device, &options, &fresh));
    assert_fails(acu_buffer_export(buffer, &fd), ACU_ERR_STALE, "was reset");
    assert_int_equal(acu_buffer_address(buffer), 0);
    acu_tensor_release(x);
    acu_buffer_release(buffer);
    test_close(device);
    device = fresh;
    buffer = exportable(BYTES);
    x = tensor_at(buffer, 0);
    fill(x, 2);
    assert_holds(x, 2);
    acu_tensor_release(x);
    acu_buffer_release(buffer);
    test_close(fresh);
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"child", child}, {"reset", reset}};
    if (argc > 1)
        return test_run_case(cases, 2, argv[1]);
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(what_is_exported_is_imported_again),
        DEVICE_TEST(one_import_is_many_buffers),
        DEVICE_TEST(the_last_use_gives_it_back),
        DEVICE_TEST(read_only_is_not_written),
        DEVICE_TEST(another_process_has_it_too),
        DEVICE_TEST(a_file_stands_for_another_api),
        DEVICE_TEST(wrong_descriptors),
        DEVICE_TEST(too_large),
        DEVICE_TEST(other_buffers_are_not_exported),
        DEVICE_TEST(a_device_without_it),
        DEVICE_TEST(after_a_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
