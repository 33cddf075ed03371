/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files as operations, beside the system's own calls. */
#include "support/support.h"

#include <acuda/acuda.h>
#include <acuda/file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 9 * (1 << 20) + 12345 }; /* nine pieces and a rest, through four buffers */

static char path[] = "/tmp/acuda-test-file-XXXXXX";
static test_random numbers = {.state = 11};

/* A file of random bytes, which the caller frees. */
static uint8_t *make_file(size_t bytes)
{
    test_options(0); /* ends the program if there is no device, before there is a file */
    uint8_t *data = malloc(bytes + 8);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t some = test_next(&numbers);
        memcpy(data + i, &some, sizeof some);
    }
    strcpy(path + sizeof path - 7, "XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(write(file, data, bytes) == (ssize_t)bytes);
    close(file);
    return data;
}

static void end(acu_device *device, acu_file *file, uint8_t *data)
{
    acu_file_release(file);
    unlink(path);
    free(data);
    test_close(device);
    test_leaks_none();
}

static acu_file *open_it(acu_file_mode mode)
{
    acu_file *file;
    assert_works(acu_file_open(path, mode, &file));
    return file;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void reads(void **state)
{
    (void)state;
    static const size_t offsets[] = {0, 1, 4097};
    uint8_t *data = make_file(LARGE), *have = malloc(LARGE);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_READ);
    uint64_t bytes = 0;
    assert_works(acu_file_size(file, &bytes));
    assert_int_equal(bytes, LARGE);
    for (size_t i = 0; i < 3; i++) {
        acu_tensor *x;
        size_t n = LARGE - offsets[i];
        acu_op *op = acu_file_read(file, offsets[i], acu_empty(ACU_U8, ACU_SHAPE((int64_t)n)));
        assert_works(acu_sync(device, op, &x));
        assert_works(acu_read_sync(x, have, n));
        assert_memory_equal(have, data + offsets[i], n);
        acu_tensor_release(x);
    }
    free(have);
    end(device, file, data);
}

/* Other dtypes, parts of a tensor, memory of the host; and what reads it comes after. */
static void into_what_is_there(void **state)
{
    (void)state;
    uint8_t *data = make_file(4096);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_READ);
    acu_tensor *x, *pinned, *sum;
    uint32_t have[64];
    uint64_t total, want = 0;
    assert_works(acu_sync(device, acu_zeros(ACU_U32, ACU_SHAPE(8, 8)), &x));
    acu_op *row = acu_slice(x, ACU_SHAPE(2, 0), ACU_SHAPE(4, 8));
    assert_works(acu_submit(device, acu_file_read(file, 100, row), NULL, NULL));
    assert_works(acu_sync(device, acu_sum(x, ACU_ALL), &sum));
    assert_works(acu_read_sync(x, have, sizeof have));
    assert_memory_equal(have + 16, data + 100, 64);
    assert_true(have[15] == 0 && have[32] == 0);
    for (int i = 16; i < 32; i++)
        want += have[i];
    assert_works(acu_read_sync(sum, &total, sizeof total));
    assert_int_equal(total, want);
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(1000), &pinned));
    assert_works(acu_sync(device, acu_file_read(file, 7, pinned), NULL));
    assert_memory_equal(acu_tensor_host(pinned), data + 7, 1000);
    acu_tensor_release(x);
    acu_tensor_release(sum);
    acu_tensor_release(pinned);
    end(device, file, data);
}

static size_t read_all(int file, uint8_t *to, size_t bytes)
{
    size_t done = 0;
    ssize_t n;
    while (done < bytes && (n = read(file, to + done, bytes - done)) > 0)
        done += (size_t)n;
    return done;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void writes(void **state)
{
    (void)state;
    uint8_t *data = make_file(LARGE), *have = malloc(2 * LARGE);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_WRITE);
    acu_tensor *x;
    acu_op *read = acu_file_read(file, 0, acu_empty(ACU_U8, ACU_SHAPE(LARGE)));
    assert_works(acu_sync(device, acu_file_write(file, LARGE, read), &x)); /* behind itself */
    int raw = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read_all(raw, have, 2 * LARGE) == 2 * LARGE);
    close(raw);
    assert_memory_equal(have, data, LARGE);
    assert_memory_equal(have + LARGE, data, LARGE);
    acu_tensor_release(x);
    free(have);
    end(device, file, data);
}

/* What was computed before is what is written, and is computed with only then. */
static void in_order(void **state)
{
    (void)state;
    uint8_t *data = make_file(1);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_CREATE);
    acu_tensor *x, *y;
    acu_future *written[8];
    float have[1000];
    uint64_t bytes = 1;
    assert_works(acu_file_size(file, &bytes));
    assert_int_equal(bytes, 0);
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(1000)), &x));
    for (int i = 0; i < 8; i++) {
        assert_works(acu_submit(device, acu_fill(x, acu_f32((float)i)), NULL, NULL));
        written[i] = test_submit(device, acu_file_write(file, (uint64_t)i * 4000, x));
    }
    assert_works(acu_sync(device, acu_fill(x, acu_f32(9)), NULL));
    for (int i = 0; i < 8; i++) { /* x is free again before the file has all of it */
        assert_works(acu_future_wait(written[i], ACU_FOREVER));
        acu_future_release(written[i]);
    }
    for (int i = 0; i < 8; i++) {
        acu_op *to = acu_empty(ACU_F32, ACU_SHAPE(1000));
        assert_works(acu_sync(device, acu_file_read(file, (uint64_t)i * 4000, to), &y));
        assert_works(acu_read_sync(y, have, sizeof have));
        assert_true(have[0] == (float)i && have[999] == (float)i);
        acu_tensor_release(y);
    }
    acu_tensor_release(x);
    end(device, file, data);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void ends_too_early(void **state)
{
    (void)state;
    uint8_t *data = make_file(1000);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_READ);
    acu_op *op = acu_file_read(file, 400, acu_empty(ACU_U8, ACU_SHAPE(1000)));
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_IO, "600 of 1000 bytes at offset 400");
    assert_non_null(strstr(acu_last_error()->message, "the file ends there"));
    assert_non_null(strstr(acu_last_error()->message, path));
    assert_string_equal(acu_last_error()->op, "file_read");
    op = acu_file_read(file, 5000, acu_empty(ACU_U8, ACU_SHAPE(0, 3))); /* nothing is read */
    assert_works(acu_sync(device, op, NULL));
    op = acu_file_read(file, 5000, acu_empty(ACU_U8, ACU_SHAPE(1)));
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_IO, "0 of 1 bytes at offset 5000");
    end(device, file, data);
}

