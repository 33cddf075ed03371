/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The values of thousands of addresses are found again, and other addresses have none. */
#include "support/support.h"

#include "base/map.h"

enum { N = 5000 };

static void each_key_has_its_value(void **state)
{
    (void)state;
    static char keys[2 * N];
    acui_map map = {.entries = NULL};
    assert_null(acui_map_find(&map, keys));
    for (size_t i = 0; i < N; i++) {
        assert_true(acui_map_put(&map, &keys[2 * i], &keys[N - i]));
        assert_ptr_equal(acui_map_find(&map, keys), &keys[N]); /* also when it has grown */
    }
    for (size_t i = 0; i < N; i++) {
        assert_ptr_equal(acui_map_find(&map, &keys[2 * i]), &keys[N - i]);
        assert_null(acui_map_find(&map, &keys[2 * i + 1]));
    }
    acui_map_clear(&map);
    assert_null(acui_map_find(&map, keys));
    test_leaks_none();
}

static void without_memory_nothing_is_noted(void **state)
{
    (void)state;
    static char keys[N];
    acui_map map = {.entries = NULL};
    size_t count = 0;
    for (int times = 0; times < 3; times++) {
        acu_debug_fail_alloc(1, true);
        while (count < N && acui_map_put(&map, &keys[count], keys))
            count++;
        acu_debug_fail_alloc(0, false);
        assert_true(count < N);
        assert_null(acui_map_find(&map, &keys[count]));
        for (size_t i = 0; i < count; i++)
            assert_ptr_equal(acui_map_find(&map, &keys[i]), keys);
        assert_true(acui_map_put(&map, &keys[count], keys));
        count++;
    }
    acui_map_clear(&map);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_its_value),
        cmocka_unit_test(without_memory_nothing_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
