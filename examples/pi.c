/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program of README.md: pi, from random points. Four batches run side by side, and a fifth
 * operation follows on what they yield. */
#include <acuda/acuda.h>
#include <stdio.h>

enum { BATCHES = 4, POINTS = 100000 };

/* The share of points of the unit square that are in the unit circle: pi / 4. It is a description:
 * nothing runs yet, and no memory is allocated. */
static acu_op *share_inside(unsigned seed)
{
    acu_op *points = acu_rand(ACU_F32, ACU_SHAPE(POINTS, 2), seed, 0);
    acu_op *inside = acu_le(acu_norm(points, ACU_DIMS(1)), 1);
    return acu_mean(acu_convert(inside, ACU_F32), ACU_ALL);
}

int main(void)
{
    acu_device *device;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    acu_status status = acu_open(&options, &device);

    acu_future *batch[BATCHES] = {0}, *last = NULL;
    for (unsigned i = 0; i < BATCHES && status == ACU_OK; i++) /* each returns at once */
        status = acu_submit(device, share_inside(i), NULL, &batch[i]);

    if (status == ACU_OK) { /* what they will yield can be used now: it runs when they are done */
        acu_op *sum = acu_scalar(acu_f32(0));
        for (unsigned i = 0; i < BATCHES; i++)
            sum = acu_add(sum, acu_future_tensor(batch[i], 0));
        status = acu_submit(device, acu_to_host(acu_mul(sum, 4.0 / BATCHES)), NULL, &last);
    }
    if (status == ACU_OK)
        status = acu_future_wait(last, ACU_FOREVER); /* or a poll, a callback, a file descriptor */
    if (status == ACU_OK)
        printf("pi is about %.4f\n", *(const float *)acu_tensor_host(acu_future_tensor(last, 0)));
    else
        fprintf(stderr, "%s\n", acu_last_error()->message);

    for (unsigned i = 0; i < BATCHES; i++)
        acu_future_release(batch[i]);
    acu_future_release(last);
    return status != ACU_OK || acu_close(device) != ACU_OK;
}
