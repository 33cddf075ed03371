/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fourier transforms by cuFFT, compared with the definition in double; on the software device by a
 * library that poses as it (fake_cufft.c). */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/fft.h>

enum { MOST = 2048 };
#define TAU 6.28318530717958647692

static test_random numbers = {.state = 11};

static acu_device *open_fft(void)
{
    return with_library(ACU_VENDOR_CUFFT, "fft/libfake_cufft.so");
}

static double tolerance(acu_dtype dtype)
{
    return dtype == ACU_F64 ? 1e-11 : 2e-4;
}

/* One dimension of a complex array in place: `n` elements that are `step` apart. */
static void transform_line(double *x, int n, int step, int sign)
{
    double out[MOST];
    for (int k = 0; k < n; k++) {
        out[2 * k] = out[2 * k + 1] = 0;
        for (int i = 0; i < n; i++) {
            double angle = sign * TAU * (double)(i * k % n) / n;
            const double *at = x + 2 * i * step;
            out[2 * k] += at[0] * cos(angle) - at[1] * sin(angle);
            out[2 * k + 1] += at[0] * sin(angle) + at[1] * cos(angle);
        }
    }
    for (int k = 0; k < 2 * n; k++)
        x[2 * (k / 2) * step + k % 2] = out[k];
}

/* The last `rank` of three dimensions, one after the other. */
static void transform(double *x, const int n[3], int rank, int sign)
{
    int all = n[0] * n[1] * n[2];
    for (int d = 3 - rank; d < 3; d++) {
        int step = d == 0 ? n[1] * n[2] : d == 1 ? n[2] : 1;
        for (int i = 0; i < all; i++)
            if (i / step % n[d] == 0)
                transform_line(x + 2 * i, n[d], step, sign);
    }
}

static acu_dtype complex_of(acu_dtype dtype)
{
    return dtype == ACU_F64 ? ACU_C128 : ACU_C64;
}

/* `dtype`: of the parts. */
static void complex_one(acu_device *device, acu_dtype dtype, const int n[3], int rank, bool inverse)
{
    size_t count = 2 * (size_t)(n[0] * n[1] * n[2]);
    double x[MOST], have[MOST];
    with_random(&numbers, x, count);
    acu_shape shape = ACU_SHAPE(n[0], n[1], n[2]);
    acu_tensor *in = with_numbers(device, complex_of(dtype), shape, x), *out = NULL;
    acu_direction direction = inverse ? ACU_INVERSE : ACU_FORWARD;
    assert_works(acu_sync(device, acu_fft(in, rank, direction), &out));
    with_read(in, have);
    transform(x, n, rank, inverse ? 1 : -1);
    with_read(out, have);
    with_near(have, x, count, tolerance(dtype), "fft");
    /* In place. */
    assert_works(acu_sync(device, acu_into(in, acu_fft(in, rank, direction)), NULL));
    with_read(in, have);
    with_near(have, x, count, tolerance(dtype), "fft in place");
    acu_tensor_release(in);
    acu_tensor_release(out);
}

static void complex_numbers(void **state)
{
    (void)state;
    static const int shapes[][3] = {{3, 2, 8}, {2, 3, 5}, {4, 4, 4}};
    acu_device *device = open_fft();
    for (int s = 0; s < 3; s++)
        for (int rank = 1; rank <= 3; rank++)
            complex_one(device, s & 1 ? ACU_F64 : ACU_F32, shapes[s], rank, (s + rank) & 1);
    with_end(device);
}

static void real_one(acu_device *device, acu_dtype dtype, const int n[3], int rank)
{
    int half = n[2] / 2 + 1;
    size_t count = (size_t)(n[0] * n[1] * n[2]);
    double x[MOST], full[MOST], want[MOST], have[MOST];
    with_random(&numbers, x, count);
    for (size_t i = 0; i < count; i++) {
        full[2 * i] = x[i];
        full[2 * i + 1] = 0;
    }
    transform(full, n, rank, -1);
    for (int row = 0; row < n[0] * n[1]; row++)
        memcpy(want + 2 * row * half, full + 2 * row * n[2], 2 * (size_t)half * sizeof *want);
    acu_tensor *in = with_numbers(device, dtype, ACU_SHAPE(n[0], n[1], n[2]), x);
    acu_tensor *spectrum = NULL, *back = NULL;
    assert_works(acu_sync(device, acu_rfft(in, rank), &spectrum));
    assert_true(acu_shape_equal(acu_tensor_shape(spectrum), ACU_SHAPE(n[0], n[1], half)));
    assert_int_equal(acu_tensor_dtype(spectrum), complex_of(dtype));
    with_read(spectrum, have);
    with_near(have, want, 2 * (size_t)(n[0] * n[1] * half), tolerance(dtype), "rfft");
    assert_works(acu_sync(device, acu_irfft(spectrum, rank, n[2]), &back));
    with_read(spectrum, have); /* it was not overwritten */
    with_near(have, want, 2 * (size_t)(n[0] * n[1] * half), tolerance(dtype), "its operand");
    double times = rank == 1 ? n[2] : rank == 2 ? n[1] * n[2] : n[0] * n[1] * n[2];
    for (size_t i = 0; i < count; i++)
        x[i] *= times;
    with_read(back, have);
    with_near(have, x, count, tolerance(dtype) * times, "irfft");
    acu_tensor_release(in);
    acu_tensor_release(spectrum);
    acu_tensor_release(back);
}

