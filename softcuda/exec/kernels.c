/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernels of a module: which of them can run, how much stack their threads need, and what can
 * be asked about them. A kernel that can not run is refused when it is asked for, with the reason;
 * the others of its module are none the worse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/decode.h"

/* The stack of a thread if its need can not be told from the text: recursion, indirect calls. */
#define OPEN_STACK (32u * 1024)
/* What a thread can have. */
#define MOST_STACK (1u << 24)

/* ---- what a function calls ------------------------------------------------------------------- */

/* A function on the way from a kernel down to what it calls. */
typedef struct visit {
    const ptx_function *f;
    uint32_t next;    /* its next instruction to look at */
    uint64_t deepest; /* bytes of stack of what it calls, as far as known */
} visit;

enum { UNSEEN, ON_THE_WAY, KNOWN };

/* Visits all functions below one: by a list, not by recursion, since a text can have calls of any
 * depth. */
typedef struct walk {
    sx_module *m;
    uint8_t *state; /* by function */
    visit *way;     /* no function is on it twice */
    size_t depth;
} walk;

static void descend(walk *w, const ptx_function *f)
{
    w->state[f->index] = ON_THE_WAY;
    w->way[w->depth++] = (visit){.f = f};
}

static void need(visit *v, uint64_t bytes)
{
    v->deepest = bytes > v->deepest ? bytes : v->deepest;
}

/* One call of the function that the walk is at: what it needs, or a step down. */
static void look_at_call(walk *w, visit *v, const ptx_function *callee)
{
    const sx_code *code = callee ? &w->m->codes[callee->index] : NULL;
    if (!callee || w->state[callee->index] == ON_THE_WAY) {
        need(v, OPEN_STACK); /* through a pointer, or recursion */
    } else if (!callee->is_defined) {
        return; /* a builtin */
    } else if (w->state[callee->index] == UNSEEN) {
        v->next--; /* comes back to this call when it is known */
        descend(w, callee);
    } else {
        need(v, code->stack_bytes);
        sx_code *caller = &w->m->codes[v->f->index];
        if (!caller->refusal)
            caller->refusal = code->refusal;
    }
}

/* Bytes of stack for a function, its own and the deepest of what it calls; and, if something that
 * it calls can not run, why it can not either. */
static void know(walk *w, const ptx_function *f)
{
    if (w->state[f->index] == UNSEEN)
        descend(w, f);
    while (w->depth) {
        visit *v = &w->way[w->depth - 1];
        if (v->next < v->f->inst_count) {
            const ptx_inst *inst = &v->f->insts[v->next++];
            if (inst->op == PTX_OP_CALL)
                look_at_call(w, v, inst->call->callee);
            continue;
        }
        sx_code *code = &w->m->codes[v->f->index];
        const uint64_t own = code->local_bytes > 16 ? code->local_bytes : 16;
        const uint64_t all = own + v->deepest;
        code->stack_bytes = all > MOST_STACK ? MOST_STACK + 1 : (uint32_t)all;
        w->state[v->f->index] = KNOWN;
        w->depth--;
    }
}

/* ---- describing ------------------------------------------------------------------------------ */

static uint64_t product(const uint32_t v[3])
{
    const uint64_t plane = (uint64_t)v[0] * v[1]; /* 32 bits each */
    return plane > SX_MAX_WARPS * SX_LANES || v[2] > SX_MAX_WARPS * SX_LANES ? UINT64_MAX
                                                                             : plane * v[2];
}

static bool describe(sx_module *m, sx_kernel *k, uint64_t constant_bytes)
{
    const ptx_function *f = k->code->ptx;
    sx_kernel_info *info = &k->info;
    const uint64_t most = SX_MAX_WARPS * SX_LANES;
    const uint64_t threads = f->reqntid[0]   ? product(f->reqntid)
                             : f->maxntid[0] ? product(f->maxntid)
                                             : most;
    k->params = sx_own(m, (f->param_count + 1) * sizeof *k->params);
    if (!k->params)
        return false;
    for (uint32_t n = 0; n < f->param_count; n++)
        k->params[n] = (sx_param){(uint32_t)f->params[n]->offset, (uint32_t)f->params[n]->bytes};
    info->param_count = f->param_count;
    info->params = k->params;
    info->param_bytes = f->param_block;
    info->static_shared = f->shared_bytes;
    info->local = f->local_bytes;
    info->constant = constant_bytes;
    info->registers = f->reg_count > 255 ? 255 : f->reg_count < 1 ? 1 : f->reg_count;
    info->max_threads = (unsigned)(threads > most ? most : threads);
    for (unsigned n = 0; n < 3 && f->reqntid[0]; n++)
        info->required[n] = f->reqntid[n];
    info->ptx_version = m->ptx->version;
    info->target = m->ptx->target;
    return true;
}

