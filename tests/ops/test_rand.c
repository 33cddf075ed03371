/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random numbers: Philox as published, element by element, wherever a sequence is cut; moments and
 * uniformity. */
#include "ops/elements.h"

/* ---- reference ------------------------------------------------------------------------------- */

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4], k[2] = {key[0], key[1]};
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53 * c[0], b = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    memcpy(out, c, sizeof c);
}

static void words_of(uint64_t counter, uint64_t seed, uint32_t out[4])
{
    philox((uint32_t[]){(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0},
           (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, out);
}

/* The vectors that its authors publish. */
static void published_vectors(void **state)
{
    (void)state;
    static const uint32_t vectors[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1}};
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        philox(vectors[i], vectors[i] + 4, out);
        assert_memory_equal(out, vectors[i] + 6, sizeof out);
    }
}

/* The high half of the product of 128 bits. */
static uint64_t high_of(uint64_t a, uint64_t b)
{
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
    uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
    uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

enum { N = 3001 };
static const uint64_t seeds[] = {0, 1, 0x123456789abcdef0u, UINT64_MAX};
static const int64_t offsets[] = {0, 1, 2, 3, 6, ((int64_t)1 << 36) + 5};

static void every_number(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_shape shape = ACU_SHAPE(N);
    for (int s = 0; s < 4; s++)
        for (int o = 0; o < 6; o++) {
            const int64_t low = -(((int64_t)1 << 40) + 7), high = 1000003;
            int64_t *longs = result_of(device, acu_randint(ACU_I64, shape, low, high, seeds[s],
                                                           offsets[o]), ACU_I64, shape);
            uint32_t *ints = result_of(device,
                                       acu_randint(ACU_U32, shape, 0, (int64_t)1 << 32, seeds[s],
                                                   offsets[o]),
                                       ACU_U32, shape);
            float *f32 = result_of(device, acu_rand(ACU_F32, shape, seeds[s], offsets[o]), ACU_F32,
                                   shape);
            double *f64 = result_of(device, acu_rand(ACU_F64, shape, seeds[s], offsets[o]), ACU_F64,
                                    shape);
            uint16_t *f16 = result_of(device, acu_rand(ACU_F16, shape, seeds[s], offsets[o]),
                                      ACU_F16, shape);
            uint16_t *bf16 = result_of(device, acu_rand(ACU_BF16, shape, seeds[s], offsets[o]),
                                       ACU_BF16, shape);
            for (uint64_t i = 0; i < N; i++) {
                uint64_t g = (uint64_t)offsets[o] + i;
                uint32_t four[4], two[4];
                words_of(g / 4, seeds[s], four);
                words_of(g / 2, seeds[s], two);
                uint32_t word = four[g % 4], first = two[g % 2 * 2], second = two[g % 2 * 2 + 1];
                assert_int_equal(ints[i], second);
                uint64_t wide = (uint64_t)second << 32 | first;
                assert_true(longs[i] == low + (int64_t)high_of(wide, (uint64_t)(high - low)));
                assert_true(f32[i] == (float)(word >> 8) * 0x1p-24f);
                assert_true(f64[i] == (double)(wide >> 11) * 0x1p-53);
                assert_true(small_value(ACU_F16, f16[i]) == (double)(word >> 21) * 0x1p-11);
                assert_true(small_value(ACU_BF16, bf16[i]) == (double)(word >> 24) * 0x1p-8);
            }
            free(longs);
            free(ints);
            free(f32);
            free(f64);
            free(f16);
            free(bf16);
        }
    test_close(device);
    test_leaks_none();
}

/* Box and Muller, in double. */
static double normal_of(bool wide, uint64_t g, uint64_t seed)
{
    uint32_t w[4];
    words_of(g / (wide ? 2 : 4), seed, w);
    double u, v;
    if (wide) {
        u = 1 - (double)(((uint64_t)w[1] << 32 | w[0]) >> 11) * 0x1p-53;
        v = (double)(((uint64_t)w[3] << 32 | w[2]) >> 11) * 0x1p-53;
    } else {
        u = (double)w[g % 4 / 2 * 2] * 0x1p-32 + 0x1p-33;
        v = (double)w[g % 4 / 2 * 2 + 1] * 0x1p-32;
    }
    double angle = 6.283185307179586 * v;
    return sqrt(-2 * log(u)) * (g % 2 ? sin(angle) : cos(angle));
}

static void normal_numbers(void **state)
{
    (void)state;
    acu_device *device = test_open();
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F64, ACU_F16, ACU_BF16};
    acu_shape shape = ACU_SHAPE(7, N);
    for (int d = 0; d < 4; d++) {
        void *x = result_of(device, acu_randn(dtypes[d], shape, 42, 3), dtypes[d], shape);
        double sum = 0, squares = 0, cubes = 0, fourth = 0;
        const double n = 7 * N;
        for (uint64_t i = 0; i < 7 * N; i++) {
            double have = real_at(dtypes[d], x, i),
                   want = normal_of(dtypes[d] == ACU_F64, i + 3, 42);
            double near = dtypes[d] == ACU_F64 ? 1e-14 : dtypes[d] == ACU_F32 ? 4e-6 : 0;
            assert_true(fabs(have - want) <=
                        near + (near > 0 ? 0 : 0.51 * unit_at(dtypes[d], want) + 4e-6));
            sum += have;
            squares += have * have;
            cubes += have * have * have;
            fourth += have * have * have * have;
        }
        assert_true(fabs(sum / n) < 0.03 && fabs(squares / n - 1) < 0.04);
        assert_true(fabs(cubes / n) < 0.1 && fabs(fourth / n - 3) < 0.3);
        free(x);
    }
    test_close(device);
    test_leaks_none();
}