static void real_numbers(void **state)
{
    (void)state;
    static const int shapes[][3] = {{2, 3, 8}, {3, 2, 5}};
    acu_device *device = open_fft();
    for (int s = 0; s < 2; s++)
        for (int rank = 1; rank <= 3; rank++)
            real_one(device, s & 1 ? ACU_F64 : ACU_F32, shapes[s], rank);
    with_end(device);
}

/* ---- plans ---- */

static acu_op *ones(int64_t n)
{
    return acu_full(ACU_SHAPE(n), acu_c64(1, 1));
}

/* Reals that begin between two complex numbers: cuFFT does not take them, acuda's kernels do. */
static void unaligned(void **state)
{
    (void)state;
    acu_device *device = open_fft();
    acu_tensor *x, *straight, *shifted;
    double have[10], want[10];
    assert_works(acu_sync(device, acu_randn(ACU_F32, ACU_SHAPE(9), 3, 0), &x));
    acu_op *part = acu_slice(x, ACU_SHAPE(1), ACU_SHAPE(9));
    assert_works(acu_sync(device, acu_rfft(acu_dup(acu_op_retain(part)), 1), &straight));
    assert_works(acu_sync(device, acu_rfft(part, 1), &shifted));
    with_read(straight, want);
    with_read(shifted, have);
    with_near(have, want, 10, 1e-5, "unaligned");
    acu_tensor_release(x);
    acu_tensor_release(straight);
    acu_tensor_release(shifted);
    with_end(device);
}

/* One plan for each shape, kept; the least used go when there are too many. */
static void plans_are_kept(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_fft();
    assert_works(acu_graph_cache_limit(device, 0)); /* graphs keep plans, too */
    int made = atomic_load(&fake->created);
    for (int i = 0; i < 3; i++)
        assert_works(acu_sync(device, acu_fft(ones(4), 1, ACU_FORWARD), NULL));
    assert_works(acu_sync(device, acu_fft(ones(4), 1, ACU_INVERSE), NULL));
    assert_int_equal(atomic_load(&fake->created) - made, 1);
    for (int n = 5; n < 75; n++)
        assert_works(acu_sync(device, acu_fft(ones(n), 1, ACU_FORWARD), NULL));
    assert_int_equal(atomic_load(&fake->created) - made, 71);
    int destroyed = atomic_load(&fake->destroyed);
    assert_works(acu_sync(device, acu_fft(ones(4), 1, ACU_FORWARD), NULL)); /* made again */
    assert_int_equal(atomic_load(&fake->created) - made, 72);
    (void)destroyed;
    with_end(device);
}

/* A plan that a cached graph has is not crowded out. */
static void graphs_keep_plans(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_fft();
    acu_graph_cache_statistics cached = {.size = sizeof cached};
    int made = atomic_load(&fake->created);
    for (int i = 0; i < 3; i++)
        assert_works(acu_sync(device, acu_fft(ones(4), 1, ACU_FORWARD), NULL));
    assert_works(acu_graph_cache_wait(device));
    assert_works(acu_graph_cache_stats(device, &cached));
    for (int n = 5; n < 75; n++)
        assert_works(acu_sync(device, acu_fft(ones(n), 1, ACU_FORWARD), NULL));
    assert_works(acu_sync(device, acu_fft(ones(4), 1, ACU_FORWARD), NULL));
    if (cached.built > 0)
        assert_int_equal(atomic_load(&fake->created) - made, 71);
    with_end(device);
}

enum { THREADS = 4 };

