/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Children of a submission: how they nest while it is planned, who uses them, and what that means
 * for failures (child.h). */
#include "op/child.h"

#include "base/alloc.h"
#include "base/error.h"
#include "op/import.h"

#include <pthread.h>
#include <string.h>

/* ---- planning ---- */

static acui_child *new_child(acui_plan *plan, const acu_op *op, acui_child_kind kind)
{
    acui_child *child = ACUI_NEW(acui_child);
    if (!child) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
        return NULL;
    }
    acui_child *parent = plan->now.child;
    child->kind = kind;
    child->name = op->class->name;
    child->site = op->site;
    atomic_store_explicit(&child->refs, 1, memory_order_relaxed);
    child->parent = child->within = parent;
    child->depth = parent ? parent->depth + 1 : 0;
    child->outer = kind == ACUI_CHILD_SHARED ? NULL : parent;
    child->shared = kind == ACUI_CHILD_SHARED ? child : parent ? parent->shared : NULL;
    child->last = kind == ACUI_CHILD_FINALLY ? child : parent ? parent->last : NULL;
    child->other = kind == ACUI_CHILD_ELSE ? child : child->shared == child ? NULL
                   : parent                                                 ? parent->other
                                                                            : NULL;
    child->domain = kind != ACUI_CHILD_SHARED ? child : parent ? parent->domain : NULL;
    child->since = plan->imported;
    child->before = plan->here;
    return child;
}

/* From now on others may see it, where the submission is given up while it is planned. */
static void add(acui_plan *plan, acui_child *child);

acui_child *acui_child_begin(acui_plan *plan, const acu_op *op, acui_child_kind kind)
{
    acui_child *child = new_child(plan, op, kind);
    if (!child)
        return NULL;
    add(plan, child);
    plan->splits = true;
    return child;
}

static uint32_t context_bytes(const acui_context *context)
{
    uint32_t bytes = 0;
    for (; context; context = context->outer)
        bytes += (uint32_t)strlen(context->text) + 2; /* ": " */
    return bytes;
}

acu_status acui_child_begin_shared(acui_plan *plan, acu_op *op)
{
    acui_child *child = new_child(plan, op, ACUI_CHILD_SHARED);
    if (!child)
        return ACU_ERR_NO_MEMORY;
    atomic_store_explicit(&child->refs, 2, memory_order_relaxed); /* one of the op, */
    atomic_store_explicit(&child->users, 1, memory_order_relaxed); /* which is a user */
    atomic_store_explicit(&child->plan, plan, memory_order_relaxed);
    child->begin = plan->count;
    child->around = context_bytes(plan->now.context);
    op->rest->child = child;
    acui_usage_begin(plan, &child->usage, child);
    add(plan, child);
    return ACU_OK;
}

void acui_child_end(acui_plan *plan, acui_child *child)
{
    child->end = plan->count;
    plan->now.child = child->parent;
    plan->here = child->before;
}

/* Under order locks, because some of it may be in flight already, where a `then` submitted by
 * itself. */
void acui_child_refuse(acui_plan *plan, acui_child *child)
{
    acui_fault *fault = acui_fault_new(acui_error());
    acui_homes homes = acui_order_lock_all_of(&plan->homes);
    plan->refused = plan->fails = child->refused = true;
    if (!child->fault)
        child->fault = acui_fault_retain(fault);
    acui_order_unlock(homes);
    acui_fault_release(fault);
}

/* ---- new nodes become tasks ---- */

/* Whether all between the child and the one that its users are in are joined. */
static bool is_used_in_place(const acui_child *child)
{
    const acui_child *parent = child->parent;
    while (parent != child->within && parent->joined)
        parent = parent->parent;
    return parent == child->within;
}

/* With what the child stops, which only its plan uses: what all users are in, or what an op stops
 * with that it is a part of. */
static acui_child *bound_of(const acui_child *child)
{
    acui_child *bound = child->within;
    for (const acui_child *p = child->parent; bound && p != child->within; p = p->parent)
        if (p->kind == ACUI_CHILD_SHARED && (!p->outer || p->outer->depth < bound->depth))
            bound = p->outer;
    return bound;
}

void acui_children_close(acui_plan *plan)
{
    for (acui_child *child = plan->children; child; child = child->next)
        child->joined = child->kind == ACUI_CHILD_SHARED;
}

/* ---- users ---- */

/* Guards the counts of users, and the lists of what each uses. A leaf. */
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t users_of(const acui_child *child)
{
    return atomic_load_explicit(&child->users, memory_order_relaxed);
}

static void set_users(acui_child *child, uint32_t users)
{
    atomic_store_explicit(&child->users, users, memory_order_relaxed);
}