/* ---- distributions: with fixed seeds, so always the same numbers ---- */

enum { MANY = 1 << 16, BINS = 64 };

/* The chi-squared test: the sum of (seen - expected)^2 / expected is about count - 1, give or take
 * a few times the root of twice that. `at`: the places of MANY numbers in [0, 1). */
static void expect_even(const double *at, int count)
{
    unsigned seen[BINS * BINS] = {0};
    double sum = 0, expected = (double)MANY / count, usual = count - 1;
    for (int i = 0; i < MANY; i++) {
        assert_true(at[i] >= 0 && at[i] <= 1);
        int bin = (int)(at[i] * count);
        seen[bin < count ? bin : count - 1]++;
    }
    for (int i = 0; i < count; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    if (fabs(sum - usual) > 4 * sqrt(2 * usual))
        fail_msg("chi-square %g of %d bins", sum, count);
}

/* The same for pairs of neighbours: one chooses a row of bins, the other a bin in it. */
static void expect_spread(double *at)
{
    expect_even(at, BINS);
    for (int apart = 1; apart <= 4; apart++) {
        static double both[MANY];
        for (int i = 0; i < MANY; i++)
            both[i] = (floor(at[i] * 16) + fmin(at[(i + apart) % MANY], 1 - 0x1p-53)) / 16;
        expect_even(both, 16 * 16);
    }
}

static void distributions(void **state)
{
    (void)state;
    static double at[MANY];
    acu_device *device = test_open();
    acu_shape shape = ACU_SHAPE(MANY);
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int kind = 0; kind < 5; kind++) {
            acu_dtype dtype = kind < 4 ? (kind % 2 ? ACU_F64 : ACU_F32) : ACU_I32;
            acu_op *op = kind < 2   ? acu_rand(dtype, shape, seed, 0)
                         : kind < 4 ? acu_randn(dtype, shape, seed, 0)
                                    : acu_randint(dtype, shape, -300, 700, seed, 0);
            void *x = result_of(device, op, dtype, shape);
            for (uint64_t i = 0; i < MANY; i++) {
                double value = kind < 4 ? real_at(dtype, x, i) : ((int32_t *)x)[i];
                at[i] = kind < 2   ? value
                        : kind < 4 ? erfc(-value * 0.7071067811865476) / 2
                                   : (value + 300.5) / 1000;
            }
            if (kind < 4)
                expect_spread(at);
            else
                expect_even(at, 1000);
            free(x);
        }
    test_close(device);
    test_leaks_none();
}

/* A part of a sequence equals that part of the whole, even if it is written to a view with gaps. */
static void parts_of_a_sequence(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *all = NULL, *part = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(10, 8), &all));
    assert_works(acu_sync(device, acu_fill(all, acu_f32(-1)), NULL));
    assert_works(acu_tensor_slice(all, (const int64_t[]){1, 2}, (const int64_t[]){9, 7}, &part));
    assert_works(acu_sync(device, acu_into(part, acu_randn(ACU_F32, ACU_SHAPE(8, 5), 9, 100)),
                          NULL));
    float *whole = result_of(device, acu_randn(ACU_F32, ACU_SHAPE(200), 9, 0), ACU_F32,
                             ACU_SHAPE(200));
    float have[80];
    assert_works(acu_read_sync(all, have, sizeof have));
    for (int i = 0; i < 80; i++) {
        int row = i / 8 - 1, column = i % 8 - 2;
        bool in = row >= 0 && row < 8 && column >= 0 && column < 5;
        assert_true(have[i] == (in ? whole[100 + row * 5 + column] : -1));
    }
    free(whole);
    acu_tensor_release(part);
    acu_tensor_release(all);
    test_close(device);
    test_leaks_none();
}

/* ---- offsets in tensors ---------------------------------------------------------------------- */

enum { DRAWN = 37, DRAWS = 10 };

