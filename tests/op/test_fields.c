/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Structs with tensors in them as arguments of launches: acu_arg_fields. */
#include "support/one_device.h"

extern const char test_fields_ptx[];

enum { N = 100 };

typedef struct params {
    int factor;
    const int *x; /* filled in by acuda */
    int n;
    int *y;
    char unused[3];
} params;

static acu_module *module;
static acu_kernel *scale_add;

static int setup(void **state)
{
    device_setup(state);
    module = test_load_ptx(device, NULL, test_fields_ptx);
    assert_works(acu_kernel_get(module, "scale_add", &scale_add));
    return 0;
}

static int teardown(void **state)
{
    acu_kernel_release(scale_add);
    acu_module_release(module);
    return device_teardown(state);
}

static acu_tensor *filled(int value)
{
    acu_tensor *t = NULL;
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(N), acu_i32(value)), &t));
    return t;
}

static const acu_config config = {.grid = {4}, .block = {32}};

/* y = factor * y + x + summand */
static acu_op *launch(int factor, acu_tensor *x, acu_tensor *y, int summand)
{
    params p = {.factor = factor, .n = N};
    acu_field fields[] = {{offsetof(params, x), x, ACU_READ}, {offsetof(params, y), y, ACU_UPDATE}};
    acu_struct with = {
        .size = sizeof(acu_struct), .memory = &p, .bytes = sizeof p, .fields = fields, .count = 2};
    return acu_launch(scale_add, config, acu_arg_fields(&with), acu_i32(summand));
}

static void check(acu_tensor *t, int want)
{
    int got[N];
    assert_works(acu_read_sync(t, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], want);
}

static void tensors_in_a_struct_are_ordered_and_kept(void **state)
{
    (void)state;
    acu_tensor *x = filled(1), *y = filled(2), *z = filled(3);
    acu_op *first = launch(2, x, y, 10), *second = launch(3, y, z, 0);
    assert_works(acu_submit(device, first, NULL, NULL)); /* y = 15 */
    acu_tensor_release(x);
    assert_works(acu_submit(device, second, NULL, NULL)); /* z = 24 */
    acu_tensor_release(y);
    check(z, 24);
    acu_tensor_release(z);
}

