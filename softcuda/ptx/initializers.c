/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initial values of variables, as a byte image and the places in it that need addresses. */
#include "ptx/parser.h"

#include <string.h>

enum { LEVELS_MAX = 10 };

/* A table this large would take a text of a gigabyte; sparse ones are refused with a clear
 * error. */
static const uint64_t image_max = (uint64_t)256 << 20;

typedef struct initializer {
    ptx_parser *p;
    ptx_var *var;
    unsigned levels;                /* levels of braces: the dimensions, and one for a vector */
    uint64_t below[LEVELS_MAX + 1]; /* elements of a part at each level; 0 at [0]: open */
    uint64_t start[LEVELS_MAX + 1]; /* first element of the open brace at each level */
    unsigned depth;
    uint64_t at, end; /* next element; elements so far */
    bool gap;         /* a row was left unfinished */
    ptx_vec bytes, relocs;
} initializer;

static unsigned char *element_place(initializer *in)
{
    const uint64_t size = ptx_type_bytes(in->var->type);
    if (in->at >= image_max / size)
        ptx_fail(in->p, in->var->line, "initial value of %s is larger than 256 MiB", in->var->name);
    const uint64_t need = (in->at + 1) * size;
    if (need > in->bytes.count)
        ptx_push_many(in->p, &in->bytes, (size_t)(need - in->bytes.count), 1);
    return (unsigned char *)in->bytes.items + in->at * size;
}