static void no_space(void **state)
{
    (void)state;
    acu_file *file;
    if (access("/dev/full", W_OK) != 0)
        skip();
    acu_device *device = test_open();
    assert_works(acu_file_open("/dev/full", ACU_FILE_WRITE, &file));
    acu_op *op = acu_file_write(file, 0, acu_zeros(ACU_U8, ACU_SHAPE(100)));
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_IO, "No space left");
    acu_file_release(file);
    test_close(device);
    test_leaks_none();
}

static void refusals(void **state)
{
    (void)state;
    uint8_t *data = make_file(1000);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_READ), *none;
    acu_tensor *x;
    assert_fails(acu_file_open("/nowhere/at/all", ACU_FILE_READ, &none), ACU_ERR_IO,
                 "opening /nowhere/at/all: No such file");
    assert_null(none);
    assert_fails(acu_file_open(path, (acu_file_mode)9, &none), ACU_ERR_INVALID, "acu_file_mode");
    assert_fails(acu_file_open(NULL, ACU_FILE_READ, &none), ACU_ERR_INVALID, "NULL for the path");
    assert_fails(acu_file_open(path, ACU_FILE_READ, NULL), ACU_ERR_INVALID, "NULL for the result");
    assert_works(acu_sync(device, acu_zeros(ACU_U8, ACU_SHAPE(4, 4)), &x));
    assert_fails(acu_sync(device, acu_file_write(file, 0, x), NULL), ACU_ERR_INVALID,
                 "open for reading only");
    acu_op *column = acu_slice(x, ACU_SHAPE(0, 0), ACU_SHAPE(4, 1));
    assert_fails(acu_sync(device, acu_file_read(file, 0, column), NULL), ACU_ERR_INVALID, "dense");
    assert_fails(acu_sync(device, acu_file_read(file, INT64_MAX, x), NULL), ACU_ERR_INVALID,
                 "2^63");
    assert_fails(acu_sync(device, acu_file_read(NULL, 0, x), NULL), ACU_ERR_INVALID, "");
    char pipe_path[sizeof path + 8];
    snprintf(pipe_path, sizeof pipe_path, "%s.pipe", path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_fails(acu_file_open(pipe_path, ACU_FILE_READ, &none), ACU_ERR_IO, "finding offsets in");
    unlink(pipe_path);
    acu_tensor_release(x);
    end(device, file, data);
}

/* ---- given up -------------------------------------------------------------------------------- */

/* The write waits for host work that ends only after it was given up: nothing is written. */
static void given_up(void **state)
{
    (void)state;
    uint8_t *data = make_file(4);
    acu_device *device = test_open();
    acu_file *file = open_it(ACU_FILE_WRITE);
    acu_future *future;
    acu_tensor *x;
    uint64_t bytes = 0;
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(100), &x));
    test_host_gate_close();
    acu_op *held = acu_host(test_pass_host_gate, NULL, acu_inout(x));
    assert_works(acu_submit(device, acu_file_write(file, 4, acu_first(held)), NULL, &future));
    test_host_gate_await();
    assert_works(acu_future_cancel(future));
    test_host_gate_open();
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED);
    acu_future_release(future);
    acu_tensor_release(x);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_file_size(file, &bytes));
    assert_int_equal(bytes, 4);
    end(device, file, data);
}

/* ---- resources ------------------------------------------------------------------------------- */

static acu_file *copied; /* by copy_a_little */

static acu_op *copy_a_little(void)
{
    acu_op *read = acu_file_read(copied, 0, acu_empty(ACU_U8, ACU_SHAPE(3 << 20)));
    return acu_file_write(copied, 3 << 20, read);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    uint8_t *data = make_file(3 << 20);
    acu_device *device = test_open();
    copied = open_it(ACU_FILE_WRITE);
    test_fail_each_alloc(device, copy_a_little);
    end(device, copied, data);
}

static void case_calls(void **state)
{
    (void)state;
    uint8_t *data = make_file(3 << 20);
    copied = open_it(ACU_FILE_WRITE);
    test_fail_each_call(NULL, copy_a_little);
    acu_file_release(copied);
    unlink(path);
    free(data);
}

/* Each driver call fails once. */
static void without_a_call(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("calls");
}

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads), cmocka_unit_test(into_what_is_there), cmocka_unit_test(writes),
        cmocka_unit_test(in_order), cmocka_unit_test(ends_too_early), cmocka_unit_test(no_space),
        cmocka_unit_test(refusals), cmocka_unit_test(given_up), cmocka_unit_test(without_memory),
        cmocka_unit_test(without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
