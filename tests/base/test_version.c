/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The version of the library is that of its headers. */
#include "support/support.h"

static void the_library_has_the_version_of_its_headers(void **state)
{
    (void)state;
    assert_int_equal(acu_version(), ACU_VERSION);
    assert_int_equal(ACU_VERSION / 10000, ACU_VERSION_MAJOR);
    assert_int_equal(ACU_VERSION / 100 % 100, ACU_VERSION_MINOR);
    assert_int_equal(ACU_VERSION % 100, ACU_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_has_the_version_of_its_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
