/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The functions that a kernel may call on the device without defining them: vprintf, __assertfail,
 * malloc and free.
 */
#include <stdio.h>
#include <string.h>

#include "exec/lanes.h"
#include "exec/ops.h"

#define ASSERT_FAILED 710
#define ILLEGAL_ADDRESS 700

/* ---- text in device memory ------------------------------------------------------------------- */

/* Copies a string, cut to size; false: it runs into invalid memory. */
static bool read_string(sx_warp *w, unsigned lane, uint64_t address, char *to, size_t size)
{
    for (size_t n = 0; n + 1 < size; n++) {
        const char *c = sx_generic_at(w, lane, address + n, 1, SX_READ);
        if (!c)
            return false;
        to[n] = *c;
        if (!*c)
            return true;
    }
    to[size - 1] = '\0';
    return true;
}

/* ---- vprintf --------------------------------------------------------------------------------- */

typedef struct printer {
    sx_warp *w;
    unsigned lane;
    uint64_t args; /* next argument */
    char out[2048];
    size_t used;
    int count; /* arguments taken */
    bool failed;
} printer;

static uint64_t next_arg(printer *p, unsigned bytes)
{
    uint64_t value = 0;
    p->args = (p->args + bytes - 1) & ~(uint64_t)(bytes - 1);
    const char *at = sx_generic_at(p->w, p->lane, p->args, bytes, SX_READ);
    if (!at) {
        p->failed = true;
        return 0;
    }
    memcpy(&value, at, bytes);
    p->args += bytes;
    p->count++;
    return value;
}

static void put(printer *p, int written)
{
    size_t room = sizeof p->out - p->used;
    if (written > 0)
        p->used += (size_t)written < room ? (size_t)written : room - 1;
}

static void put_char(printer *p, char c)
{
    if (p->used + 1 < sizeof p->out)
        p->out[p->used++] = c;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

/* One conversion: `spec` is %, flags, width and precision, without length and letter. */
static void convert(printer *p, char *spec, size_t length, char letter, bool is_long)
{
    char *to = p->out + p->used;
    const size_t room = sizeof p->out - p->used;
    switch (letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
        uint64_t raw = next_arg(p, is_long ? 8 : 4);
        if (!is_long && (letter == 'd' || letter == 'i'))
            raw = (uint64_t)(int64_t)(int32_t)(uint32_t)raw;
        memcpy(spec + length, (char[]){'l', 'l', letter, '\0'}, 4);
        put(p, snprintf(to, room, spec, (unsigned long long)raw));
        break;
    }
    case 'c':
        memcpy(spec + length, "c", 2);
        put(p, snprintf(to, room, spec, (int)next_arg(p, 4)));
        break;
    case 'p':
        memcpy(spec + length, "p", 2);
        put(p, snprintf(to, room, spec, (void *)(uintptr_t)next_arg(p, 8)));
        break;
    case 's': {
        char text[1024];
        uint64_t address = next_arg(p, 8);
        if (!read_string(p->w, p->lane, address, text, sizeof text))
            snprintf(text, sizeof text, "(null)");
        memcpy(spec + length, "s", 2);
        put(p, snprintf(to, room, spec, text));
        break;
    }
    default: {
        uint64_t raw = next_arg(p, 8);
        double value;
        memcpy(&value, &raw, sizeof value);
        spec[length] = letter;
        spec[length + 1] = '\0';
        put(p, snprintf(to, room, spec, value));
        break;
    }
    }
}
#pragma GCC diagnostic pop

/* Each flag once, behind the %. Returns how long the specification is now. */
static size_t copy_flags(const char **f, char *spec)
{
    size_t n = 1;
    for (; **f && strchr("-+ #0", **f); ++*f)
        if (!memchr(spec + 1, **f, n - 1))
            spec[n++] = **f;
    spec[n] = '\0';
    return n;
}

/*
 * A width or, behind a point, a precision. What does not fit into the output is cut off anyway, and
 * the C library would make it first, so larger numbers are not handed on.
 */
static size_t copy_number(printer *p, const char **f, char *to, size_t room, const char *point)
{
    const int most = (int)sizeof p->out;
    int value = 0;
    const char *start = *f;
    if (**f == '*') {
        value = (int)(uint32_t)next_arg(p, 4);
        ++*f;
    } else {
        for (; **f >= '0' && **f <= '9'; ++*f)
            value = value > most ? value : value * 10 + (**f - '0');
    }
    if (*f == start && !*point)
        return 0;
    value = value > most ? most : value < -most ? -most : value;
    if (*point && value < 0) /* as if there were none */
        return 0;
    return (size_t)snprintf(to, room, "%s%d", point, value);
}