static void *transforms(void *user)
{
    acu_device *device = user;
    for (int i = 0; i < 10; i++)
        if (acu_sync(device, acu_fft(ones(16), 1, ACU_FORWARD), NULL) != ACU_OK)
            return user;
    return NULL;
}

static void threads_share_a_plan(void **state)
{
    (void)state;
    acu_device *device = open_fft();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, transforms, device);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    with_end(device);
}

static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_fft();
    acu_tensor *x, *y;
    acu_graph *graph;
    double have[16];
    assert_works(acu_sync(device, ones(8), &x));
    assert_works(acu_sync(device, acu_zeros(ACU_C64, ACU_SHAPE(8)), &y));
    acu_op *round = acu_fft(acu_fft(x, 1, ACU_FORWARD), 1, ACU_INVERSE);
    assert_works(acu_graph_load(device, acu_into(y, round), NULL, &graph));
    for (int turn = 1; turn < 4; turn++) {
        assert_works(acu_sync(device, acu_fill(x, acu_c64((float)turn, (float)turn)), NULL));
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        with_read(y, have);
        for (int i = 0; i < 16; i++)
            assert_true(fabs(have[i] - 8 * turn) < 1e-4);
    }
    acu_graph_release(graph);
    acu_tensor_release(x);
    acu_tensor_release(y);
    with_end(device);
}

/* ---- refusals and failures ---- */

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_fft();
    acu_tensor *x;
    assert_works(acu_sync(device, acu_ones(ACU_C64, ACU_SHAPE(4, 6)), &x));
    assert_fails(acu_sync(device, acu_fft(x, 4, ACU_FORWARD), NULL), ACU_ERR_INVALID, "rank");
    assert_fails(acu_sync(device, acu_fft(x, 3, ACU_FORWARD), NULL), ACU_ERR_SHAPE, "few");
    assert_fails(acu_sync(device, acu_fft(x, 1, (acu_direction)5), NULL), ACU_ERR_INVALID,
                 "acu_direction");
    assert_fails(acu_sync(device, acu_irfft(x, 1, 7), NULL), ACU_ERR_SHAPE, "n / 2");
    assert_fails(acu_sync(device, acu_irfft(x, 1, 0), NULL), ACU_ERR_SHAPE, "n / 2");
    acu_op *real = acu_ones(ACU_F32, ACU_SHAPE(4, 6));
    assert_fails(acu_sync(device, acu_fft(real, 1, ACU_FORWARD), NULL), ACU_ERR_DTYPE,
                 "c64 or c128 (acu_rfft takes real numbers)");
    assert_fails(acu_sync(device, acu_rfft(x, 1), NULL), ACU_ERR_DTYPE, "f32 or f64");
    acu_op *whole = acu_ones(ACU_I32, ACU_SHAPE(4));
    assert_fails(acu_sync(device, acu_irfft(whole, 1, 7), NULL), ACU_ERR_DTYPE, "c128");
    acu_tensor_release(x);
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_fft();
    atomic_store(&fake->fail_create, 2);
    assert_fails(acu_sync(device, acu_fft(ones(9), 1, ACU_FORWARD), NULL), ACU_ERR_DEVICE_MEMORY,
                 "cufftCreate answered CUFFT_ALLOC_FAILED");
    atomic_store(&fake->fail_create, 0);
    atomic_store(&fake->fail_call, 8);
    assert_fails(acu_sync(device, acu_fft(ones(9), 1, ACU_FORWARD), NULL), ACU_ERR_NOT_SUPPORTED,
                 "CUFFT_INVALID_SIZE");
    atomic_store(&fake->fail_call, 0);
    assert_works(acu_sync(device, acu_fft(ones(9), 1, ACU_FORWARD), NULL));
    with_end(device);
}

static acu_op *transformed(void)
{
    return acu_fft(ones(12), 1, ACU_FORWARD);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_fft();
    test_fail_each_alloc(device, transformed);
    with_end(device);
}

static void use_fake(void)
{
    with_fake(ACU_VENDOR_CUFFT, "fft/libfake_cufft.so");
}

TEST_EACH_CALL(use_fake, transformed)

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complex_numbers),      cmocka_unit_test(real_numbers),
        cmocka_unit_test(unaligned),
        cmocka_unit_test(plans_are_kept),       cmocka_unit_test(graphs_keep_plans),
        cmocka_unit_test(threads_share_a_plan),
        cmocka_unit_test(in_a_graph),           cmocka_unit_test(refusals),
        cmocka_unit_test(failures),             cmocka_unit_test(without_memory),
        cmocka_unit_test(without_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
