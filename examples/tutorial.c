/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The program of docs/tutorial.md: eight steps from opening a device to a graph. A sensor's
 * readings are copied to the device, smoothed by a kernel, and summed up.
 */
#include <acuda/acuda.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

extern const char tutorial_ptx[];

enum { N = 1000, BATCHES = 4 };

static void check(acu_status status)
{
    char text[1024];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s\n", text);
    exit(1);
}

/* 1: open a device. */
static acu_device *step_open(void)
{
    acu_device *device;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    check(acu_open(&options, &device));
    printf("1: device %d is open\n", acu_device_info_of(device)->ordinal);
    return device;
}

/* 2: copy to the device and back. */
static acu_tensor *step_copy(acu_device *device)
{
    static float readings[N], back[N];
    for (int i = 0; i < N; i++)
        readings[i] = 20.0f + (float)(i % 3);
    acu_tensor *x;
    check(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(N), &x));
    check(acu_write_sync(x, readings, sizeof readings));
    check(acu_read_sync(x, back, sizeof back));
    printf("2: the last reading came back as %g\n", back[N - 1]);
    return x;
}

/* 3: a built-in operation. */
static void step_mean(acu_device *device, acu_tensor *x)
{
    float mean;
    acu_tensor *result;
    check(acu_sync(device, acu_mean(x, ACU_ALL), &result));
    check(acu_read_sync(result, &mean, sizeof mean));
    printf("3: the mean is %.3f\n", mean);
    acu_tensor_release(result);
}

/* 4: a kernel of one's own. */
static acu_kernel *step_kernel(acu_device *device, acu_tensor *x)
{
    acu_module *module;
    acu_kernel *smooth;
    check(acu_module_load(device, ACU_PTX(NULL, tutorial_ptx), &module));
    check(acu_kernel_get(module, "smooth", &smooth));
    acu_module_release(module); /* the kernel keeps it */

    acu_tensor *y;
    float first;
    acu_op *out = acu_zeros(ACU_F32, ACU_SHAPE(N));
    acu_op *op = acu_launch(smooth, acu_for_num_elems(N), acu_out(out), acu_in(x), acu_i32(N));
    check(acu_sync(device, acu_first(op), &y));
    acu_tensor *head;
    check(acu_tensor_slice(y, (int64_t[]){0}, (int64_t[]){1}, &head));
    check(acu_read_sync(head, &first, sizeof first));
    printf("4: the first reading, smoothed, is %.3f\n", first);
    acu_tensor_release(head);
    acu_tensor_release(y);
    return smooth;
}

/* 5: compose. Nothing runs here: what is returned is a description. */
static acu_op *spread(acu_kernel *smooth, acu_tensor *x)
{
    acu_op *out = acu_zeros(ACU_F32, ACU_SHAPE(N));
    acu_op *smoothed = acu_first(
        acu_launch(smooth, acu_for_num_elems(N), acu_out(out), acu_in(x), acu_i32(N)));
    acu_op *both = acu_share(smoothed); /* two operations read it */
    acu_op *highest = acu_max_of(acu_op_retain(both), ACU_ALL);
    return acu_to_host(acu_sub(highest, acu_min_of(both, ACU_ALL)));
}

static void step_compose(acu_device *device, acu_kernel *smooth, acu_tensor *x)
{
    acu_future *future;
    check(acu_submit(device, spread(smooth, x), NULL, &future)); /* returns at once */
    check(acu_future_wait(future, ACU_FOREVER));
    const float *value = acu_tensor_host(acu_future_tensor(future, 0));
    printf("5: smoothed readings are %.3f apart\n", *value);
    acu_future_release(future);
}

/* 6: wait in a loop, for many submissions at once. */
static void step_loop(acu_device *device, acu_kernel *smooth, acu_tensor *x)
{
    acu_queue *queue;
    uint64_t sum = 0;
    check(acu_queue_create(NULL, &queue));
    for (uint64_t i = 0; i < BATCHES; i++) {
        acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = i};
        check(acu_submit(device, spread(smooth, x), &options, NULL));
    }
    for (size_t left = BATCHES; left > 0;) {
        struct pollfd waits = {.fd = acu_queue_fd(queue), .events = POLLIN};
        poll(&waits, 1, -1); /* and for sockets, and whatever else */
        acu_completion done[8];
        size_t count;
        check(acu_queue_take(queue, done, 8, &count));
        for (size_t i = 0; i < count; i++) {
            sum += done[i].tag;
            acu_future_release(done[i].future);
        }
        left -= count;
    }
    printf("6: %d batches came back, and their numbers add up to %d\n", BATCHES, (int)sum);
    acu_queue_release(queue);
}

/* 7: errors. */
static void step_errors(acu_device *device, acu_kernel *smooth, acu_tensor *x)
{
    acu_op *wrong = acu_launch(smooth, acu_for_num_elems(N), acu_inout(x)); /* two are missing */
    acu_status status = acu_submit(device, wrong, NULL, NULL);
    printf("7: %s: %s\n", acu_status_name(status), acu_last_error()->message);
}

/* 8: a graph: the same work again and again, as one call of the driver. */
static void step_graph(acu_device *device, acu_kernel *smooth, acu_tensor *x)
{
    acu_graph *graph;
    float mean;
    acu_tensor *y, *result;
    check(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(N), &y));
    acu_op *there = acu_launch(smooth, acu_for_num_elems(N), acu_out(y), acu_in(x), acu_i32(N));
    acu_op *back = acu_launch(smooth, acu_for_num_elems(N), acu_out(x), acu_in(y), acu_i32(N));
    check(acu_graph_load(device, acu_zip(there, back), NULL, &graph));
    for (int i = 0; i < 100; i++)
        check(acu_submit(device, acu_replay(graph), NULL, NULL)); /* in order: they share x */
    check(acu_sync(device, acu_mean(x, ACU_ALL), &result));
    check(acu_read_sync(result, &mean, sizeof mean));
    printf("8: after 200 rounds the mean is %.3f\n", mean);
    acu_tensor_release(result);
    acu_tensor_release(y);
    acu_graph_release(graph);
}

int main(void)
{
    acu_device *device = step_open();
    acu_tensor *x = step_copy(device);
    step_mean(device, x);
    acu_kernel *smooth = step_kernel(device, x);
    step_compose(device, smooth, x);
    step_loop(device, smooth, x);
    step_errors(device, smooth, x);
    step_graph(device, smooth, x);
    acu_tensor_release(x);
    acu_kernel_release(smooth);
    check(acu_close(device));
    return 0;
}
