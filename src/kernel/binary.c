/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Machine code as compilers write it. The driver gets an address and no size, so an image that was
 * cut off must not reach it: it would read past the end. All numbers are little-endian, as are all
 * hosts of the driver.
 */
#include "kernel/binary.h"

#include "base/error.h"

#include <string.h>

#define ELF_MAGIC "\x7f" "ELF"
#define FATBIN_MAGIC "\x50\xed\x55\xba"
#define WRAPPER_MAGIC "\xb1\x43\x62\x46" /* what points to a fat binary in a compiled program */

enum {
    ELF_HEADER = 64, /* bytes */
    ELF_64_BIT = 2,
    ELF_CUDA = 190, /* the machine number */
    SECTION_ENTRY = 64,
    SECTION_WITHOUT_BYTES = 8,
    FATBIN_HEADER = 16,
    FATBIN_ENTRY = 64 /* a header has at least that many */
};

static uint64_t read_at(const void *data, uint64_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)data + offset, bytes);
    return value;
}

static bool begins(const void *data, size_t bytes, const char *magic)
{
    return bytes >= 4 && memcmp(data, magic, 4) == 0;
}

bool acui_is_binary(const void *data, size_t bytes)
{
    return begins(data, bytes, ELF_MAGIC) || begins(data, bytes, FATBIN_MAGIC) ||
           begins(data, bytes, WRAPPER_MAGIC);
}

static bool fits(uint64_t begin, uint64_t size, size_t bytes)
{
    return begin <= bytes && size <= bytes - begin;
}

/* The image holds both header tables, which compilers put at its end one behind the other, and all
 * sections. */
static bool whole_elf(const void *elf, size_t bytes)
{
    uint64_t programs = read_at(elf, 32, 8), sections = read_at(elf, 40, 8);
    uint64_t program_bytes = read_at(elf, 54, 2), program_count = read_at(elf, 56, 2);
    uint64_t section_bytes = read_at(elf, 58, 2), section_count = read_at(elf, 60, 2);
    if (!fits(programs, program_bytes * program_count, bytes) ||
        !fits(sections, section_bytes * section_count, bytes) ||
        (section_count && section_bytes < SECTION_ENTRY))
        return false;
    for (uint64_t i = 0; i < section_count; i++) {
        const char *section = (const char *)elf + sections + i * section_bytes;
        if (read_at(section, 4, 4) != SECTION_WITHOUT_BYTES &&
            !fits(read_at(section, 24, 8), read_at(section, 32, 8), bytes))
            return false;
    }
    return true;
}

/* The image holds all entries; each header says its own size and that of what follows. */
static bool whole_fatbin(const void *fatbin, size_t bytes)
{
    uint64_t at = read_at(fatbin, 6, 2), size = read_at(fatbin, 8, 8);
    if (at < FATBIN_HEADER || !fits(at, size, bytes))
        return false;
    uint64_t end = at + size;
    while (end - at >= FATBIN_ENTRY) {
        uint64_t header = read_at(fatbin, at + 4, 4), payload = read_at(fatbin, at + 8, 8);
        if (header < FATBIN_ENTRY || !fits(header, payload, end - at))
            return false;
        at += header + payload;
    }
    return at == end;
}

acu_status acui_binary_check(const void *data, size_t bytes, const char *what)
{
    bool elf = begins(data, bytes, ELF_MAGIC);
    const char *kind = elf ? "cubin" : "fat binary";
    bool whole = false;
    if (begins(data, bytes, WRAPPER_MAGIC)) /* the driver would follow the pointer in its bytes */
        return acui_fail(ACU_ERR_PTX, "%s is the wrapper of a fat binary in a compiled program, "
                         "and not the fat binary, to which it points", what);
    if (elf && bytes >= ELF_HEADER) {
        if (read_at(data, 4, 1) != ELF_64_BIT || read_at(data, 18, 2) != ELF_CUDA)
            return acui_fail(ACU_ERR_PTX, "%s is an ELF file, but no cubin: its machine code is "
                             "not for a GPU", what);
        whole = whole_elf(data, bytes);
    } else if (!elf && bytes >= FATBIN_HEADER) {
        whole = whole_fatbin(data, bytes);
    }
    if (!whole)
        return acui_fail(ACU_ERR_PTX, "%s is a %s that was cut off, or is damaged", what, kind);
    return ACU_OK;
}

unsigned acui_binary_sm(const void *data)
{
    if (memcmp(data, ELF_MAGIC, 4) != 0)
        return 0;
    uint64_t version = read_at(data, 8, 1), flags = read_at(data, 48, 4);
    switch (version) {
    case 7: /* CUDA 11 and 12 */
        return flags & 0xFF;
    case 8: /* CUDA 13 */
        return flags >> 8 & 0xFF;
    default:
        return 0;
    }
}