/* One op of each kind; consumes the offset. */
static acu_op *draw(int kind, acu_op *offset)
{
    const acu_shape shape = ACU_SHAPE(DRAWN);
    switch (kind) {
    case 0: return acu_rand(ACU_F16, shape, 7, offset);
    case 1: return acu_randn(ACU_F64, shape, 7, offset);
    case 2: return acu_randint(ACU_U8, shape, 3, 200, 7, offset);
    case 3: return acu_normal(ACU_F32, shape, 1, 2, 7, offset);
    case 4: return acu_lognormal(ACU_F32, shape, 1, 2, 7, offset);
    case 5: return acu_exponential(ACU_F32, shape, 2, 7, offset);
    case 6: return acu_bernoulli(shape, 0.5, 7, offset);
    case 7: return acu_poisson(shape, 30, 7, offset);
    case 8: return acu_categorical(acu_ones(ACU_F32, ACU_SHAPE(50)), shape, 7, offset);
    default: return acu_permutation(DRAWN, 7, offset);
    }
}

static void holds(acu_tensor *tensor, acu_device *device, acu_op *want)
{
    unsigned char have[DRAWN * 8], bytes[DRAWN * 8];
    acu_tensor *t = NULL;
    size_t size = acu_tensor_bytes(tensor);
    assert_works(acu_sync(device, want, &t));
    assert_works(acu_read_sync(tensor, have, size));
    assert_works(acu_read_sync(t, bytes, size));
    assert_memory_equal(have, bytes, size);
    acu_tensor_release(t);
}

/* Replay r of the graph draws what offset 5 + r DRAWN gives, of whatever distribution. */
static void replays_draw_new_numbers(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *next = NULL;
    acu_graph *graph = NULL;
    acu_op *all[DRAWS + 1];
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(1), acu_i64(5)), &next));
    for (int k = 0; k < DRAWS; k++)
        all[k] = draw(k, acu_value(next));
    all[DRAWS] = acu_into(next, acu_add(next, DRAWN));
    assert_works(acu_graph_load(device, acu_op_zip(all, DRAWS + 1, ACU_SITE), NULL, &graph));
    for (int r = 0; r < 3; r++) {
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        for (int k = 0; k < DRAWS; k++)
            holds(acu_graph_tensor(graph, (size_t)k), device,
                  draw(k, acu_op_number_i64(5 + r * DRAWN, ACU_SITE)));
    }
    /* From a place on, the same again: what is in the tensor says where. */
    assert_works(acu_sync(device, acu_fill(next, acu_i64(5)), NULL));
    assert_works(acu_sync(device, acu_replay(graph), NULL));
    holds(acu_graph_tensor(graph, 0), device, draw(0, acu_op_number_i64(5, ACU_SITE)));
    acu_graph_release(graph);
    acu_tensor_release(next);
    test_close(device);
    test_leaks_none();
}

/* Submissions that cached graphs may serve, at places that are no multiple of a counter's numbers,
 * into a tensor with gaps. */
static void every_submission_draws_new_numbers(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *next = NULL, *out = NULL, *gaps = NULL;
    assert_works(acu_sync(device, acu_full(ACU_RANK_0, acu_i64(0)), &next));
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(DRAWN, 2)), &out));
    assert_works(acu_tensor_select(out, 1, 1, &gaps));
    for (int r = 0; r < 6; r++) {
        acu_op *drawn = acu_into(gaps, acu_rand(ACU_F32, ACU_SHAPE(DRAWN), 7, next));
        acu_op *moved = acu_into(next, acu_add(next, DRAWN));
        assert_works(acu_sync(device, acu_zip(drawn, moved), NULL));
        holds(gaps, device, acu_rand(ACU_F32, ACU_SHAPE(DRAWN), 7, r * DRAWN));
    }
    acu_tensor_release(gaps);
    acu_tensor_release(out);
    acu_tensor_release(next);
    test_close(device);
    test_leaks_none();
}

