/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Spellings and properties of PTX's words, and the table that finds a word by its spelling. */
#include "ptx/words.h"

#include <string.h>

static const struct {
    const char *text;
    uint8_t bits;
    char class;
} type_info[PTX_TYPE_COUNT] = {[PTX_TYPE_NONE] = {"", 0, 0},
#define X(name, text, bits, class) [PTX_##name] = {text, bits, class},
                               PTX_TYPE_LIST(X)
#undef X
};

static const char *const space_text[PTX_SPACE_COUNT] = {[PTX_SPACE_NONE] = "generic",
#define X(name, text) [PTX_SPACE_##name] = text,
                                                        PTX_SPACE_LIST(X)
#undef X
};

static const char *const op_text[PTX_OP_COUNT] = {[PTX_OP_UNKNOWN] = "?",
#define X(name, text) [PTX_OP_##name] = text,
                                                  PTX_OP_LIST(X)
#undef X
};

static const char *const mod_text[PTX_MOD_COUNT] = {[PTX_MOD_OTHER] = "?",
#define X(name, text) [PTX_MOD_##name] = text,
                                                    PTX_MOD_LIST(X)
#undef X
};

static const struct {
    const char *text;
    ptx_type type;
} special_info[PTX_SPECIAL_COUNT] = {
    [PTX_SPECIAL_NONE] = {"?", PTX_TYPE_NONE},
#define X(name, text, type) [PTX_SPECIAL_##name] = {text, PTX_##type},
    PTX_SPECIAL_LIST(X)
#undef X
        [PTX_SPECIAL_ENVREG] = {"%envreg", PTX_B32},
    [PTX_SPECIAL_PM] = {"%pm", PTX_U32},
};

const char *ptx_type_name(ptx_type type)
{
    return type_info[type].text;
}

unsigned ptx_type_bits(ptx_type type)
{
    return type_info[type].bits;
}

unsigned ptx_type_bytes(ptx_type type)
{
    return type_info[type].bits / 8u;
}

bool ptx_type_is_float(ptx_type type)
{
    return type_info[type].class == 'f';
}

bool ptx_type_is_signed(ptx_type type)
{
    return type_info[type].class == 's';
}

const char *ptx_space_name(ptx_space space)
{
    return space_text[space];
}

const char *ptx_op_name(ptx_op op)
{
    return op_text[op];
}

const char *ptx_mod_name(ptx_mod mod)
{
    return mod_text[mod];
}

const char *ptx_special_name(ptx_special special)
{
    return special_info[special].text;
}

ptx_type ptx_special_type(ptx_special special)
{
    return special_info[special].type;
}

bool ptx_inst_has(const ptx_inst *inst, ptx_mod mod)
{
    for (unsigned i = 0; i < inst->mod_count; i++) {
        if (inst->mods[i] == mod)
            return true;
    }
    return false;
}

/* ---- finding a word ------------------------------------------------------------------------- */

static ptx_word *word_slot(ptx_words *words, const char *text)
{
    ptx_entry *entry = ptx_table_insert(&words->table, words->arena, text, strlen(text));
    if (!entry)
        return NULL;
    if (!entry->value)
        entry->value = ptx_arena_alloc(words->arena, sizeof(ptx_word));
    return entry->value;
}

bool ptx_words_init(ptx_words *words, ptx_arena *arena)
{
    words->arena = arena;
#define ADD(text, field, id) \
    do { \
        ptx_word *word = word_slot(words, text); \
        if (!word) \
            return false; \
        word->field = (uint8_t)(id); \
    } while (0)
    for (int i = 1; i < PTX_TYPE_COUNT; i++)
        ADD(type_info[i].text, type, i);
    for (int i = 1; i < PTX_SPACE_COUNT; i++)
        ADD(space_text[i], space, i);
    for (int i = 1; i < PTX_OP_COUNT; i++)
        ADD(op_text[i], op, i);
    for (int i = 1; i < PTX_MOD_COUNT; i++)
        ADD(mod_text[i], mod, i);
    for (int i = 1; i < PTX_SPECIAL_ENVREG; i++)
        ADD(special_info[i].text, special, i);
#undef ADD
    return true;
}

ptx_word ptx_words_find(const ptx_words *words, const char *text, size_t length)
{
    const ptx_entry *entry = ptx_table_find(&words->table, text, length);
    return entry ? *(const ptx_word *)entry->value : (ptx_word){0};
}