static void store(unsigned char *place, uint64_t bits, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        place[i] = (unsigned char)(i < 8 ? bits >> (8 * i) : 0);
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* A symbol, its offset, and generic() around either. */
static void parse_address(initializer *in, ptx_reloc *reloc)
{
    ptx_parser *p = in->p;
    const ptx_token token = *ptx_token_now(p);
    const char *name = ptx_expect_name(p, "an initial value");
    if (strcmp(name, "generic") == 0 && !reloc->generic && ptx_accept(p, '(')) {
        reloc->generic = true;
        parse_address(in, reloc);
        ptx_expect(p, ')', "generic(");
        reloc->addend += ptx_parse_offset(p);
        return;
    }
    const ptx_symbol *symbol = ptx_lookup(p, name, strlen(name));
    if (symbol && symbol->kind == PTX_SYMBOL_VAR) {
        reloc->var = symbol->var;
    } else if (symbol && symbol->kind == PTX_SYMBOL_FUNCTION) {
        reloc->function = &symbol->fn->out;
        symbol->fn->address_taken = true;
    } else {
        ptx_fail(p, token.line, "unknown symbol %s in the initial value of %s", name,
                 in->var->name);
    }
    reloc->addend += ptx_parse_offset(p);
}

/* mask(address): one byte of an address, as 0xFF00(symbol). The number was consumed. */
static void parse_masked(initializer *in, uint64_t mask, uint32_t line, ptx_reloc *reloc)
{
    ptx_parser *p = in->p;
    const unsigned shift = mask ? (unsigned)__builtin_ctzll(mask) : 0;
    if (mask >> shift != 0xFF || shift % 8 != 0)
        ptx_fail(p, line, "the mask of an address must select one byte");
    reloc->shift = shift;
    reloc->bytes = 1;
    ptx_expect(p, '(', "the mask of an address");
    parse_address(in, reloc);
    ptx_expect(p, ')', "an address");
}

static void add_reloc(initializer *in, ptx_reloc reloc)
{
    const unsigned size = ptx_type_bytes(in->var->type);
    element_place(in);
    reloc.offset = (size_t)(in->at * size);
    if (reloc.bytes == 0)
        reloc.bytes = size > 8 ? 8 : size;
    *(ptx_reloc *)ptx_push(in->p, &in->relocs, sizeof reloc) = reloc;
}

/* ---- elements and braces -------------------------------------------------------------------- */

static void parse_element(initializer *in)
{
    ptx_parser *p = in->p;
    const ptx_token token = *ptx_token_now(p);
    const bool is_word = token.kind == PTX_TOKEN_WORD;
    if (is_word && !(token.length == 7 && memcmp(token.text, "WARP_SZ", 7) == 0)) {
        ptx_reloc reloc = {0};
        parse_address(in, &reloc);
        add_reloc(in, reloc);
        return;
    }
    const ptx_constant c = ptx_parse_constant(p);
    if (!c.is_float && ptx_is_punct(p, '(')) {
        ptx_reloc reloc = {0};
        parse_masked(in, c.value, token.line, &reloc);
        add_reloc(in, reloc);
        return;
    }
    const ptx_operand operand = ptx_constant_operand(&c);
    store(element_place(in), ptx_constant_bits(&operand, in->var->type),
          ptx_type_bytes(in->var->type));
}

/*
 * PTX says that short rows are filled up with zeros, as in C. ptxas (13.0, seen on an H100) moves
 * later rows up instead. A text where the two differ is refused.
 */
static void next_element(initializer *in)
{
    if (in->gap)
        ptx_fail(in->p, ptx_token_now(in->p)->line,
                 "a row of %s with too few values comes before others: PTX fills it up with zeros, "
                 "ptxas does not; write the zeros",
                 in->var->name);
    const unsigned outer = in->depth - 1;
    const uint64_t room = in->below[outer];
    if (room != 0 && in->at - in->start[outer] >= room)
        ptx_fail(in->p, ptx_token_now(in->p)->line, "too many initial values for %s",
                 in->var->name);
    parse_element(in);
    in->at++;
    if (in->end < in->at)
        in->end = in->at;
}

static void open_brace(initializer *in)
{
    ptx_parser *p = in->p;
    const uint32_t line = ptx_token_now(p)->line;
    if (in->depth == in->levels)
        ptx_fail(p, line, "too many braces in the initial value of %s", in->var->name);
    const uint64_t whole = in->below[0];
    if (in->depth > 0 && ((in->at % in->below[in->depth]) != 0 || (whole && in->at >= whole)))
        ptx_fail(p, line, "misplaced brace in the initial value of %s", in->var->name);
    ptx_next(p);
    in->start[in->depth++] = in->at;
}

static void close_brace(initializer *in)
{
    ptx_next(in->p);
    in->depth--;
    if (in->below[in->depth] != 0) {
        const uint64_t after = in->start[in->depth] + in->below[in->depth];
        in->gap = in->gap || (in->depth > 0 && in->at < after);
        in->at = after;
        if (in->at > image_max)
            ptx_fail(in->p, in->var->line, "initial value of %s is larger than 256 MiB",
                     in->var->name);
        if (in->end < in->at)
            in->end = in->at;
    }
}

static void parse_braces(initializer *in)
{
    ptx_parser *p = in->p;
    if (!ptx_is_punct(p, '{'))
        ptx_fail_token(p, "'{' of an initial value");
    do {
        if (ptx_is_punct(p, '{')) {
            open_brace(in);
        } else if (ptx_is_punct(p, '}')) {
            close_brace(in);
            if (in->depth > 0)
                ptx_accept(p, ',');
        } else {
            next_element(in);
            if (!ptx_accept(p, ',') && !ptx_is_punct(p, '}'))
                ptx_fail_token(p, "',' or '}' in an initial value");
        }
    } while (in->depth > 0);
}

/* How many elements lie below each level of braces. */
static void set_levels(initializer *in, const uint64_t *dims, unsigned dim_count)
{
    const unsigned vector = in->var->vector;
    in->levels = dim_count + (vector > 1);
    uint64_t below = vector;
    unsigned level = in->levels;
    in->below[level] = 1;
    if (vector > 1)
        in->below[--level] = below;
    while (level > 0) {
        level--;
        below *= dims[level]; /* cannot overflow: the whole size was checked */
        in->below[level] = below;
    }
}

static void finish(initializer *in, uint64_t *dims, unsigned dim_count)
{
    ptx_var *var = in->var;
    if (dim_count > 0 && dims[0] == 0) {
        const uint64_t row = in->levels > 1 ? in->below[1] : 1;
        dims[0] = (in->end + row - 1) / row;
        var->bytes = dims[0] * row * ptx_type_bytes(var->type);
        if (var->bytes == 0)
            ptx_fail(in->p, var->line, "%s has neither a size nor an initial value", var->name);
    }
    if (var->bytes > image_max)
        ptx_fail(in->p, var->line, "initial value of %s is larger than 256 MiB", var->name);
    unsigned char *image = ptx_alloc(in->p, (size_t)var->bytes, 1);
    if (in->bytes.count > 0)
        memcpy(image, in->bytes.items, in->bytes.count);
    var->init = image;
    var->relocs = ptx_freeze(in->p, &in->relocs, sizeof(ptx_reloc));
    var->reloc_count = in->relocs.count;
}

void ptx_parse_initializer(ptx_parser *p, ptx_var *var, uint64_t *dims, unsigned dim_count)
{
    initializer in = {.p = p, .var = var};
    set_levels(&in, dims, dim_count);
    if (in.levels > 0) {
        parse_braces(&in);
    } else if (ptx_accept(p, '{')) { /* a scalar may be in braces too */
        parse_element(&in);
        ptx_expect(p, '}', "an initial value");
    } else {
        parse_element(&in);
    }
    finish(&in, dims, dim_count);
}

/* ---- bits of constants ---------------------------------------------------------------------- */

/* Rounds to a 16-bit float with `fraction` fraction bits, to nearest even; in integers, so that
 * neither the thread's rounding mode nor libm is involved. */
static uint64_t narrow(double number, unsigned fraction)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    const uint64_t sign = bits >> 63 << 15;
    const unsigned exponent = (unsigned)(bits >> 52) & 0x7FF;
    const uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    const int top = (1 << (15 - fraction)) - 1; /* exponent of infinities */
    const uint64_t infinity = (uint64_t)top << fraction;
    if (exponent == 0x7FF && mantissa != 0)
        return sign | infinity | (uint64_t)1 << (fraction - 1);

    const int scaled = (int)exponent - 1023 + top / 2;
    if (scaled >= top)
        return sign | infinity;
    const unsigned shift = 52 - fraction + (scaled < 1 ? (unsigned)(1 - scaled) : 0);
    if (shift > 53)
        return sign; /* below half of the smallest subnormal */
    const uint64_t whole = mantissa | (uint64_t)1 << 52;
    uint64_t result = whole >> shift;
    const uint64_t rest = whole & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    result += rest > half || (rest == half && (result & 1));
    /* The leading one of a normal number, or a carry, lands in the exponent. */
    return sign | (result + (scaled > 1 ? (uint64_t)(scaled - 1) << fraction : 0));
}

static uint64_t float_to_bits(const ptx_operand *operand, ptx_type type)
{
    if (operand->float_bits == ptx_type_bits(type))
        return operand->value;
    const double number = operand->number;
    switch (type) {
    case PTX_F16:
        return narrow(number, 10);
    case PTX_BF16:
        return narrow(number, 7);
    default:
        break;
    }
    if (ptx_type_bits(type) == 32) {
        const float single = (float)number;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

uint64_t ptx_constant_bits(const ptx_operand *operand, ptx_type type)
{
    if (operand->kind == PTX_OPERAND_FLOAT)
        return float_to_bits(operand, type);
    if (!ptx_type_is_float(type) || ptx_type_bits(type) < 16 || type == PTX_F16X2 ||
        type == PTX_BF16X2 || type == PTX_F32X2) {
        const unsigned bits = ptx_type_bits(type);
        return bits >= 64 || bits == 0 ? operand->value
                                       : operand->value & (((uint64_t)1 << bits) - 1);
    }
    ptx_operand number = *operand;
    number.float_bits = 0;
    number.number = operand->is_unsigned ? (double)operand->value : (double)(int64_t)operand->value;
    return float_to_bits(&number, type);
}
