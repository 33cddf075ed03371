/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Explaining: parts, streams, waits and why, graphs and why not; ops before they are submitted. */
#include "support/support.h"

#include <acuda/explain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };
#define VECTOR ACU_SHAPE(N)

extern const char test_explain_ptx[];

static char text[16384];

static void explain(acu_future *future, acu_explain_form form)
{
    size_t needed = 0;
    assert_works(acu_explain(future, form, text, sizeof text, &needed));
    assert_int_equal(needed, strlen(text) + 1);
}

/* All of the words, separated by |, in this order. */
static void says(const char *words)
{
    char list[512], *rest = list;
    const char *at = text;
    snprintf(list, sizeof list, "%s", words);
    for (char *word; (word = strtok_r(rest, "|", &rest));) {
        const char *found = strstr(at, word);
        if (!found)
            fail_msg("\"%s\" is not in, or not behind the one before:\n%s", word, text);
        at = found + strlen(word);
    }
}

static void says_not(const char *words)
{
    if (strstr(text, words))
        fail_msg("\"%s\" is in:\n%s", words, text);
}

static acu_future *submit_on(acu_device *device, acu_op *op, acu_stream *stream, const char *name)
{
    acu_submit_options options = {
        .size = sizeof options, .explain = true, .stream = stream, .name = name};
    acu_future *future;
    assert_works(acu_submit(device, op, &options, &future));
    return future;
}