/* Users lock held, as for those below. */
static void end_uses(acui_usage **list)
{
    acui_usage *todo = *list;
    *list = NULL;
    while (todo) {
        acui_usage *usage = todo;
        acui_child *child = usage->of;
        todo = usage->next;
        usage->of = NULL;
        set_users(child, users_of(child) - 1);
        if (users_of(child) > 0 || !child->uses)
            continue;
        acui_usage **end = &child->uses; /* nobody uses it, so it uses nothing */
        while (*end)
            end = &(*end)->next;
        *end = todo;
        todo = child->uses;
        child->uses = NULL;
    }
}

static void drop_user(acui_child *child)
{
    set_users(child, users_of(child) - 1);
    if (users_of(child) == 0)
        end_uses(&child->uses);
}

/* Until its plan is unwanted, the submission is a user of what it planned. */
static bool is_ours(const acui_plan *plan, const acui_child *child)
{
    return child->kind == ACUI_CHILD_SHARED && !plan->unwanted;
}

static void add(acui_plan *plan, acui_child *child)
{
    pthread_mutex_lock(&users_lock);
    if (is_ours(plan, child))
        set_users(child, users_of(child) + 1);
    child->next = plan->children;
    plan->children = plan->now.child = child;
    plan->here = NULL;
    pthread_mutex_unlock(&users_lock);
}

void acui_usage_begin(acui_plan *plan, acui_usage *usage, acui_child *of)
{
    acui_child *user = acui_child_user(plan->now.child);
    if (!user && acui_child_in(of, plan))
        return; /* the submission is one of its users anyway */
    pthread_mutex_lock(&users_lock);
    if (user ? user->kind == ACUI_CHILD_FINALLY || users_of(user) > 0 : !plan->unwanted) {
        acui_usage **list = user ? &user->uses : &plan->uses_of_ops;
        *usage = (acui_usage){.next = *list, .of = of};
        *list = usage;
        set_users(of, users_of(of) + 1);
    }
    pthread_mutex_unlock(&users_lock);
}

/* The child is joined: what it uses is used by what it was planned in, which needs no count of its
 * own for what was planned in there, nor one that is unwanted. */
static void hand_uses_up(acui_plan *plan, acui_child *child)
{
    acui_child *user = acui_child_user(child->parent);
    acui_usage **list = user ? &user->uses : &plan->uses_of_ops, *next, *rest = NULL;
    for (acui_usage *usage = child->uses; usage; usage = next) {
        next = usage->next;
        bool inside = acui_child_in(usage->of, plan) && acui_child_is_within(usage->of, user);
        acui_usage **to = inside || (!user && plan->unwanted) ? &rest : list;
        usage->next = *to;
        *to = usage;
    }
    child->uses = NULL;
    end_uses(&rest);
}

/* Whether the child is used by what it was planned in, and maybe in there, but by nobody else. The
 * op of it is there. */
static bool has_one_user(const acui_plan *plan, const acui_child *child)
{
    return users_of(child) == 1u + is_ours(plan, child) + (child->usage.of != NULL);
}

void acui_children_look(acui_plan *plan, uint32_t first)
{
    if (!plan->unpublished)
        return;
    pthread_mutex_lock(&users_lock);
    /* If the reference of this list is all there is, nobody has the op or can get it. An op comes
     * before those that were planned as parts of it, and before those that it uses. */
    for (const acu_op *op = plan->unpublished; op; op = op->rest->next_unpublished) {
        acui_child *child = op->rest->child;
        if (acui_object_refs(op) > 1 || child->begin < first || !has_one_user(plan, child))
            continue;
        child->joined = !child->domain || is_used_in_place(child);
        child->outer = child->joined ? child->parent : bound_of(child);
        if (child->joined)
            hand_uses_up(plan, child);
    }
    pthread_mutex_unlock(&users_lock);
}

/* Whether a finally never runs as the submission is given up: it is in an alternative whose turn
 * has not come. One of an op with other users may come yet. */
static bool is_left_out(const acui_child *last)
{
    const acui_child *child = last->parent;
    while (child && child->kind != ACUI_CHILD_FINALLY &&
           !(child->kind == ACUI_CHILD_ELSE && acui_child_turn(child) == ACUI_TURN_OPEN))
        child = child->parent;
    return child && child->kind == ACUI_CHILD_ELSE && !last->shared;
}

void acui_children_unwanted(acui_plan *plan)
{
    pthread_mutex_lock(&users_lock);
    acui_child *child = plan->unwanted ? NULL : plan->children;
    for (; child; child = child->next) {
        if (is_ours(plan, child))
            drop_user(child);
        if (child->kind == ACUI_CHILD_FINALLY && is_left_out(child))
            end_uses(&child->uses);
    }
    plan->unwanted = true;
    end_uses(&plan->uses_of_ops);
    pthread_mutex_unlock(&users_lock);
}

void acui_child_op_gone(acui_child *child)
{
    if (!child)
        return;
    pthread_mutex_lock(&users_lock);
    drop_user(child);
    pthread_mutex_unlock(&users_lock);
    acui_child_release(child);
}

/* ---- the end ---- */

