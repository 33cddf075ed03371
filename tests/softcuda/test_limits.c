/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Limits of a multiprocessor, by compute capability: as NVIDIA's tables have them. */
#include "softcuda/driver_test.h"

#include "driver/device.h"

static const struct {
    unsigned sm, shared, optin, threads, blocks; /* KiB; of a multiprocessor */
} known[] = {
    {50, 64, 48, 2048, 32},   {52, 96, 48, 2048, 32},    {60, 64, 48, 2048, 32},
    {61, 96, 48, 2048, 32},   {70, 96, 96, 2048, 32},    {75, 64, 64, 1024, 16},
    {80, 164, 163, 2048, 32}, {86, 100, 99, 1536, 16},   {87, 164, 163, 1536, 16},
    {89, 100, 99, 1536, 24},  {90, 228, 227, 2048, 32},  {100, 228, 227, 2048, 32},
    {103, 228, 227, 2048, 32}, {110, 228, 227, 1536, 24}, {120, 100, 99, 1536, 24},
};

static void limits_are_those_of_the_capability(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sd_device device = {.sm = known[i].sm};
        sd_limits limits = sd_device_limits(&device);
        assert_int_equal(limits.shared_static, 48 << 10);
        assert_int_equal(limits.shared_sm, known[i].shared << 10);
        assert_int_equal(limits.shared_optin, known[i].optin << 10);
        assert_int_equal(limits.threads_sm, known[i].threads);
        assert_int_equal(limits.blocks_sm, known[i].blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_the_capability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
