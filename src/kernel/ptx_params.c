/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a PTX text says of its kernels: names, and the size and type of each parameter. Reads just
 * the heads of .entry functions; everything else is the driver's to judge.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const char *at, *end;
} cursor;

typedef struct word {
    const char *text;
    size_t length;
} word;

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

static bool skip_comment(cursor *c)
{
    if (c->end - c->at < 2 || c->at[0] != '/' || (c->at[1] != '/' && c->at[1] != '*'))
        return false;
    bool block = c->at[1] == '*';
    c->at += 2;
    while (c->at < c->end) {
        if (!block && *c->at == '\n')
            return true;
        if (block && c->end - c->at >= 2 && c->at[0] == '*' && c->at[1] == '/') {
            c->at += 2;
            return true;
        }
        c->at++;
    }
    return true;
}

/* A run of word characters, or one other character; length 0 at the end. Strings are one word. */
static word next_word(cursor *c)
{
    while (c->at < c->end && *c->at &&
           (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n' || skip_comment(c)))
        if (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n'))
            c->at++;
    word w = {c->at, 0};
    if (c->at >= c->end || !*c->at)
        return w;
    if (*c->at == '"') {
        do
            c->at++;
        while (c->at < c->end && *c->at != '"');
        if (c->at < c->end)
            c->at++;
    } else if (is_word_char(*c->at)) {
        while (c->at < c->end && is_word_char(*c->at))
            c->at++;
    } else {
        c->at++;
    }
    w.length = (size_t)(c->at - w.text);
    return w;
}

static bool is(word w, const char *text)
{
    return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

/* The next .entry; false at the end of the text. */
static bool next_entry(cursor *c, word *name)
{
    for (word w = next_word(c); w.length; w = next_word(c))
        if (is(w, ".entry")) {
            *name = next_word(c);
            return name->length > 0;
        }
    return false;
}

/* ".u32", ".b8", ".f64": size in bytes and what it holds; 0 for a word that is no type. */
static uint32_t type_of(word w, char *type)
{
    if (w.length < 3 || w.length > 5 || w.text[0] != '.' || !strchr("usbf", w.text[1]))
        return 0;
    uint32_t bits = 0;
    for (size_t i = 2; i < w.length; i++) {
        if (w.text[i] < '0' || w.text[i] > '9')
            return 0;
        bits = bits * 10 + (uint32_t)(w.text[i] - '0');
    }
    *type = w.text[1] == 'f' ? 'f' : 'i';
    return bits / 8;
}

static uint32_t number_of(word w)
{
    uint32_t n = 0;
    for (size_t i = 0; i < w.length && w.text[i] >= '0' && w.text[i] <= '9'; i++)
        n = n * 10 + (uint32_t)(w.text[i] - '0');
    return n;
}

/* One parameter, up to the comma or the closing parenthesis, which is returned. */
static word read_param(cursor *c, acui_param *param)
{
    word w;
    for (w = next_word(c); w.length && !is(w, ",") && !is(w, ")"); w = next_word(c)) {
        char type = 0;
        uint32_t bytes = type_of(w, &type);
        if (bytes && param->bytes == 0) {
            param->bytes = bytes;
            param->type = type;
        } else if (is(w, ".align")) {
            next_word(c); /* its number is no size */
        } else if (is(w, "[")) {
            param->bytes *= number_of(next_word(c));
            param->type = 's';
        }
    }
    return w;
}

static acu_status read_params(cursor c, acui_param **params, size_t *count)
{
    acui_param *list = NULL;
    size_t n = 0, room = 0;
    word w = next_word(&c);
    bool more = is(w, "(");
    while (more) {
        acui_param param = {0};
        w = read_param(&c, &param);
        more = is(w, ",");
        if (param.bytes == 0)
            continue; /* "()" */
        if (n == room) {
            acui_param *grown =
                acui_grow(list, room * sizeof *list, (room ? 2 * room : 8) * sizeof *list);
            if (!grown) {
                acui_free(list);
                return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a kernel's parameters");
            }
            list = grown;
            room = room ? 2 * room : 8;
        }
        list[n++] = param;
    }
    *params = list;
    *count = n;
    return ACU_OK;
}

acu_status acui_ptx_params(const char *ptx, size_t bytes, const char *name, acui_param **params,
                           size_t *count)
{
    cursor c = {ptx, ptx + bytes};
    word entry;
    while (next_entry(&c, &entry))
        if (is(entry, name))
            return read_params(c, params, count);
    return acui_fail(ACU_ERR_NOT_FOUND, "the PTX has no kernel %s", name);
}

void acui_ptx_entries(const char *ptx, size_t bytes, char *text, size_t room)
{
    cursor c = {ptx, ptx + bytes};
    word entry;
    size_t used = 0;
    text[0] = 0;
    while (next_entry(&c, &entry) && used + entry.length + 3 < room) {
        if (used) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, entry.text, entry.length);
        used += entry.length;
        text[used] = 0;
    }
}