static void wrong_offsets(void **state)
{
    (void)state;
    acu_device *device = test_open();
    const acu_shape shape = ACU_SHAPE(3);
    assert_fails(acu_sync(device, acu_rand(ACU_F32, shape, 0, acu_zeros(ACU_I32, ACU_SHAPE(1))),
                          NULL), ACU_ERR_INVALID, "the offset is i32 [1]");
    assert_fails(acu_sync(device, acu_rand(ACU_F32, shape, 0, acu_zeros(ACU_I64, ACU_SHAPE(2))),
                          NULL), ACU_ERR_INVALID, "i64 [2]");
    assert_fails(acu_sync(device, acu_rand(ACU_F32, shape, 0, 0.5), NULL), ACU_ERR_INVALID,
                 "the offset is a scalar of f64");
    assert_fails(acu_sync(device, acu_rand(ACU_F32, shape, 0, UINT64_MAX), NULL), ACU_ERR_INVALID,
                 "the offset is a scalar of u64");
    assert_fails(acu_sync(device, acu_rand(ACU_F32, shape, 0, (acu_op *)NULL), NULL),
                 ACU_ERR_INVALID, "NULL");
    /* Refused before the offset is looked at, which goes with it. */
    acu_op *offset = acu_zeros(ACU_I64, ACU_SHAPE(1));
    assert_fails(acu_sync(device, acu_uniform(ACU_F32, shape, 1, 0, 0, offset), NULL),
                 ACU_ERR_INVALID, "uniform from 1 to 0");
    offset = acu_zeros(ACU_I64, ACU_SHAPE(1));
    assert_fails(acu_sync(device, acu_randint(ACU_I32, shape, 5, 5, 0, offset), NULL),
                 ACU_ERR_INVALID, "from 5 to before 5");
    offset = acu_zeros(ACU_I64, ACU_SHAPE(1));
    assert_fails(acu_sync(device, acu_permutation(-1, 0, offset), NULL), ACU_ERR_SHAPE,
                 "permutation of -1");
    offset = acu_zeros(ACU_I64, ACU_SHAPE(1));
    assert_fails(acu_sync(device, acu_rand(ACU_F32, ACU_SHAPE(-1), 0, offset), NULL),
                 ACU_ERR_SHAPE, "[-1]");
    test_close(device);
    test_leaks_none();
}

static void integers_and_refusals(void **state)
{
    (void)state;
    acu_device *device = test_open();
    int8_t *dice = result_of(device, acu_randint(ACU_I8, ACU_SHAPE(6000), -2, 4, 1, 0), ACU_I8,
                             ACU_SHAPE(6000));
    int seen[6] = {0};
    for (int i = 0; i < 6000; i++) {
        assert_in_range(dice[i] + 2, 0, 5);
        seen[dice[i] + 2]++;
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 880, 1120);
    free(dice);
    assert_fails(acu_sync(device, acu_rand(ACU_I32, ACU_SHAPE(3), 0, 0), NULL), ACU_ERR_DTYPE,
                 "rand of i32");
    assert_fails(acu_sync(device, acu_randint(ACU_F32, ACU_SHAPE(3), 0, 1, 0, 0), NULL),
                 ACU_ERR_DTYPE, "f32");
    assert_fails(acu_sync(device, acu_randint(ACU_I32, ACU_SHAPE(3), 5, 5, 0, 0), NULL),
                 ACU_ERR_INVALID, "from 5 to before 5");
    /* Numbers that the dtype does not hold would become others, and make the distribution
     * uneven. */
    const struct {
        acu_dtype dtype;
        int64_t low, high;
        bool fits;
    } ranges[] = {
        {ACU_U8, 0, 256, true},   {ACU_U8, 0, 257, false},         {ACU_U8, -1, 2, false},
        {ACU_I8, -128, 128, true}, {ACU_I8, -129, 0, false},       {ACU_I8, 0, 129, false},
        {ACU_BOOL, 0, 2, true},   {ACU_BOOL, 0, 3, false},         {ACU_U64, -1, 2, false},
        {ACU_U64, 0, INT64_MAX, true}, {ACU_I64, INT64_MIN, INT64_MAX, true},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        acu_op *op = acu_randint(ranges[i].dtype, ACU_SHAPE(3), ranges[i].low, ranges[i].high, 0,
                                 0);
        if (ranges[i].fits)
            assert_int_equal(acu_sync(device, op, NULL), ACU_OK);
        else
            assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID,
                         acu_dtype_name(ranges[i].dtype));
    }
    assert_fails(acu_sync(device, acu_rand(ACU_F32, ACU_SHAPE(3, -1), 0, 0), NULL), ACU_ERR_SHAPE,
                 "[3, -1]");
    assert_fails(acu_sync(device, acu_randn(ACU_F32, ACU_SHAPE(3), 0, -1), NULL), ACU_ERR_INVALID,
                 "number -1 on; a sequence goes from number 0");
    assert_fails(acu_sync(device, acu_rand(ACU_F32, ACU_SHAPE(3), 0, INT64_MAX - 2), NULL),
                 ACU_ERR_INVALID,
                 "3 elements from number 9223372036854775805 on; a sequence goes from number 0 to "
                 "9223372036854775806");
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),   cmocka_unit_test(every_number),
        cmocka_unit_test(normal_numbers),      cmocka_unit_test(parts_of_a_sequence),
        cmocka_unit_test(distributions),       cmocka_unit_test(integers_and_refusals),
        cmocka_unit_test(replays_draw_new_numbers),
        cmocka_unit_test(every_submission_draws_new_numbers),
        cmocka_unit_test(wrong_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
