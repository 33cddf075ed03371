/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Places .shared variables. A function can be called by several kernels, so a variable has one
 * offset in the whole module; but a kernel must not pay for what it does not use. So the variables
 * of each kernel are found through its calls, and each variable gets the first place that is free
 * in all kernels that use it.
 */
#include "ptx/parser.h"

#include <stdlib.h>

/* What a kernel can have without asking for more at launch. */
enum { SHARED_STATIC_MAX = 48 * 1024 };

/* With more uses than this the exact method is too slow; then every variable gets a place of its
 * own. */
enum { USES_MAX = 4 * 1000 * 1000 };

typedef struct use {
    uint32_t var; /* index in p->shared */
    ptx_fn *kernel;
} use;

typedef struct layout {
    ptx_parser *p;
    ptx_vec uses;  /* use */
    ptx_vec stack; /* ptx_fn * still to be walked */
    ptx_vec taken; /* ptx_fn *: functions whose address is taken */
    uint32_t stamp;
    size_t steps;
} layout;

static void reach(layout *l, ptx_fn *fn)
{
    if (fn->visit == l->stamp)
        return;
    fn->visit = l->stamp;
    *(ptx_fn **)ptx_push(l->p, &l->stack, sizeof fn) = fn;
}

static void add_use(layout *l, ptx_fn *kernel, const ptx_var *var)
{
    if (var->dynamic) {
        ptx_function *out = &kernel->out;
        out->uses_dynamic_shared = true;
        /* Holds the alignment until the static size is known. */
        if (out->dynamic_shared_offset < var->align)
            out->dynamic_shared_offset = var->align;
        return;
    }
    *(use *)ptx_push(l->p, &l->uses, sizeof(use)) = (use){(uint32_t)var->offset, kernel};
}

/* Collects the uses of everything that can run under `kernel`. */
static void walk_kernel(layout *l, ptx_fn *kernel)
{
    l->stamp++;
    reach(l, kernel);
    while (l->stack.count > 0 && l->steps < USES_MAX) {
        ptx_fn *fn = ((ptx_fn **)l->stack.items)[--l->stack.count];
        ptx_fn **callees = fn->callees.items;
        ptx_var **shared = fn->shared.items;
        l->steps += 1 + fn->callees.count + fn->shared.count;
        for (size_t i = 0; i < fn->callees.count; i++)
            reach(l, callees[i]);
        for (size_t i = 0; i < fn->shared.count; i++)
            add_use(l, kernel, shared[i]);
        if (fn->calls_indirectly) {
            ptx_fn **taken = l->taken.items;
            l->steps += l->taken.count;
            for (size_t i = 0; i < l->taken.count; i++)
                reach(l, taken[i]);
        }
    }
    l->stack.count = 0;
}

static int compare_uses(const void *a, const void *b)
{
    const use *x = a, *y = b;
    if (x->var != y->var)
        return x->var < y->var ? -1 : 1;
    const uint32_t i = x->kernel->out.index, j = y->kernel->out.index;
    return i < j ? -1 : i > j;
}

/* Places a variable at the first place that is free in the kernels of uses[0 .. count - 1]. */
static void place_shared(layout *l, ptx_var *var, use *uses, size_t count)
{
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (end < uses[i].kernel->out.shared_bytes)
            end = uses[i].kernel->out.shared_bytes;
    }
    ptx_place(l->p, var, &end, NULL);
    for (size_t i = 0; i < count; i++)
        uses[i].kernel->out.shared_bytes = end;
}

static void place_exactly(layout *l)
{
    use *uses = l->uses.items;
    ptx_var **vars = l->p->shared.items;
    const size_t count = l->uses.count;
    if (count > 1)
        qsort(uses, count, sizeof *uses, compare_uses);
    /* Variables that several kernels share come first: they leave no holes in any of them. */
    for (int shared = 1; shared >= 0; shared--) {
        for (size_t i = 0, next; i < count; i = next) {
            bool several = false;
            for (next = i + 1; next < count && uses[next].var == uses[i].var; next++)
                several |= uses[next].kernel != uses[i].kernel;
            if (several == (shared == 1))
                place_shared(l, vars[uses[i].var], uses + i, next - i);
        }
    }
}

static void place_apart(layout *l)
{
    ptx_parser *p = l->p;
    ptx_var **vars = p->shared.items;
    ptx_fn **fns = p->fns.items;
    uint64_t end = 0;
    for (size_t i = 0; i < p->shared.count; i++) {
        if (!vars[i]->dynamic)
            ptx_place(p, vars[i], &end, NULL);
    }
    for (size_t i = 0; i < p->fns.count; i++) {
        if (fns[i]->out.is_kernel) {
            fns[i]->out.shared_bytes = end;
            fns[i]->out.uses_dynamic_shared = true;
            fns[i]->out.dynamic_shared_offset = 16;
        }
    }
}

static void finish_kernel(ptx_parser *p, ptx_function *out)
{
    if (out->shared_bytes > SHARED_STATIC_MAX)
        ptx_fail(p, out->line, "kernel %s uses %llu bytes of static shared memory, more than %d",
                 out->name, (unsigned long long)out->shared_bytes, SHARED_STATIC_MAX);
    const uint64_t align = out->dynamic_shared_offset ? out->dynamic_shared_offset : 1;
    out->dynamic_shared_offset = (out->shared_bytes + align - 1) / align * align;
}

void ptx_layout_shared(ptx_parser *p)
{
    layout l = {.p = p};
    ptx_var **vars = p->shared.items;
    ptx_fn **fns = p->fns.items;
    for (size_t i = 0; i < p->shared.count; i++)
        vars[i]->offset = vars[i]->dynamic ? 0 : i; /* its index, until it has a place */
    for (size_t i = 0; i < p->fns.count; i++) {
        if (fns[i]->address_taken)
            *(ptx_fn **)ptx_push(p, &l.taken, sizeof(ptx_fn *)) = fns[i];
    }
    for (size_t i = 0; i < p->fns.count; i++) {
        if (fns[i]->out.is_kernel)
            walk_kernel(&l, fns[i]);
    }
    if (l.steps < USES_MAX) {
        place_exactly(&l);
    } else {
        place_apart(&l);
    }
    for (size_t i = 0; i < p->fns.count; i++) {
        if (fns[i]->out.is_kernel)
            finish_kernel(p, &fns[i]->out);
    }
}