/* Takes one % with all that belongs to it; returns what follows. */
static const char *conversion(printer *p, const char *f)
{
    char spec[48] = "%";
    bool is_long = false;
    const char *start = f++;
    size_t n = copy_flags(&f, spec);
    n += copy_number(p, &f, spec + n, sizeof spec - n, "");
    if (*f == '.') {
        f++;
        n += copy_number(p, &f, spec + n, sizeof spec - n, ".");
    }
    for (; *f && strchr("hlLzjt", *f); f++)
        is_long |= *f != 'h';
    if (*f == '%') {
        put_char(p, '%');
        return f + 1;
    }
    if (!*f || !strchr("diuoxXcpsfFeEgGaA", *f)) {
        put_char(p, '%'); /* not a conversion: printed as it stands */
        return start + 1;
    }
    convert(p, spec, n, *f, is_long);
    return f + 1;
}

/* Returns the number of arguments, or -1 if the format or an argument can not be read. */
static int print_formatted(sx_warp *w, unsigned lane, uint64_t format, uint64_t args)
{
    char text[1024];
    if (!read_string(w, lane, format, text, sizeof text))
        return -1;
    printer p = {.w = w, .lane = lane, .args = args};
    for (const char *f = text; *f && !p.failed;) {
        if (*f == '%')
            f = conversion(&p, f);
        else
            put_char(&p, *f++);
    }
    if (p.failed)
        return -1;
    /* what a kernel prints goes to the program's output, one call at a time */
    fwrite(p.out, 1, p.used, stdout);
    return p.count;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Argument n of a call, as one lane has it. */
static uint64_t arg(sx_warp *w, const sx_call_info *info, unsigned n, unsigned lane)
{
    uint64_t value = 0;
    if (n >= info->arg_count)
        return 0;
    const sx_place *place = &info->places[n];
    const size_t bytes = place->bytes < 8 ? place->bytes : 8;
    const char *at = place->is_reg
                         ? (const char *)SX_OPERAND(w, place->at) + (size_t)lane * place->bytes
                         : sx_local_at(w, lane, w->frame->local_base + place->at);
    memcpy(&value, at, bytes);
    return value;
}

static void give(sx_warp *w, const sx_call_info *info, unsigned lane, uint64_t value)
{
    if (!info->return_count || info->places[info->arg_count].at == SX_NO_OPERAND)
        return;
    const sx_place *place = &info->places[info->arg_count];
    const size_t bytes = place->bytes < 8 ? place->bytes : 8;
    char *at = place->is_reg ? (char *)SX_OPERAND(w, place->at) + (size_t)lane * place->bytes
                             : sx_local_at(w, lane, w->frame->local_base + place->at);
    memcpy(at, &value, bytes);
}

/* __assertfail(message, file, line, function, size of a character) */
static const sx_insn *assert_failed(const sx_insn *i, sx_warp *w, const sx_call_info *info,
                                    unsigned lane)
{
    char message[128] = "", file[128] = "", function[96] = "";
    read_string(w, lane, arg(w, info, 0, lane), message, sizeof message);
    read_string(w, lane, arg(w, info, 1, lane), file, sizeof file);
    read_string(w, lane, arg(w, info, 3, lane), function, sizeof function);
    return sx_fault(w, i, lane, ASSERT_FAILED, "assertion `%s' failed in %s, %s:%u", message,
                    function, file, (unsigned)arg(w, info, 2, lane));
}

const sx_insn *sx_builtin_call(const sx_insn *i, sx_warp *w, const sx_call_info *info)
{
    sx_heap *heap = w->block->work->module->heap;
    SX_EACH_ACTIVE
    {
        const uint64_t first = arg(w, info, 0, l);
        switch (info->builtin) {
        case SX_BUILTIN_VPRINTF: {
            int n = print_formatted(w, l, first, arg(w, info, 1, l));
            if (n < 0)
                return sx_fault(w, i, l, ILLEGAL_ADDRESS,
                                "printf of memory that cannot be read (format at 0x%llx)",
                                (unsigned long long)first);
            give(w, info, l, (uint32_t)n);
            break;
        }
        case SX_BUILTIN_MALLOC:
            give(w, info, l, sx_heap_alloc(heap, first));
            break;
        case SX_BUILTIN_FREE:
            if (first && !sx_heap_free(heap, first))
                return sx_fault(w, i, l, ILLEGAL_ADDRESS, "free of 0x%llx, which is not allocated",
                                (unsigned long long)first);
            break;
        default:
            return assert_failed(i, w, info, l);
        }
    }
    return i + 1;
}
