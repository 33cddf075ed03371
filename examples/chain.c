/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Chaining and zipping: `then` continues with what an op yields, `zip` puts ops side by side,
 * `share` lets two of them read one tensor. All of it is one submission, and the host does not wait
 * in between.
 */
#include "example.h"

extern const char chain_ptx[];

enum { N = 1000, TILE = 128 };

typedef struct kernels {
    acu_kernel *scale, *add, *square;
} kernels;

static acu_op *scaled(const kernels *k, float factor, acu_op *x)
{
    acu_op *tiles = acu_partition(x, ACU_SHAPE(TILE));
    return acu_unpartition(
        acu_first(acu_launch(k->scale, ACU_BLOCK(TILE), acu_inout(tiles), acu_f32(factor))));
}

/* Receives the two vectors that zip yields, as handles: nothing has run on the device yet. */
static acu_op *add_and_square(void *user, acu_val *values, size_t count)
{
    const kernels *k = user;
    if (count != 2)
        return NULL;
    acu_op *sum = acu_partition(acu_take(&values[0]), ACU_SHAPE(TILE));
    sum = acu_first(
        acu_launch(k->add, ACU_BLOCK(TILE), acu_inout(sum), acu_in(acu_take(&values[1]))));
    return acu_unpartition(acu_launch(k->square, ACU_BLOCK(TILE), acu_inout(sum)));
}

int main(void)
{
    acu_device *device = open_device();
    acu_module *module = load_module(device, chain_ptx);
    kernels k = {.scale = get_kernel(module, "scale"),
                 .add = get_kernel(module, "add"),
                 .square = get_kernel(module, "square")};
    acu_module_release(module); /* its kernels keep it */

    /* Both branches read ones, and each works on a copy of it. */
    acu_op *ones = acu_share(acu_ones(ACU_F32, ACU_SHAPE(N)));
    acu_op *three = scaled(&k, 3.0f, acu_dup(acu_op_retain(ones)));
    acu_op *four = scaled(&k, 4.0f, acu_dup(ones));
    acu_op *all = acu_then(acu_zip(three, four), add_and_square, &k);

    acu_future *future;
    check(acu_submit(device, acu_to_host(all), NULL, &future));
    check(acu_future_wait(future, ACU_FOREVER));
    const float *host = acu_tensor_host(acu_future_tensor(future, 0));
    int right = 0;
    for (int i = 0; i < N; i++)
        right += host[i] == 49.0f;
    printf("(3 + 4)^2 is 49 in %d of %d elements\n", right, N);

    acu_future_release(future);
    acu_kernel_release(k.scale);
    acu_kernel_release(k.add);
    acu_kernel_release(k.square);
    check(acu_close(device));
    return right == N ? 0 : 1;
}
