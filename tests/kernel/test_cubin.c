/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Machine code: loaded from memory and from files, launched, and refused where it is for another
 * device, cut off or something else. The software device executes PTX only, and says so. Fat
 * binaries, made here by hand and by the toolkit: of these it takes the PTX.
 */
#include "kernel/cubins.h"
#include "kernel/fatbins.h"
#include "kernel/kernels_ptx.h"
#include "support/one_device.h"

#include <stdio.h>
#include <unistd.h>

typedef struct cubin {
    const void *data;
    size_t bytes;
    const char *sm;
} cubin;

static const cubin prebuilt[] = {{set_sm_80, sizeof set_sm_80, "sm_80"},
                                 {set_sm_90, sizeof set_sm_90, "sm_90"}};

/* Which of them the device can run: one for its major version; -1: none. */
static int fitting(void)
{
    switch (acu_device_info_of(device)->compute_major) {
    case 8:
        return 0;
    case 9:
        return 1;
    default:
        return -1;
    }
}

/* set: every thread writes the argument to its element. */
static void launch_from(acu_module *module)
{
    enum { THREADS = 8 };
    float got[THREADS];
    acu_kernel *set;
    acu_tensor *out;
    assert_works(acu_kernel_get(module, "set", &set));
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(THREADS)), &out));
    acu_config eight = ACU_GRID_BLOCK(1, 1, 1, THREADS, 1, 1);
    assert_works(acu_sync(device, acu_launch(set, eight, acu_out(out), acu_f32(2.5f)), NULL));
    assert_works(acu_read_sync(out, got, sizeof got));
    for (int i = 0; i < THREADS; i++)
        assert_true(got[i] == 2.5f);
    if (acu_kernel_info_of(set)->params_known) { /* from CUDA 12.4 on, the driver tells this */
        assert_int_equal(acu_kernel_info_of(set)->param_count, 2);
        assert_int_equal(acu_kernel_param_bytes(set, 0), 8);
        assert_int_equal(acu_kernel_param_bytes(set, 1), 4);
        acu_future *none = NULL;
        assert_fails(acu_submit(device, acu_launch(set, eight, acu_out(out)), NULL, &none),
                     ACU_ERR_ARGUMENTS, "set takes 2 arguments|got 1");
    }
    acu_tensor_release(out);
    acu_kernel_release(set);
}

/* A new file with these bytes; `path` is a template that becomes its name. */
static void write_file(char *path, const void *data, size_t bytes)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, bytes), bytes);
    close(file);
}

static void the_source_runs(void **state)
{
    (void)state;
    acu_module *module = NULL;
    assert_works(acu_module_load(device, ACU_FILE(NULL, "tests/kernel/set.ptx"), &module));
    launch_from(module);
    acu_module_release(module);
}

static void compiled_before(void **state)
{
    (void)state;
    if (!test_on_gpu() || fitting() < 0)
        skip();
    const cubin *mine = &prebuilt[fitting()];
    acu_module *module = NULL;
    assert_works(
        acu_module_load(device, ACU_IMAGE("from memory", mine->data, mine->bytes), &module));
    launch_from(module);
    acu_module_release(module);
    char path[] = "/tmp/acuda-test-XXXXXX";
    write_file(path, mine->data, mine->bytes);
    assert_works(acu_module_load(device, ACU_FILE("from a file", path), &module));
    unlink(path);
    launch_from(module);
    acu_module_release(module);
}

static void for_another_device(void **state)
{
    (void)state;
    acu_module *module = NULL;
    for (int i = 0; i < 2; i++) {
        const cubin *c = &prebuilt[i];
        char words[64];
        snprintf(words, sizeof words, "a kernel: |NO_BINARY_FOR_GPU|%s", c->sm);
        if (!test_on_gpu())
            assert_fails(acu_module_load(device, ACU_IMAGE("a kernel", c->data, c->bytes), &module),
                         ACU_ERR_PTX, "a kernel: |NO_BINARY_FOR_GPU|cubin|executes PTX");
        else if (i != fitting())
            assert_fails(acu_module_load(device, ACU_IMAGE("a kernel", c->data, c->bytes), &module),
                         ACU_ERR_PTX, words);
    }
    assert_null(module);
}