/* ---- refusing -------------------------------------------------------------------------------- */

static const sx_error *refusal(sx_module *m, const ptx_function *f, const char *why)
{
    sx_error *error = sx_own(m, sizeof *error);
    if (!error)
        return NULL;
    error->code = SX_INVALID_PTX;
    error->line = f->line;
    snprintf(error->text, sizeof error->text, "PTX line %u: kernel %s %s", f->line, f->name, why);
    return error;
}

/* Whether no launch of the kernel can be right; its code then has the reason. False: no memory. */
static bool judge(sx_module *m, sx_code *code)
{
    const ptx_function *f = code->ptx;
    char why[96];
    if (code->refusal)
        return true;
    if (f->reqntid[0] && product(f->reqntid) > SX_MAX_WARPS * SX_LANES)
        snprintf(why, sizeof why, "requires blocks of %u x %u x %u threads, more than %d",
                 f->reqntid[0], f->reqntid[1], f->reqntid[2], SX_MAX_WARPS * SX_LANES);
    else if (code->stack_bytes > MOST_STACK)
        snprintf(why, sizeof why, "needs more than %u bytes of stack for each thread", MOST_STACK);
    else
        return true;
    code->refusal = refusal(m, f, why);
    return code->refusal != NULL;
}

static bool list(sx_module *m, walk *w)
{
    const ptx_module *ptx = m->ptx;
    uint64_t constant_bytes = 0;
    for (uint32_t n = 0; n < ptx->var_count; n++)
        constant_bytes += ptx->vars[n]->space == PTX_SPACE_CONST ? ptx->vars[n]->bytes : 0;
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = ptx->functions[n];
        if (!f->is_kernel || !f->is_defined)
            continue;
        know(w, f);
        if (!judge(m, &m->codes[n]))
            return false;
        if (m->codes[n].refusal)
            continue;
        sx_kernel *k = &m->kernels[m->kernel_count];
        k->module = m;
        k->code = &m->codes[n];
        k->local_bytes = k->code->stack_bytes;
        if (!describe(m, k, constant_bytes))
            return false;
        m->kernel_count++;
    }
    return true;
}

bool sx_list_kernels(sx_module *m)
{
    const size_t count = m->ptx->function_count;
    walk w = {.m = m, .state = calloc(count + 1, 1), .way = malloc((count + 1) * sizeof *w.way)};
    m->kernels = sx_own(m, (count + 1) * sizeof *m->kernels);
    const bool good = w.state && w.way && m->kernels && list(m, &w);
    free(w.state);
    free(w.way);
    return good;
}

/* ---- questions ------------------------------------------------------------------------------- */

const sx_kernel *sx_module_kernel(const sx_module *module, const char *name)
{
    for (size_t n = 0; n < module->kernel_count; n++)
        if (strcmp(module->kernels[n].code->ptx->name, name) == 0)
            return &module->kernels[n];
    return NULL;
}

size_t sx_module_kernel_count(const sx_module *module)
{
    return module->kernel_count;
}

const sx_kernel *sx_module_kernel_at(const sx_module *module, size_t index)
{
    return index < module->kernel_count ? &module->kernels[index] : NULL;
}

const sx_error *sx_module_refusal(const sx_module *module, const char *name)
{
    const ptx_function *f = ptx_find_function(module->ptx, name);
    return f && f->is_kernel && f->is_defined ? module->codes[f->index].refusal : NULL;
}

const char *sx_kernel_name(const sx_kernel *kernel)
{
    return kernel->code->ptx->name;
}

const sx_kernel_info *sx_kernel_info_of(const sx_kernel *kernel)
{
    return &kernel->info;
}