static void free_child(acui_child *child, acui_child **dead)
{
    while (child->points) {
        acui_shared_point *shared = child->points;
        child->points = shared->next;
        acui_point_release(shared->point);
        acui_free(shared);
    }
    while (child->inside) { /* it may be the last to hold these, and so on */
        acui_child *inside = child->inside;
        child->inside = inside->next_inside;
        if (acui_refs_drop(&inside->refs)) {
            inside->next = *dead;
            *dead = inside;
        }
    }
    acui_fault_release(child->fault);
    acui_free(child);
}

void acui_child_release(acui_child *child)
{
    if (!acui_refs_drop(&child->refs))
        return;
    child->next = NULL; /* no plan has it any more */
    for (acui_child *dead = child; dead;) {
        child = dead;
        dead = child->next;
        free_child(child, &dead);
    }
}

void acui_children_clear(acui_plan *plan)
{
    if (!plan->children && !plan->imported)
        return;
    pthread_mutex_lock(&users_lock);
    acui_child *list = plan->children;
    for (acui_child *child = list; child; child = child->next) {
        if (is_ours(plan, child))
            drop_user(child);
        end_uses(&child->uses);
    }
    end_uses(&plan->uses_of_ops);
    plan->children = plan->now.child = NULL;
    pthread_mutex_unlock(&users_lock);
    acui_import_clear(plan);
    while (list) {
        acui_child *child = list;
        list = child->next;
        atomic_store_explicit(&child->plan, NULL, memory_order_relaxed);
        acui_child_release(child);
    }
}

/* ---- points ---- */

/* A SHARED one has a point of this home, and so has each that it is inside of: note that, and put
 * each into the list `inside` of the next one. */
static void link(acui_child *child, acui_homes home)
{
    while (child) {
        acui_child *around = acui_child_for_others(child->parent);
        acui_homes known = atomic_fetch_or_explicit(&child->homes, home, memory_order_relaxed);
        if (known & home)
            return;
        if (around && !known) {
            acui_child_retain(child);
            child->whole = around;
            child->caught = acui_child_is_caught(child, around);
            child->next_inside = around->inside;
            around->inside = child;
        }
        child = around;
    }
}

void acui_child_add_point(acui_child *child, acui_point *point, acui_shared_point *shared)
{
    acui_child *owner = acui_child_for_others(child);
    shared->point = acui_point_retain(point);
    shared->caught = acui_child_is_caught(child, owner);
    shared->next = owner->points;
    owner->points = shared;
    link(owner, point->home);
}

bool acui_child_each_point(const acui_child *child, acui_point_fn fn, void *context)
{
    const acui_child *at = child, *catcher = NULL; /* the outermost on the way that is `caught` */
    for (;;) {
        for (const acui_shared_point *p = at->points; p; p = p->next)
            if (!fn(context, p->point, catcher || p->caught))
                return false;
        const acui_child *next = at->inside;
        while (!next && at != child) {
            catcher = catcher == at ? NULL : catcher;
            next = at->next_inside;
            at = at->whole;
        }
        if (!next)
            return true;
        at = next;
        catcher = catcher ? catcher : at->caught ? at : NULL;
    }
}

/* ---- failures ---- */

const acui_child *acui_child_refused(const acui_plan *plan, const acui_child *child)
{
    while (plan->refused && child && !child->refused)
        child = child->outer;
    return plan->refused ? child : NULL;
}

const acui_child *acui_child_other(const acui_child *child)
{
    while (child && !child->other)
        child = child->shared ? child->shared->outer : NULL;
    return child ? child->other : NULL;
}

/* If its turn has come, so has that of all alternatives around it. */
bool acui_child_is_spared(const acui_child *child, bool decides)
{
    const acui_child *other = acui_child_other(child);
    if (other && decides) {
        if (!other->tried->fault)
            return true;
        other = acui_child_other(other->outer);
    }
    return other && acui_child_turn(other) != ACUI_TURN_COME;
}

/* Whether a failure that gets to the child goes no further. What runs whether or not an alternative
 * does fails that by an AWAIT of the alternative's. */
static bool ends_at(const acui_child *child, const acui_child **bound)
{
    bool stops = child == *bound; /* what failed stops with it */
    if (stops)
        *bound = child->outer;
    return child->kind == ACUI_CHILD_TRY || (child->kind == ACUI_CHILD_ELSE && !stops);
}

bool acui_child_is_caught(const acui_child *child, const acui_child *end)
{
    const acui_child *bound = child;
    while (child != end && !ends_at(child, &bound))
        child = child->parent;
    return child != end;
}

bool acui_child_fail(acui_child *child, acui_fault *fault)
{
    const acui_child *bound = child;
    bool ended = false;
    for (; child && !ended; child = child->parent) {
        ended = child->fault || ends_at(child, &bound); /* those around it were told before */
        if (child->fault || (ended && child->kind == ACUI_CHILD_ELSE))
            continue;
        child->fault = acui_fault_retain(fault);
    }
    return !ended;
}
