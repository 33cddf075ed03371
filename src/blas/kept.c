/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What cuBLASLt chose, on disk, beside compiled code and by the same rules (kernel/disk.c): only in
 * a folder that the program or its user names, and that nobody else can write to. The key has all
 * that the choice depends on: the product, the library's version, the device.
 */
#include "blas/cublaslt.h"
#include "kernel/request.h"

#include <string.h>

static void put_key(acui_bytes *to, const acu_device *device, const acui_lt_key *key)
{
    const acu_device_info *info = &device->info;
    acui_bytes_put_text(to, "cuBLASLt");
    acui_bytes_put_number(to, (uint64_t)acui_library_CUBLASLT.version);
    acui_bytes_put_text(to, info->name);
    acui_bytes_put_number(to, (uint64_t)info->multiprocessors);
    acui_bytes_put(to, key, sizeof *key);
}

bool acui_lt_kept(const acu_device *device, const acui_lt_key *key, void *choice, size_t bytes)
{
    acui_bytes name = {0}, found = {0};
    put_key(&name, device, key);
    bool there = !name.failed && acui_disk_get(&name, &found) && found.count == bytes;
    if (there)
        memcpy(choice, found.data, bytes);
    acui_bytes_free(&found);
    acui_bytes_free(&name);
    return there;
}

void acui_lt_keep(const acu_device *device, const acui_lt_key *key, const void *choice,
                  size_t bytes)
{
    acui_bytes name = {0};
    put_key(&name, device, key);
    if (!name.failed)
        acui_disk_put("a choice of cuBLASLt", &name, choice, bytes);
    acui_bytes_free(&name);
}