static void refused(const unsigned char *data, size_t bytes, const char *words)
{
    acu_module *module = NULL;
    unsigned char *exact = malloc(bytes); /* a sanitizer notices reads behind it */
    memcpy(exact, data, bytes);
    assert_fails(acu_module_load(device, ACU_IMAGE("it", exact, bytes), &module), ACU_ERR_PTX,
                 words);
    assert_null(module);
    free(exact);
}

/* None of these reaches the driver. */
static void damaged(void **state)
{
    (void)state;
    enum { SECTIONS = 40, MACHINE = 18, SECTION_COUNT = 60 }; /* offsets in the header */
    unsigned char copy[sizeof set_sm_90];
    const size_t bytes = sizeof copy;
    for (size_t cut = 4; cut < bytes; cut++) /* in the last table as well */
        refused(set_sm_90, cut, "it is a cubin that was cut off");
    memcpy(copy, set_sm_90, bytes);
    copy[MACHINE] = 62;
    refused(copy, bytes, "it is an ELF file, but no cubin");
    memcpy(copy, set_sm_90, bytes);
    copy[SECTIONS + 6] = 1;
    refused(copy, bytes, "cut off, or is damaged");
    memcpy(copy, set_sm_90, bytes);
    copy[SECTION_COUNT + 1] = 1;
    refused(copy, bytes, "cut off, or is damaged");
    unsigned char fat[32] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 17};
    refused(fat, sizeof fat, "it is a fat binary that was cut off");
    refused(fat, 15, "it is a fat binary that was cut off");
    char path[] = "/tmp/acuda-test-XXXXXX";
    acu_module *module = NULL;
    write_file(path, set_sm_90, bytes / 2);
    assert_fails(acu_module_load(device, ACU_FILE(NULL, path), &module), ACU_ERR_PTX,
                 "/tmp/acuda-test-|cubin that was cut off");
    unlink(path);
}

/* The PTX as machine code, by the driver's own linker; none on a software device. */
static bool make_cubin(CUlinkState *link, void **code, size_t *bytes)
{
    const acu_driver_table *cu = acu_driver();
    test_enter(device);
    bool made = cu->LinkCreate(0, NULL, NULL, link) == ACU_CUDA_SUCCESS;
    if (made) {
        void *ptx = (void *)(uintptr_t)kernels_ptx;
        assert_int_equal(cu->LinkAddData(*link, ACU_CU_JIT_INPUT_PTX, ptx,
                                         sizeof kernels_ptx, "kernels", 0, NULL, NULL), 0);
        assert_int_equal(cu->LinkComplete(*link, code, bytes), 0);
    }
    test_leave(device);
    return made;
}

static void linked_by_the_driver(void **state)
{
    (void)state;
    CUlinkState link = NULL;
    void *code = NULL;
    size_t bytes = 0;
    if (!make_cubin(&link, &code, &bytes))
        skip();
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    assert_works(acu_module_load(device, ACU_IMAGE("cubin", code, bytes), &module));
    assert_fails(acu_kernel_get(module, "no", &kernel), ACU_ERR_NOT_FOUND, "module cubin|\"no\"");
    assert_works(acu_kernel_find(device, "cubin", "tiled", &kernel));
    if (acu_driver_has(ACU_CALL_FuncGetParamInfo)) {
        assert_true(acu_kernel_info_of(kernel)->params_known);
        assert_int_equal(acu_kernel_info_of(kernel)->param_count, 3);
        assert_int_equal(acu_kernel_param_bytes(kernel, 0), 112);
        assert_fails(acu_kernel_declare(kernel, "any"), ACU_ERR_ARGUMENTS, "has 3");
    } else {
        assert_false(acu_kernel_info_of(kernel)->params_known);
        assert_works(acu_kernel_declare(kernel, "tile f32, in f32, u8"));
        assert_int_equal(acu_kernel_info_of(kernel)->param_count, 3);
        assert_fails(acu_kernel_declare(kernel, "any"), ACU_ERR_ARGUMENTS, "has 3");
    }
    acu_kernel_release(kernel);
    launch_from(module);
    acu_module_release(module);
    test_enter(device);
    acu_driver()->LinkDestroy(link);
    test_leave(device);
}

/* ---- fat binaries ---- */

