/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parsing a script of faults into the list of fault_script.h. */
#include "driver/fault_script.h"

#include "driver/device.h"
#include "driver/softcuda.h"

#include <acuda/driver_abi.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    char *why; /* the sentence */
    size_t bytes;
} reader;

__attribute__((format(printf, 3, 4))) static bool wrong(const reader *r, const char *item,
                                                        const char *format, ...)
{
    int n = snprintf(r->why, r->bytes, "SOFTCUDA_FAULTS: \"%s\": ", item);
    va_list arguments;
    va_start(arguments, format);
    if (n > 0 && (size_t)n < r->bytes)
        vsnprintf(r->why + n, r->bytes - (size_t)n, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- results ---- */

/* Whether `word` is `name`, or `name` without CUDA_ERROR_, in small letters and with hyphens. */
static bool is_name(const char *word, const char *name)
{
    if (strcmp(word, name) == 0)
        return true;
    if (strncmp(name, "CUDA_ERROR_", 11) != 0)
        return false;
    for (name += 11; *name && (tolower(*name) == *word || (*name == '_' && *word == '-')); name++)
        word++;
    return !*name && !*word;
}

static bool read_result(const reader *r, sd_fault *f, const char *word)
{
#define ALIAS(name, value) \
    if (strcmp(word, name) == 0) \
        f->result = (unsigned)(value);
#define NAME(name, value) \
    if (!f->result && is_name(word, #name)) \
        f->result = (unsigned)(value);
#define LATE(value) \
    if (f->result == (unsigned)(value)) \
        f->late = true;
    SD_FAULT_ALIASES(ALIAS)
    ACU_ABI_RESULTS(NAME)
    SD_LATE_FAULTS(LATE)
#undef ALIAS
#undef NAME
#undef LATE
    if (!f->result)
        return wrong(r, f->text,
                     "\"%s\" is no result of CUDA's; say \"out-of-memory\", \"illegal-address\", "
                     "\"trap\", \"ecc\", \"lost\" or the like",
                     word);
    if (!f->late && f->place != SD_FAULT_CALL)
        return wrong(r, f->text, "a work does not fail with %s, only a call does", word);
    return true;
}

/* ---- places ---- */

static bool read_call(sd_fault *f, const char *word)
{
    static const char *const suffixes[] = {"", "_v2", "_v3", "_v4"};
    char symbol[sizeof f->name + 4];
    const char *start = strncmp(word, "cu", 2) == 0 ? "" : "cu";
    snprintf(f->name, sizeof f->name, "%s%s", start, word);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(symbol, sizeof symbol, "%s%s", f->name, suffixes[i]);
        if (softcuda_symbol(symbol))
            return true;
    }
    return false;
}

static bool is_kind(const char *word)
{
#define KIND(name) \
    if (strcmp(word, name) == 0) \
        return true;
    SD_FAULT_KINDS(KIND)
#undef KIND
    return false;
}

static bool read_place(const reader *r, sd_fault *f, const char *word)
{
    char *end;
    if (strlen(word) >= sizeof f->name)
        return wrong(r, f->text, "the name is too long");
    if (strncmp(word, "kernel:", 7) == 0) {
        f->place = SD_FAULT_KERNEL;
        snprintf(f->name, sizeof f->name, "%s", word + 7);
        return f->name[0] || wrong(r, f->text, "which kernel?");
    }
    if (strncmp(word, "device:", 7) == 0) {
        f->place = SD_FAULT_DEVICE;
        long device = strtol(word + 7, &end, 10);
        f->device = (int)device;
        return (isdigit((unsigned char)word[7]) && !*end && device < SD_MAX_DEVICES) ||
               wrong(r, f->text, "\"%s\" is no device: say a number below %d", word + 7,
                     SD_MAX_DEVICES);
    }
    if (is_kind(word)) {
        f->place = SD_FAULT_WORK;
        snprintf(f->name, sizeof f->name, "%s", word);
        return true;
    }
    f->place = SD_FAULT_CALL;
    if (read_call(f, word) && strcmp(f->name, "cuInit") == 0)
        return wrong(r, f->text, "cuInit reads this, and so cannot fail by it");
#define KIND(name) ", " name
    return read_call(f, word) ||
           wrong(r, f->text,
                 "there is no call cu%s, and no such work; works are kernel:NAME, "
                 "device:N" SD_FAULT_KINDS(KIND),
                 word);
#undef KIND
}

/* Reads #3, #3+ or #*; without one it is the first. Cuts it off the place's word. */
static bool read_number(const reader *r, sd_fault *f, char *word)
{
    char *mark = strchr(word, '#');
    f->nth = 1;
    if (!mark)
        return true;
    *mark++ = '\0';
    if (strcmp(mark, "*") == 0) {
        f->on = true;
        return true;
    }
    char *end;
    int error = errno;
    errno = 0;
    f->nth = strtoull(mark, &end, 10);
    bool fits = f->nth && !errno;
    errno = error;
    f->on = *end == '+';
    return (isdigit((unsigned char)*mark) && fits && !end[f->on]) ||
           wrong(r, f->text, "\"#%s\" is no place in a count: say #3, #3+ or #*", mark);
}

/* ---- the whole ---- */

static char *trim(char *word)
{
    while (isspace((unsigned char)*word))
        word++;
    char *end = word + strlen(word);
    while (end > word && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return word;
}

static bool read_item(const reader *r, sd_fault *f, char *item)
{
    snprintf(f->text, sizeof f->text, "%s", item);
    char *result = strchr(item, '=');
    if (!result)
        return wrong(r, f->text, "say PLACE=RESULT, as in \"LaunchKernel#3=illegal-address\"");
    *result++ = '\0';
    char *place = trim(item);
    return read_number(r, f, place) && read_place(r, f, trim(place)) &&
           read_result(r, f, trim(result));
}

static void free_all(sd_fault *faults)
{
    while (faults) {
        sd_fault *next = faults->next;
        free(faults);
        faults = next;
    }
}

bool sd_script_read(const char *script, sd_fault **faults, char *why, size_t bytes)
{
    const reader r = {why, bytes};
    char *copy = strdup(script), *rest = copy;
    sd_fault **end = faults;
    *faults = NULL;
    bool good = copy || wrong(&r, script, "there is no memory to read it");
    for (char *item; good && (item = strsep(&rest, ";\n"));) {
        item = trim(item);
        if (!*item)
            continue;
        *end = calloc(1, sizeof **end);
        good = *end ? read_item(&r, *end, item) : wrong(&r, item, "there is no memory to keep it");
        if (*end)
            end = &(*end)->next;
    }
    free(copy);
    if (!good) {
        free_all(*faults);
        *faults = NULL;
    }
    return good;
}
