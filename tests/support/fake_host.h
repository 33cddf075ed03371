/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How libraries that pose as a vendor's reach memory of the software device, as their kernels
 * would. */
#ifndef ACUDA_TESTS_FAKE_HOST_H
#define ACUDA_TESTS_FAKE_HOST_H

#include "driver/memory.h"

/* The library may write the whole allocation from then on, which counts as written. */
static inline char *test_fake_host(uint64_t address)
{
    const sd_location at = sd_locate(address, 0);
    if (at.place == SD_PLACE_DEVICE)
        sd_memory_written(at.base, 0, at.size);
    return sd_host_pointer(address);
}

/* The library only reads there. */
static inline char *test_fake_read(uint64_t address)
{
    return sd_host_pointer(address);
}

#endif