enum { FAT_HEADER = 16, ENTRY = 64, PTX = 1, ELF = 2 };

typedef struct fatbin {
    unsigned char data[8192];
    size_t bytes;
} fatbin;

static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes); /* little-endian, as the container */
}

static fatbin fat_start(void)
{
    fatbin fat = {.bytes = FAT_HEADER};
    put(fat.data, 0xba55ed50u, 4);
    put(fat.data + 4, 1, 2);
    put(fat.data + 6, FAT_HEADER, 2);
    return fat;
}

/* One more entry; `version` is of PTX, or of the format of machine code. */
static void fat_add(fatbin *fat, unsigned kind, unsigned arch, unsigned major, unsigned minor,
                    const void *payload, size_t bytes)
{
    enum { LINUX_64 = 0x11, OPTIONS = 16 }; /* flags; bytes of the compiler's options: none, here */
    unsigned char *entry = fat->data + fat->bytes;
    size_t header = ENTRY + (kind == PTX ? OPTIONS : 0), padded = (bytes + 7) / 8 * 8;
    assert_true(fat->bytes + header + padded <= sizeof fat->data);
    put(entry, kind, 2);
    put(entry + 2, 0x0101, 2);
    put(entry + 4, header, 4);
    put(entry + 8, padded, 8);
    put(entry + 20, kind == PTX ? ENTRY : 0, 4);
    put(entry + 24, minor, 2);
    put(entry + 26, major, 2);
    put(entry + 28, arch, 4);
    put(entry + 40, LINUX_64, 8);
    if (kind == PTX)
        put(entry + ENTRY, ENTRY + 8, 8);
    memcpy(entry + header, payload, bytes);
    fat->bytes += header + padded;
    put(fat->data + 8, fat->bytes - FAT_HEADER, 8);
}

/* The PTX in the fat binary that the toolkit made. */
static const char *plain_text(void)
{
    return (const char *)set_plain + FAT_HEADER + ENTRY + 16;
}

static void fat_add_ptx(fatbin *fat)
{
    fat_add(fat, PTX, 75, 6, 3, plain_text(), strlen(plain_text()) + 1);
}

static void made_as_the_toolkit_does(void **state)
{
    (void)state;
    fatbin fat = fat_start();
    fat_add_ptx(&fat);
    assert_int_equal(fat.bytes, sizeof set_plain);
    assert_memory_equal(fat.data, set_plain, fat.bytes);
}

static void load_fat(const void *data, size_t bytes)
{
    acu_module *module = NULL;
    unsigned char *exact = malloc(bytes);
    memcpy(exact, data, bytes);
    assert_works(acu_module_load(device, ACU_IMAGE(NULL, exact, bytes), &module));
    free(exact);
    launch_from(module);
    acu_module_release(module);
}

static void fat_binaries_are_loaded(void **state)
{
    (void)state;
    fatbin fat = fat_start();
    load_fat(set_plain, sizeof set_plain);
    load_fat(set_lz4, sizeof set_lz4);
    fat_add(&fat, ELF, 80, 1, 7, set_sm_80, sizeof set_sm_80);
    fat_add_ptx(&fat);
    fat_add(&fat, ELF, 90, 1, 7, set_sm_90, sizeof set_sm_90);
    load_fat(fat.data, fat.bytes);
    char path[] = "/tmp/acuda-test-XXXXXX";
    acu_module *module = NULL;
    write_file(path, fat.data, fat.bytes);
    assert_works(acu_module_load(device, ACU_FILE("from a file", path), &module));
    unlink(path);
    launch_from(module);
    acu_module_release(module);
}

/* An older driver does not know it either. */
static void what_is_compressed_with_zstd(void **state)
{
    (void)state;
    acu_module *module = NULL;
    acu_status st = acu_module_load(device, ACU_IMAGE("it", set_zstd, sizeof set_zstd), &module);
    if (!test_on_gpu())
        assert_fails(st, ACU_ERR_PTX, "it: |compressed with zstd|--compress=false");
    else if (st != ACU_OK)
        assert_int_equal(st, ACU_ERR_PTX);
    else
        launch_from(module);
    acu_module_release(module);
}