/* On two streams, one behind the other for the data alone, any number of times. */
static void streams_wait_for_what_is_in_structs(void **state)
{
    (void)state;
    acu_stream *streams[2];
    acu_tensor *x = filled(1), *y = filled(0);
    for (int i = 0; i < 2; i++)
        assert_works(acu_stream_create(device, 0, &streams[i]));
    int want = 0;
    for (int i = 0; i < 40; i++) {
        acu_submit_options on = {.size = sizeof on, .stream = streams[i % 2]};
        assert_works(acu_submit(device, launch(i % 3, x, y, i), &on, NULL));
        want = want * (i % 3) + 1 + i;
    }
    check(y, want);
    for (int i = 0; i < 2; i++)
        acu_stream_release(streams[i]);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

/* One form, each time with other tensors, so that cached graphs are set to them. */
static void forms_take_other_tensors(void **state)
{
    (void)state;
    acu_tensor *x[6], *y[6];
    for (int i = 0; i < 6; i++) {
        x[i] = filled(i);
        y[i] = filled(1);
    }
    for (int i = 0; i < 6; i++) {
        acu_op *chain[] = {launch(1, x[i], y[i], 0), launch(2, x[5 - i], y[i], 1),
                           launch(3, x[i], y[i], 2), launch(1, y[i], y[i], 0)};
        assert_works(acu_submit(device, acu_op_zip(chain, 4, ACU_SITE), NULL, NULL));
    }
    for (int i = 0; i < 6; i++) {
        int want = 3 * (2 * (1 + i) + 5 - i + 1) + i + 2;
        check(y[i], 2 * want);
        acu_tensor_release(x[i]);
        acu_tensor_release(y[i]);
    }
}

static void a_graph_replays_them(void **state)
{
    (void)state;
    acu_tensor *x = filled(1), *y = filled(0);
    acu_graph *graph = NULL;
    acu_op *both[] = {launch(2, x, y, 0), launch(1, x, y, 3)};
    assert_works(acu_graph_load(device, acu_op_zip(both, 2, ACU_SITE), NULL, &graph));
    acu_tensor_release(x); /* the graph keeps it */
    for (int i = 0; i < 3; i++)
        assert_works(acu_submit(device, acu_replay(graph), NULL, NULL));
    check(y, 5 * (1 + 2 + 4));
    acu_graph_release(graph);
    acu_tensor_release(y);
}

/* The tensor's memory is allocated when the submission that makes it is issued. */
static void memory_may_still_be_to_come(void **state)
{
    (void)state;
    acu_future *future = NULL;
    acu_tensor *x = NULL, *y = filled(4);
    assert_works(acu_submit(device, acu_full(ACU_SHAPE(N), acu_i32(5)), NULL, &future));
    assert_works(acu_future_take(future, 0, &x));
    assert_works(acu_submit(device, launch(1, x, y, 0), NULL, NULL));
    check(y, 9);
    acu_future_release(future);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

static void wrong_fields_are_refused(void **state)
{
    (void)state;
    acu_tensor *x = filled(1), *y = filled(2);
    params p = {.n = N};
    const struct {
        acu_field fields[2];
        acu_status status;
        const char *words;
    } wrong[] = {
        {{{4, x, ACU_READ}, {24, y, ACU_UPDATE}}, ACU_ERR_ARGUMENTS,
         "field 0 of argument 0: a struct of 40 bytes can not hold an address at byte 4"},
        {{{8, x, ACU_READ}, {40, y, ACU_UPDATE}}, ACU_ERR_ARGUMENTS, "field 1|address at byte 40"},
        {{{8, x, ACU_READ}, {SIZE_MAX - 7, y, ACU_UPDATE}}, ACU_ERR_ARGUMENTS, "field 1"},
        {{{8, x, ACU_READ}, {8, y, ACU_UPDATE}}, ACU_ERR_ARGUMENTS, "fields 0 and 1|one place, 8"},
        {{{8, x, (acu_access)0}, {24, y, ACU_UPDATE}}, ACU_ERR_INVALID, "field 0|0 is no access"},
        {{{8, NULL, ACU_READ}, {24, y, ACU_UPDATE}}, ACU_ERR_INVALID, "a field of a struct"},
        {{{8, y, ACU_WRITE}, {24, y, ACU_UPDATE}}, ACU_ERR_SHARED,
         "fields 0 and 1 of argument 0 write the same memory"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        acu_struct with = {.size = sizeof(acu_struct),
                           .memory = &p,
                           .bytes = sizeof p,
                           .fields = wrong[i].fields,
                           .count = 2};
        assert_fails(
            acu_sync(device, acu_launch(scale_add, config, acu_arg_fields(&with), acu_i32(0)),
                     NULL),
            wrong[i].status, wrong[i].words);
    }
    acu_tensor_release(x);
    acu_tensor_release(y);
}

#define STRUCT(address, size_of_it, list, number)                                                  \
    {.size = sizeof(acu_struct), .memory = (address), .bytes = (size_of_it), .fields = (list),     \
     .count = (number)}

static void wrong_structs_are_refused(void **state)
{
    (void)state;
    acu_tensor *x = filled(1);
    params p = {.n = N};
    acu_field fields[] = {{8, x, ACU_READ}};
    const struct {
        acu_struct with;
        const char *words;
    } bad[] = {
        {STRUCT(NULL, sizeof p, fields, 1), "1 to 4096 bytes, not 40, and an address"},
        {STRUCT(&p, 0, fields, 1), "1 to 4096 bytes, not 0"},
        {STRUCT(&p, 5000, fields, 1), "1 to 4096 bytes, not 5000"},
        {STRUCT(&p, sizeof p, NULL, 1), "up to 512 fields, not 1"},
        {STRUCT(&p, sizeof p, fields, 513), "up to 512 fields, not 513"},
        {STRUCT(&p, 32, fields, 1), "argument 0 of scale_add is a struct, 32 bytes; the kernel's"},
        {{.size = sizeof(acu_struct), .memory = &p, .bytes = sizeof p, .fields = fields, .count = 1,
          .stride = 8},
         "a stride of 8 bytes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(
            acu_sync(device,
                     acu_launch(scale_add, config, acu_arg_fields(&bad[i].with), acu_i32(0)), NULL),
            ACU_ERR_ARGUMENTS, bad[i].words);
    assert_fails(acu_sync(device, acu_launch(scale_add, config, acu_arg_fields(NULL), acu_i32(0)),
                          NULL),
                 ACU_ERR_ARGUMENTS, "not 0, and an address");
    acu_config newer = config;
    newer.reserved[3] = 1;
    acu_field one[] = {{offsetof(params, x), x, ACU_READ}};
    acu_struct good = STRUCT(&p, sizeof p, one, 1);
    assert_fails(acu_sync(device,
                          acu_launch(scale_add, newer, acu_arg_fields(&good), acu_i32(0)), NULL),
                 ACU_ERR_NOT_SUPPORTED, "config");
    acu_struct no_size = {.memory = &p, .bytes = sizeof p};
    acu_op *op = acu_launch(scale_add, config, acu_arg_fields(&no_size), acu_i32(0));
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID, "acu_arg_fields|size");
    acu_tensor_release(x);
}

/* A later version's fields are larger: the stride says so. */
static void fields_may_be_further_apart(void **state)
{
    (void)state;
    acu_tensor *x = filled(3), *y = filled(4);
    params p = {.factor = 2, .n = N};
    struct {
        acu_field field;
        uint64_t more;
    } fields[] = {{{offsetof(params, x), x, ACU_READ}, 7},
                  {{offsetof(params, y), y, ACU_UPDATE}, 8}};
    acu_struct with = STRUCT(&p, sizeof p, &fields[0].field, 2);
    with.stride = sizeof fields[0];
    assert_works(acu_sync(device, acu_launch(scale_add, config, acu_arg_fields(&with), acu_i32(1)),
                          NULL));
    check(y, 2 * 4 + 3 + 1);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

static acu_status no_call(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static void only_launches_take_them(void **state)
{
    (void)state;
    int number = 0;
    acu_struct with = {.size = sizeof(acu_struct),
                       .memory = &number,
                       .bytes = sizeof number,
                       .fields = NULL,
                       .count = 0};
    assert_fails(acu_sync(device, acu_host(no_call, NULL, acu_arg_fields(&with)), NULL),
                 ACU_ERR_ARGUMENTS, "a struct with tensors in it is for launches");
}

/* Each allocation of it fails in turn: nothing is left over. */
static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    acu_tensor *x = filled(1), *y = filled(0);
    acu_status status = ACU_ERR_NO_MEMORY;
    for (int i = 1; status == ACU_ERR_NO_MEMORY; i++) {
        acu_debug_fail_alloc((uint64_t)i, false);
        status = acu_sync(device, launch(0, x, y, 1), NULL);
        acu_debug_fail_alloc(0, false);
    }
    assert_int_equal(status, ACU_OK);
    check(y, 2);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(tensors_in_a_struct_are_ordered_and_kept),
        TEST(streams_wait_for_what_is_in_structs),
        TEST(forms_take_other_tensors),
        TEST(a_graph_replays_them),
        TEST(memory_may_still_be_to_come),
        TEST(wrong_fields_are_refused),
        TEST(wrong_structs_are_refused),
        TEST(fields_may_be_further_apart),
        TEST(only_launches_take_them),
        TEST(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
