/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Requests to compile: checking them, choosing the compiler, and making the key. The key contains
 * everything that the result depends on; where that is impossible the result is not kept.
 */
#include "kernel/request.h"

#include "base/error.h"
#include "base/options.h"
#include "base/unpack.h"
#include "device/device.h"

#include <pthread.h>
#include <string.h>

#define FORMAT "acuda compile 2"
#define SOFTWARE_ARCH 75 /* what the software device is built and tested for */

/* ---- options ---- */

/* Whether the path stays inside of the folder that it is put into. */
static bool is_inside(const char *name)
{
    if (!name || !*name || *name == '/')
        return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

static acu_status check_list(const char *const *list, size_t count, const char *what,
                             const char *function)
{
    for (size_t i = 0; i < count; i++)
        if (!list || !list[i] || !*list[i]) /* an empty name would make the compiler take the next
                                             * argument for it */
            return acui_fail(ACU_ERR_INVALID, "%s: %s %zu is %s", function, what, i,
                             list && list[i] ? "empty" : "NULL");
    return ACU_OK;
}

static acu_status check_headers(const acu_compile_options *o, const char *function)
{
    if (o->header_stride &&
        (o->header_stride < sizeof(acu_header) || o->header_stride % _Alignof(acu_header)))
        return acui_fail(ACU_ERR_INVALID,
                         "%s: a stride of %zu bytes is none of acu_header's, which has %zu",
                         function, o->header_stride, sizeof(acu_header));
    for (size_t i = 0; i < o->header_count; i++) {
        if (!o->headers || !acui_header_at(o, i)->text)
            return acui_fail(ACU_ERR_INVALID, "%s: header %zu has no text", function, i);
        if (!is_inside(acui_header_at(o, i)->name))
            return acui_fail(ACU_ERR_INVALID,
                             "%s: header %zu is named \"%s\": give a relative path "
                             "without \"..\"",
                             function, i,
                             acui_header_at(o, i)->name ? acui_header_at(o, i)->name : "");
    }
    return ACU_OK;
}

acu_status acui_compile_options_read(acu_compile_options *o, const acu_compile_options *given,
                                     bool waits, const char *function)
{
    ACUI_TRY(acui_options_read(o, sizeof *o, given, function));
    if (o->compiler > ACU_COMPILER_CLANG)
        return acui_fail(ACU_ERR_INVALID, "%s: there is no compiler %d", function,
                         (int)o->compiler);
    if (o->cplusplus && o->cplusplus != 11 && o->cplusplus != 14 && o->cplusplus != 17 &&
        o->cplusplus != 20)
        return acui_fail(ACU_ERR_INVALID, "%s: C++%u: say 11, 14, 17 or 20", function,
                         o->cplusplus);
    if (o->arch && (o->arch < 50 || o->arch > 999))
        return acui_fail(ACU_ERR_INVALID, "%s: arch %u: say 90 for compute_90", function, o->arch);
    if (!waits && o->log)
        return acui_fail(ACU_ERR_INVALID, "%s: the log goes to memory of the program only while it "
                         "waits; ask acu_module_log", function);
    ACUI_TRY(check_list(o->defines, o->define_count, "define", function));
    ACUI_TRY(check_list(o->include_dirs, o->include_dir_count, "include folder", function));
    ACUI_TRY(check_list(o->arguments, o->argument_count, "argument", function));
    ACUI_TRY(check_list(o->expressions, o->expression_count, "expression", function));
    return check_headers(o, function);
}

/* ---- copies ---- */

static const char *copy_text(acui_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = acui_arena_get(arena, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static bool copy_list(acui_arena *arena, const char *const **list, size_t count)
{
    const char **copy = ACUI_ARENA_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = copy_text(arena, (*list)[i]);
        if (!copy[i])
            return false;
    }
    *list = copy;
    return copy != NULL;
}

bool acui_compile_options_copy(acui_arena *arena, const acu_compile_options *options,
                               acu_compile_options *copy)
{
    *copy = *options;
    acu_header *headers = ACUI_ARENA_ARRAY(arena, acu_header, copy->header_count + 1);
    for (size_t i = 0; headers && i < copy->header_count; i++) {
        headers[i].name = copy_text(arena, acui_header_at(options, i)->name);
        headers[i].text = copy_text(arena, acui_header_at(options, i)->text);
        if (!headers[i].name || !headers[i].text)
            return false;
    }
    copy->headers = headers;
    copy->header_stride = 0;
    return headers && copy_list(arena, &copy->defines, copy->define_count) &&
           copy_list(arena, &copy->include_dirs, copy->include_dir_count) &&
           copy_list(arena, &copy->arguments, copy->argument_count) &&
           copy_list(arena, &copy->expressions, copy->expression_count);
}

/* ---- the library's own headers ---- */

const char *acui_header_text(acui_arena *arena, const unsigned char *packed, size_t bytes)
{
    size_t length = acui_packed_size(packed, bytes);
    char *text = ACUI_ARENA_ARRAY(arena, char, length + 1);
    if (!text || !acui_unpack(packed, bytes, text, length))
        return NULL;
    text[length] = '\0';
    return text;
}

/* ---- the key ---- */

static acui_hash own_headers;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void hash_own_headers(void)
{
    acui_hash all[] = {
#define ACU_X(array, name, nvrtc) acui_bytes_hash(acui_header_##array, acui_header_##array##_bytes),
        ACUI_HEADERS(ACU_X)
#undef ACU_X
    };
    own_headers = acui_bytes_hash(all, sizeof all);
}

static void put_list(acui_bytes *key, const char *const *list, size_t count)
{
    acui_bytes_put_number(key, count);
    for (size_t i = 0; i < count; i++)
        acui_bytes_put_text(key, list[i]);
}

static void put_options(acui_request *r)
{
    const acu_compile_options *o = &r->options;
    const unsigned numbers[] = {r->arch,          r->exact,       r->nvrtc,     o->cplusplus,
                                o->fast_math,     o->no_fma,      o->line_info, o->max_registers};
    acui_bytes_put(&r->key, numbers, sizeof numbers);
    put_list(&r->key, o->defines, o->define_count);
    put_list(&r->key, o->include_dirs, o->include_dir_count);
    put_list(&r->key, o->arguments, o->argument_count);
    put_list(&r->key, o->expressions, o->expression_count);
    acui_bytes_put_number(&r->key, o->header_count);
    for (size_t i = 0; i < o->header_count; i++) {
        acui_bytes_put_text(&r->key, acui_header_at(o, i)->name);
        acui_bytes_put_text(&r->key, acui_header_at(o, i)->text);
    }
}

/* Whether the argument may name a file, whose content is not known: all of clang's arguments that
 * begin with -i do, joined with the name or not. A wrong yes only costs time. */
static bool names_file(const char *argument)
{
    static const char *const beginnings[] = {"-I", "-i", "-F", "-B", "-Wp,"};
    static const char *const parts[] = {"include", "imacros", "file", "path", "load", "plugin",
                                        "isystem", "sysroot", "dir", "config", "overlay"};
    bool names = argument[0] != '-';
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        names = names || strncmp(argument, beginnings[i], strlen(beginnings[i])) == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        names = names || strstr(argument, parts[i]);
    return names;
}

static bool names_files(const acu_compile_options *o)
{
    for (size_t i = 0; i < o->argument_count; i++)
        if (names_file(o->arguments[i]))
            return true;
    return false;
}

/* ---- choosing ---- */

/* Fails because clang was not found, as the record says, and NVRTC was not taken. */
static acu_status no_compiler(const acu_device *device, int version, const acu_error *nvrtc)
{
    char words[ACU_ERROR_MESSAGE];
    memcpy(words, acui_error()->message, sizeof words);
    if (device && device->info.software)
        return acui_fail(ACU_ERR_NOT_FOUND,
                         "%.300s (NVRTC is not chosen for the software device by "
                         "itself)",
                         words);
    if (version)
        return acui_fail(ACU_ERR_NOT_FOUND,
                         "%.200s; and NVRTC %d.%d is newer than the driver, which "
                         "could not load what it makes",
                         words, version / 1000, version % 1000 / 10);
    return acui_fail(ACU_ERR_NOT_FOUND, "%.180s; and %.180s", words, nvrtc->message);
}

static acu_status choose(acui_request *r, const acu_device *device)
{
    int version = 0;
    acu_compiler wanted = r->options.compiler;
    const acu_driver_info *driver = acu_driver_info_of();
    if (wanted == ACU_COMPILER_NVRTC) {
        r->nvrtc = true;
        return acui_nvrtc_find(&r->key, &version);
    }
    if (wanted == ACU_COMPILER_AUTO && !(device && device->info.software) &&
        acui_nvrtc_find(NULL, &version) == ACU_OK &&
        !(device && driver && version > driver->version)) { /* the driver is too old to load its
                                                             * PTX */
        r->nvrtc = true;
        return acui_nvrtc_find(&r->key, &version);
    }
    acu_error nvrtc = *acui_error();
    acu_status st = acui_clang_find(&r->key);
    return st == ACU_ERR_NOT_FOUND && wanted == ACU_COMPILER_AUTO
               ? no_compiler(device, version, &nvrtc)
               : st;
}

static acu_status choose_arch(acui_request *r, const acu_device *device)
{
    r->exact = r->options.arch != 0;
    r->arch = r->options.arch;
    if (r->exact)
        return ACU_OK;
    if (!device)
        return acui_fail(ACU_ERR_INVALID, "acu_compile: without a device the options say for which "
                         "`arch` it is");
    const acu_device_info *info = &device->info;
    r->arch = info->software ? SOFTWARE_ARCH
                             : (unsigned)(10 * info->compute_major + info->compute_minor);
    return ACU_OK;
}

/* NVRTC does not know byte order marks, and clang only at the beginning of a file, before which a
 * #line is put. */
static const char *without_mark(const char *source)
{
    return source + (strncmp(source, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

acu_status acui_request_begin(acui_request *r, const acu_device *device, const char *what,
                              const char *source, const acu_compile_options *options)
{
    *r = (acui_request){.what = what, .source = without_mark(source), .options = *options};
    pthread_once(&once, hash_own_headers);
    if (!r->options.cplusplus)
        r->options.cplusplus = 17;
    acui_bytes_put_text(&r->key, FORMAT);
    acui_bytes_put(&r->key, &own_headers, sizeof own_headers);
    ACUI_TRY(choose_arch(r, device));
    ACUI_TRY(choose(r, device));
    put_options(r);
    acui_bytes_put_text(&r->key, what);
    acui_bytes_put_text(&r->key, r->source);
    r->keep = !names_files(&r->options) && acui_request_put_includes(r);
    if (r->key.failed)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to compile %s", what);
    r->hash = acui_bytes_hash(r->key.data, r->key.count);
    return ACU_OK;
}

void acui_request_end(acui_request *r)
{
    acui_bytes_free(&r->key);
}