static void machine_code_in_fat_binaries(void **state)
{
    (void)state;
    fatbin fat = fat_start();
    acu_module *module = NULL;
    fat_add(&fat, ELF, 80, 1, 7, set_sm_80, sizeof set_sm_80);
    fat_add(&fat, ELF, 90, 1, 7, set_sm_90, sizeof set_sm_90);
    if (test_on_gpu() && fitting() >= 0)
        load_fat(fat.data, fat.bytes);
    else
        assert_fails(acu_module_load(device, ACU_IMAGE("it", fat.data, fat.bytes), &module),
                     ACU_ERR_PTX,
                     test_on_gpu() ? "it: |NO_BINARY_FOR_GPU" : "it: |(sm_80, sm_90)|no PTX");
    assert_null(module);
}

static void damaged_fat_binaries(void **state)
{
    (void)state;
    for (size_t cut = 4; cut < sizeof set_plain; cut++)
        refused(set_plain, cut, "it is a fat binary that was cut off");
    unsigned char copy[sizeof set_plain];
    static const struct {
        size_t at;
        unsigned char value;
    } faults[] = {{6, 8},
                  {8, 1},
                  {9, 1},
                  {FAT_HEADER + 4, 63},
                  {FAT_HEADER + 6, 1},
                  {FAT_HEADER + 8, 0},
                  {FAT_HEADER + 15, 0xff}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        memcpy(copy, set_plain, sizeof copy);
        copy[faults[i].at] = faults[i].value;
        refused(copy, sizeof copy, "it is a fat binary that was cut off, or is damaged");
    }
    if (test_on_gpu())
        return;
    for (size_t at = FAT_HEADER + ENTRY + 16; at < sizeof set_lz4; at++) { /* never out of bounds */
        acu_module *module = NULL;
        unsigned char packed[sizeof set_lz4];
        memcpy(packed, set_lz4, sizeof packed);
        packed[at] ^= 0xff;
        if (acu_module_load(device, ACU_IMAGE(NULL, packed, sizeof packed), &module) == ACU_OK)
            acu_module_release(module);
    }
}

/* In a compiled program a wrapper points to the fat binary; it contains an address. */
static void wrappers_of_fat_binaries(void **state)
{
    (void)state;
    enum { BYTES = 24 };
    unsigned char wrapper[BYTES + 1] = {0xb1, 0x43, 0x62, 0x46, 1};
    for (size_t bytes = 4; bytes <= BYTES; bytes++)
        refused(wrapper, bytes, "it is the wrapper of a fat binary");
    memset(wrapper + 4, 'x', BYTES - 4); /* without a zero, as in text */
    refused(wrapper, BYTES, "it is the wrapper of a fat binary");
    if (test_on_gpu())
        return;
    CUmodule module; /* refused by the driver too, if it can tell */
    test_enter(device);
    assert_int_not_equal(acu_driver()->ModuleLoadData(&module, wrapper), 0);
    test_leave(device);
}

/* A library that the driver loaded is wrapped as a module. */
static void libraries_of_fat_binaries(void **state)
{
    (void)state;
    const acu_driver_table *cu = acu_driver();
    if (!acu_driver_has(ACU_CALL_LibraryLoadData))
        skip();
    CUlibrary library = NULL;
    acu_module *module = NULL;
    test_enter(device);
    assert_int_equal(cu->LibraryLoadData(&library, set_plain, NULL, NULL, 0, NULL, NULL, 0), 0);
    test_leave(device);
    acu_module_source theirs = {.size = sizeof theirs, .library = library};
    assert_works(acu_module_load(device, &theirs, &module));
    launch_from(module);
    acu_module_release(module);
    test_enter(device);
    assert_int_equal(cu->LibraryUnload(library), 0);
    test_leave(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(the_source_runs),
        DEVICE_TEST(compiled_before),
        DEVICE_TEST(for_another_device),
        DEVICE_TEST(damaged),
        DEVICE_TEST(linked_by_the_driver),
        DEVICE_TEST(made_as_the_toolkit_does),
        DEVICE_TEST(fat_binaries_are_loaded),
        DEVICE_TEST(what_is_compressed_with_zstd),
        DEVICE_TEST(machine_code_in_fat_binaries),
        DEVICE_TEST(damaged_fat_binaries),
        DEVICE_TEST(wrappers_of_fat_binaries),
        DEVICE_TEST(libraries_of_fat_binaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
