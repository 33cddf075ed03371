/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The parameters of kernels, from PTX text: drivers before CUDA 12.4 do not tell them, and no
 * driver tells their types. Only the heads of .entry functions are read.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <string.h>

/* ---- words of PTX ---------------------------------------------------------------------------- */

typedef struct reader {
    const char *text;
    size_t at, end;
} reader;

typedef struct word {
    const char *text;
    size_t length; /* 0 at the end of the text */
} word;

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '$' || c == '%';
}

static bool starts(const reader *r, const char *text)
{
    size_t n = strlen(text);
    return r->end - r->at >= n && memcmp(r->text + r->at, text, n) == 0;
}

static void skip_to(reader *r, const char *text)
{
    while (r->at < r->end && !starts(r, text))
        r->at++;
}

static void skip_blank(reader *r)
{
    while (r->at < r->end) {
        char c = r->text[r->at];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
            r->at++;
        } else if (starts(r, "//")) {
            skip_to(r, "\n");
        } else if (starts(r, "/*")) {
            r->at += 2;
            skip_to(r, "*/");
            r->at = r->end - r->at > 2 ? r->at + 2 : r->end;
        } else {
            return;
        }
    }
}

/* A string is one word: what is in it is not code. */
static void skip_string(reader *r)
{
    for (r->at++; r->at < r->end && r->text[r->at] != '"'; r->at++)
        if (r->text[r->at] == '\\')
            r->at++;
    r->at = r->at < r->end ? r->at + 1 : r->end;
}

/* The next word: a name, with its leading dot if it has one; a single other character; or a
 * string. */
static word next_word(reader *r)
{
    skip_blank(r);
    word w = {.text = r->text + r->at};
    if (r->at >= r->end)
        return w;
    size_t begin = r->at;
    char c = r->text[r->at];
    if (c == '"') {
        skip_string(r);
    } else {
        r->at++;
        if (c == '.' || is_name_char(c))
            while (r->at < r->end && is_name_char(r->text[r->at]))
                r->at++;
    }
    w.length = r->at - begin;
    return w;
}

static bool word_is(word w, const char *text)
{
    return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

static bool word_number(word w, uint32_t *number)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w.length; i++) {
        if (w.text[i] < '0' || w.text[i] > '9' || n > UINT32_MAX)
            return false;
        n = n * 10 + (uint64_t)(w.text[i] - '0');
    }
    *number = (uint32_t)n;
    return w.length > 0 && n <= UINT32_MAX;
}

/* ---- one parameter --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    char type;
    uint32_t bytes;
} types[] = {
    {".u8", 'i', 1},      {".s8", 'i', 1},    {".b8", 'i', 1},     {".u16", 'i', 2},
    {".s16", 'i', 2},     {".b16", 'i', 2},   {".u32", 'i', 4},    {".s32", 'i', 4},
    {".b32", 'i', 4},     {".u64", 'i', 8},   {".s64", 'i', 8},    {".b64", 'i', 8},
    {".b128", 's', 16},   {".f16", 'f', 2},   {".bf16", 'f', 2},   {".f16x2", 's', 4},
    {".bf16x2", 's', 4},  {".f32", 'f', 4},   {".tf32", 'f', 4},   {".f64", 'f', 8},
    {".texref", 'i', 8},  {".surfref", 'i', 8}, {".samplerref", 'i', 8},
};

static bool read_type(word w, acui_param *param)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (word_is(w, types[i].name)) {
            param->type = types[i].type;
            param->bytes = types[i].bytes;
            return true;
        }
    return false;
}

/* Reads what follows the name of a struct or an array, such as "[24]". Returns the word that ends
 * the parameter. */
static word read_extent(reader *r, acui_param *param, bool *good)
{
    word w = next_word(r);
    while (word_is(w, "[")) {
        uint32_t count = 0;
        word number = next_word(r);
        *good = *good && word_number(number, &count) && word_is(next_word(r), "]") &&
                !__builtin_mul_overflow(param->bytes, count, &param->bytes);
        param->type = 's';
        w = next_word(r);
        if (!*good)
            break;
    }
    return w;
}

/*
 * Reads what follows ".param": attributes and the type in any order, then the name. ".align 8" and
 * the number in ".ptr .global .align 8" do not belong to the size. Returns the word that ends it:
 * "," or ")".
 */
static word read_param(reader *r, acui_param *param, bool *good)
{
    bool typed = false;
    for (;;) {
        word w = next_word(r);
        if (w.length == 0 || w.text[0] != '.') {
            *good = *good && typed && w.length > 0 && is_name_char(w.text[0]);
            return *good ? read_extent(r, param, good) : w;
        }
        if (word_is(w, ".align"))
            next_word(r);
        else if (!typed)
            typed = read_type(w, param);
    }
}

/* ---- one entry ------------------------------------------------------------------------------- */

static acu_status add_param(acui_ptx_entry *entry, size_t *room, const acui_param *param)
{
    if (entry->count == *room) {
        size_t more = *room ? 2 * *room : 8;
        acui_param *params =
            acui_grow(entry->params, *room * sizeof *params, more * sizeof *params);
        if (!params)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a kernel");
        entry->params = params;
        *room = more;
    }
    entry->params[entry->count++] = *param;
    return ACU_OK;
}

/* Reads what follows the name: "( .param .u64 a, .param .f32 b )", or nothing. */
static acu_status read_params(reader *r, acui_ptx_entry *entry)
{
    reader ahead = *r;
    entry->understood = true;
    if (!word_is(next_word(&ahead), "("))
        return ACU_OK;
    *r = ahead;
    size_t room = 0;
    bool good = true;
    word w = next_word(r);
    while (good && word_is(w, ".param")) {
        acui_param param = {0};
        w = read_param(r, &param, &good);
        acu_status st = good ? add_param(entry, &room, &param) : ACU_OK;
        if (st != ACU_OK)
            return st;
        if (word_is(w, ","))
            w = next_word(r);
    }
    entry->understood = good && word_is(w, ")");
    return ACU_OK;
}

bool acui_ptx_next(const char *ptx, size_t bytes, size_t *at, acui_ptx_entry *entry, acu_status *st)
{
    reader r = {.text = ptx, .at = *at, .end = bytes};
    *entry = (acui_ptx_entry){0};
    *st = ACU_OK;
    word w;
    do
        w = next_word(&r);
    while (w.length && !word_is(w, ".entry"));
    word name = next_word(&r);
    *at = r.at;
    if (name.length == 0)
        return false;
    entry->name = name.text;
    entry->length = name.length;
    *st = read_params(&r, entry);
    *at = r.at;
    if (*st != ACU_OK || !entry->understood) {
        acui_free(entry->params);
        entry->params = NULL;
        entry->count = 0;
    }
    return true;
}