static void drop(acu_future *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

static acu_tensor *zeros(acu_device *device)
{
    acu_tensor *x;
    assert_works(acu_sync(device, acu_zeros(ACU_U32, VECTOR), &x));
    return x;
}

static acu_op *add(acu_kernel *kernel, acu_tensor *x, uint32_t n)
{
    return acu_launch(kernel, acu_for_num_elems(N), acu_inout(x), acu_u32(n), acu_u32(N));
}

/* ---- what is waited for, and why ---- */

static void streams_and_waits(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *a, *b;
    assert_works(acu_stream_create(device, 0, &a));
    assert_works(acu_stream_create(device, 0, &b));
    acu_tensor *x = zeros(device), *y = zeros(device);
    test_gate_close(device, acu_stream_raw(a));
    acu_future *first = submit_on(device, acu_fill(x, acu_u32(1)), a, "first");
    acu_future *reads = submit_on(device, acu_copy(y, x), b, NULL);
    acu_future *again = submit_on(device, acu_copy(y, x), b, NULL);
    acu_future *writes = submit_on(device, acu_fill(x, acu_u32(2)), a, NULL);
    explain(first, ACU_EXPLAIN_TEXT);
    says("submission \"first\": 1 part, in flight|part 1: device 0, stream |, signal 1|0 fill|test_explain.c:");
    unsigned number;
    assert_int_equal(sscanf(strstr(text, ", stream "), ", stream %u", &number), 1);
    explain(reads, ACU_EXPLAIN_TEXT);
    says("part 1: device 0|behind|test_explain.c:|reads what that wrote: waits for an event of stream");
    char event[64];
    snprintf(event, sizeof event, "an event of stream %u\n", number);
    says(event);
    explain(reads, ACU_EXPLAIN_DOT);
    says("w1_0 [shape=plaintext, label=\"|test_explain.c:|\"];|"
         "w1_0 -> n1_0 [label=\"reads what that wrote\", style=bold]");
    explain(again, ACU_EXPLAIN_TEXT);
    says("overwrites what that uses: on the same stream: no wait");
    says("reads what that wrote: implied by an earlier wait for stream");
    explain(writes, ACU_EXPLAIN_TEXT);
    says("overwrites what that uses: waits for an event of stream");
    says("on the same stream: no wait");
    test_gate_open();
    drop(first);
    drop(reads);
    drop(again);
    assert_works(acu_future_wait(writes, ACU_FOREVER));
    explain(writes, ACU_EXPLAIN_TEXT); /* also when it is over */
    says("submission: 1 part, complete|waits for an event");
    drop(writes);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_stream_release(a);
    acu_stream_release(b);
    test_close(device);
    test_leaks_none();
}

static acu_status touch(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_status refuse(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_IO;
}

static void host_parts(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host, *x = zeros(device);
    assert_works(acu_tensor_alloc_pinned(device, ACU_U32, VECTOR, &host));
    acu_op *in = acu_host(touch, NULL, acu_inout(acu_first(acu_copy(host, x))));
    acu_future *future = submit_on(device, acu_copy(x, in), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("3 parts, complete|part 1: device 0|0 copy|part 2: host work|behind part 1, reads what that wrote|"
         "held back on the host|host|part 3: device 0|behind part 2, reads what that wrote");
    explain(future, ACU_EXPLAIN_DOT);
    says("digraph submission {|subgraph cluster_1|part 2: host|n1_0 -> n2_0|reads what that wrote|}");
    acu_future_release(future);
    /* What is only passed on is waited for. */
    future = submit_on(device, acu_value(x), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("1 part, complete|part 1: no work|await");
    acu_future_release(future);
    acu_tensor_release(host);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* What waits for host work, and what never ran because of a failure. */
/* An op that is used several times, in ops that are used several times themselves, is no part of
 * its own if nobody else has any of them; nor does anything wait for it as a whole. */
static acu_op *diamond(void)
{
    acu_op *x = acu_zeros(ACU_U32, VECTOR), *y = acu_add(acu_dup(acu_op_retain(x)), 1);
    acu_op *again = acu_op_retain(y);
    return acu_zip(acu_dup(x), acu_dup(y), acu_dup(again));
}

static void ops_used_several_times_in_one_place(void **state)
{
    (void)state;
    acu_device *device = test_open();
    drop(submit_on(device, diamond(), NULL, NULL)); /* loads the kernel */
    acu_future *future = submit_on(device, diamond(), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("1 part, complete");
    acu_future_release(future);
    future = submit_on(device, acu_or_else(diamond(), diamond()), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("part 1: device|part 2: no work|part 3: host work|decide|part 4: ");
    drop(future);
    test_close(device);
    test_leaks_none();
}

static void parts_that_are_not_issued_say_so(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host, *x = zeros(device);
    assert_works(acu_tensor_alloc_pinned(device, ACU_U32, VECTOR, &host));
    test_host_gate_close();
    acu_op *in = acu_host(test_pass_host_gate, NULL, acu_out(host));
    acu_future *future = submit_on(device, acu_copy(x, in), NULL, NULL);
    for (int turn = 0; turn < 2; turn++) {
        explain(future, ACU_EXPLAIN_TEXT);
        says("2 parts|part 1: host work|part 2: device 0, not issued|node 0: not issued");
        explain(future, ACU_EXPLAIN_DOT);
        says("part 1: host|part 2: device 0, not issued");
        says_not("stream");
        if (turn == 0) {
            assert_works(acu_future_cancel(future));
            test_host_gate_open();
            assert_works(acu_device_wait(device, ACU_FOREVER));
        }
    }
    acu_future_release(future);
    acu_tensor_release(host);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- graphs ---- */

static acu_op *two(acu_kernel *kernel, acu_tensor *x, uint32_t n)
{
    acu_op *ops[] = {add(kernel, x, n), add(kernel, x, 7)};
    return acu_op_zip(ops, 2, ACU_SITE);
}

static void explain_one(acu_device *device, acu_op *op)
{
    acu_future *future = submit_on(device, op, NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    acu_future_release(future);
}

static void graphs_and_why_not(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = test_kernel(device, test_explain_ptx, "add");
    acu_tensor *x = zeros(device);
    explain_one(device, two(kernel, x, 1));
    says("nodes 0 to 1: directly; its signature was not seen before|0 launch add|1 launch add|, after 0");
    explain_one(device, two(kernel, x, 1));
    assert_works(acu_graph_cache_wait(device));
    explain_one(device, two(kernel, x, 1));
    says("nodes 0 to 1: an executable graph; 0 of 2 nodes set");
    explain_one(device, two(kernel, x, 2));
    says("an executable graph; 1 of 2 nodes set");
    assert_works(acu_graph_cache_limit(device, 0));
    explain_one(device, two(kernel, x, 2));
    says("directly; executable graphs are switched off");
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    test_close(device);
    test_leaks_none();
}

static void warm_submissions_have_graphs_made(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = test_kernel(device, test_explain_ptx, "add");
    acu_tensor *x = zeros(device);
    acu_submit_options options = {.size = sizeof options, .warm = true};
    acu_future *future;
    assert_works(acu_submit(device, two(kernel, x, 1), &options, &future));
    drop(future);
    assert_works(acu_graph_cache_wait(device));
    explain_one(device, two(kernel, x, 1));
    says("an executable graph");
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    test_close(device);
    test_leaks_none();
}

/* The same nodes, each with as many predecessors, but other ones. */
static void signatures_differ_in_what_comes_behind_what(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = test_kernel(device, test_explain_ptx, "add");
    acu_tensor *x = zeros(device), *y = zeros(device);
    for (int turn = 0; turn < 4; turn++) {
        acu_op *ops[] = {add(kernel, x, 1), add(kernel, y, 1), add(kernel, turn < 3 ? x : y, 2)};
        explain_one(device, acu_op_zip(ops, 3, ACU_SITE));
        assert_works(acu_graph_cache_wait(device));
        if (turn > 1)
            says(turn < 3 ? "an executable graph|, after 0\n"
                          : "its signature was not seen before|, after 1\n");
    }
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_kernel_release(kernel);
    test_close(device);
    test_leaks_none();
}

/* Writes of parts of a tensor do not make the record forget the rest. */
static void order_inside_a_part(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device), *y = zeros(device), *left, *right;
    assert_works(acu_tensor_slice(x, (int64_t[]){0}, (int64_t[]){N / 2}, &left));
    assert_works(acu_tensor_slice(x, (int64_t[]){N / 2}, (int64_t[]){N}, &right));
    acu_op *ops[] = {acu_fill(x, acu_u32(1)), acu_copy(y, x), acu_fill(left, acu_u32(2)),
                     acu_fill(right, acu_u32(3)), acu_copy(y, x)};
    acu_future *future = submit_on(device, acu_op_zip(ops, 5, ACU_SITE), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("0 fill|1 copy|, after 0\n|2 fill|, after 1\n|3 fill|, after 1\n|4 copy|, after 2, 3\n");
    explain(future, ACU_EXPLAIN_DOT);
    says("n1_4 [|n1_0 -> n1_1;|n1_1 -> n1_2;|n1_1 -> n1_3;|n1_2 -> n1_4;|n1_3 -> n1_4;");
    acu_future_release(future);
    acu_tensor_release(left);
    acu_tensor_release(right);
    acu_tensor_release(x);
    acu_tensor_release(y);
    test_close(device);
    test_leaks_none();
}

static acu_op *fill_both(void *user, acu_val *values, size_t count)
{
    acu_tensor **both = user;
    (void)values, (void)count;
    return acu_zip(acu_fill(both[0], acu_u32(1)), acu_fill(both[1], acu_u32(1)));
}

/* Only the first of those that come behind many has an edge from each. */
static void many_in_front_of_several(void **state)
{
    enum { MANY = 70 };
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x, *both[] = {zeros(device), zeros(device)};
    acu_op *ops[MANY];
    assert_works(acu_tensor_alloc(device, ACU_U32, ACU_SHAPE(MANY), &x));
    for (int i = 0; i < MANY; i++)
        ops[i] = acu_fill(acu_slice(x, ACU_SHAPE(i), ACU_SHAPE(i + 1)), acu_u32(1));
    acu_op *op = acu_then(acu_op_zip(ops, MANY, ACU_SITE), fill_both, both);
    acu_future *future = submit_on(device, op, NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("1 part|70 fill|, after 0, 1, |, 68, 69\n|71 fill|, after 70\n");
    drop(future);
    acu_tensor_release(x);
    acu_tensor_release(both[0]);
    acu_tensor_release(both[1]);
    test_close(device);
    test_leaks_none();
}

/* Pieces of a submission with rules of their own, and what becomes of them. */
static void children(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device), *y = zeros(device), *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_U32, VECTOR, &host));
    acu_op *shared = acu_fill(y, acu_u32(1));
    acu_op *tried = acu_or_else(acu_host(refuse, NULL, acu_inout(host)),
                                acu_host(touch, NULL, acu_out(host)));
    acu_op *other = acu_or_else(acu_fill(x, acu_u32(3)), acu_fill(x, acu_u32(4)));
    acu_op *last = acu_finally(acu_op_retain(shared), other);
    acu_future *future = submit_on(device, acu_zip(tried, last), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("complete|child 1: what or_else tries, |test_explain.c:|; failed\n"
         "child 2: the alternative of or_else, |; taken\n|"
         "child 3: fill, which others use too, |\n"
         "child 4: what finally runs, |\nchild 5, in child 4: what or_else tries, |\n"
         "child 6, in child 4: the alternative of or_else, |; not taken\n|"
         "part 1: host work|  in child 1\n|part 2: |  in child 2\n|  in child 3\n|  in child 5\n|"
         "  in child 6\n");
    explain(future, ACU_EXPLAIN_DOT);
    says("label=\"part 1: host, child 1\";");
    drop(future);
    future = submit_on(device, acu_zip(shared), NULL, NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("no work|  stands for fill, |test_explain.c:|, which another submission planned\n");
    drop(future);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
}

/* On a single stream they run one by one, whatever memory is allocated between them. */
static void in_order_on_one_stream(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_submit_options options = {.size = sizeof options, .explain = true};
    acu_op *ops[] = {acu_full(VECTOR, acu_u32(1)), acu_full(VECTOR, acu_u32(2)),
                     acu_full(VECTOR, acu_u32(3))};
    acu_future *future;
    assert_works(acu_policy_single(device, NULL, &options.policy));
    assert_works(acu_submit(device, acu_op_zip(ops, 3, ACU_SITE), &options, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    explain(future, ACU_EXPLAIN_TEXT);
    says("0 fill|1 fill|, after 0\n|2 fill|, after 1\n");
    acu_future_release(future);
    acu_policy_release(options.policy);
    test_close(device);
    test_leaks_none();
}

static void branches(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *kernel = test_kernel(device, test_explain_ptx, "add");
    acu_tensor *x = zeros(device), *y = zeros(device);
    acu_op *ops[] = {add(kernel, x, 1), add(kernel, y, 1)};
    explain_one(device, acu_op_zip(ops, 2, ACU_SITE));
    says("its signature was not seen before; on 2 streams|0 launch|1 launch");
    says_not("after 0");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_kernel_release(kernel);
    test_close(device);
    test_leaks_none();
}

/* ---- ops ---- */

static void ops_before_they_are_submitted(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    acu_op *shared = acu_op_retain(acu_dup(x));
    acu_op *op = acu_op_zip((acu_op *[]){acu_fill(x, acu_u32(1)), shared}, 2, ACU_SITE);
    size_t needed;
    assert_works(acu_explain_op(op, ACU_EXPLAIN_TEXT, text, sizeof text, &needed));
    assert_int_equal(needed, strlen(text) + 1);
    says("0 zip|test_explain.c:|of 1, 2|1 fill|2 dup|value u32 [64]");
    assert_works(acu_explain_op(op, ACU_EXPLAIN_DOT, text, sizeof text, NULL));
    says("digraph op {|o0 [label=\"zip|o1 -> o0|}");
    char few[12];
    assert_works(acu_explain_op(op, ACU_EXPLAIN_TEXT, few, sizeof few, &needed));
    assert_int_equal(strlen(few), sizeof few - 1);
    assert_true(needed > sizeof few);
    assert_works(acu_explain_op(op, ACU_EXPLAIN_TEXT, NULL, 0, &needed));
    assert_works(acu_sync(device, op, NULL)); /* it was not used up */
    assert_works(acu_explain_op(shared, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    says("0 dup (planned)");
    acu_op_release(shared);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* A part of the op was handed over, and a runtime thread is planning it at this moment, which takes
 * that part away piece by piece. */
static void a_part_is_being_planned(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    acu_tensor *x = zeros(device);
    acu_future *future;
    test_host_gate_close();
    acu_op *waits = acu_then(acu_value(x), test_plan_behind_host_gate, NULL);
    acu_op *part = acu_zip(waits, acu_dup(acu_dup(x)));
    acu_op *all = acu_zip(acu_op_retain(part), acu_zeros(ACU_U32, ACU_SHAPE(3)));
    assert_works(acu_submit(device, part, NULL, &future));
    test_host_gate_await();
    assert_works(acu_explain_op(all, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    says("0 zip|of 1, 2|1 zip (being planned)|2 fill|empty");
    size_t count;
    assert_fails(acu_op_describe(device, all, NULL, 0, &count), ACU_ERR_INVALID, "submitted");
    says_not("dup");
    assert_works(acu_explain_op(all, ACU_EXPLAIN_DOT, text, sizeof text, NULL));
    says_not("dup");
    test_host_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_explain_op(all, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    says("1 zip (planned)");
    acu_op_release(all);
    drop(future);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* The same at arbitrary moments: for the sanitizers. */
static void parts_are_planned_meanwhile(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    acu_tensor *x = zeros(device);
    size_t count;
    for (int i = 0; i < 200; i++) {
        acu_op *part = acu_dup(x);
        for (int k = 0; k < 10; k++)
            part = acu_zip(acu_fill(acu_nth(part, 0), acu_u32(1)), acu_dup(x));
        acu_op *all = acu_zip(acu_op_retain(part), acu_dup(x));
        assert_works(acu_submit(device, part, NULL, NULL));
        for (int k = 0; k < 3; k++) {
            assert_works(acu_explain_op(all, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
            says("0 zip|of 1, 2");
            acu_status st = acu_op_describe(device, all, NULL, 0, &count);
            assert_true(st == ACU_OK || st == ACU_ERR_INVALID);
        }
        acu_op_release(all);
    }
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static void wrong_uses_are_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = zeros(device);
    acu_future *future;
    assert_works(acu_submit(device, acu_fill(x, acu_u32(1)), NULL, &future));
    assert_fails(acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL), ACU_ERR_INVALID,
                 "explain");
    drop(future);
    future = submit_on(device, acu_fill(x, acu_u32(1)), NULL, NULL);
    assert_fails(acu_explain(future, ACU_EXPLAIN_TEXT, NULL, 10, NULL), ACU_ERR_INVALID, "NULL");
    assert_fails(acu_explain(future, (acu_explain_form)7, text, 10, NULL), ACU_ERR_INVALID, "7");
    drop(future);
    acu_group *group;
    assert_works(acu_group_create(NULL, &group));
    assert_works(acu_group_finish(group, &future));
    assert_fails(acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL), ACU_ERR_INVALID,
                 "a load or a group");
    drop(future);
    acu_group_release(group);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_and_waits),
        cmocka_unit_test(host_parts),
        cmocka_unit_test(ops_used_several_times_in_one_place),
        cmocka_unit_test(parts_that_are_not_issued_say_so),
        cmocka_unit_test(graphs_and_why_not),
        cmocka_unit_test(warm_submissions_have_graphs_made),
        cmocka_unit_test(signatures_differ_in_what_comes_behind_what),
        cmocka_unit_test(order_inside_a_part),
        cmocka_unit_test(many_in_front_of_several),
        cmocka_unit_test(children),
        cmocka_unit_test(in_order_on_one_stream),
        cmocka_unit_test(branches),
        cmocka_unit_test(ops_before_they_are_submitted),
        cmocka_unit_test(a_part_is_being_planned),
        cmocka_unit_test(parts_are_planned_meanwhile),
        cmocka_unit_test(wrong_uses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
