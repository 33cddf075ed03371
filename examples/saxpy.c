/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * y = 2 x + y, composed before anything runs. x and y are created on the device, y is partitioned
 * into tiles, one per block, and the result is y as a whole again.
 */
#include "example.h"

extern const char saxpy_ptx[];

int main(void)
{
    acu_device *device = open_device();
    acu_kernel *saxpy = load_kernel(device, saxpy_ptx, "saxpy");

    acu_op *x = acu_ones(ACU_F32, ACU_SHAPE(16, 16));
    acu_op *y = acu_partition(acu_zeros(ACU_F32, ACU_SHAPE(16, 16)), ACU_SHAPE(4, 4));
    acu_op *z = acu_launch(saxpy, ACU_BLOCK(4, 4), acu_inout(y), acu_f32(2.0f), acu_in(x));

    acu_tensor *result;
    float sum = 0.0f, host[16 * 16];
    check(acu_sync(device, acu_unpartition(acu_first(z)), &result));
    check(acu_read_sync(result, host, sizeof host));
    for (int i = 0; i < 16 * 16; i++)
        sum += host[i];
    printf("the sum of 256 elements is %g\n", sum);

    acu_tensor_release(result);
    acu_kernel_release(saxpy);
    check(acu_close(device));
    return sum == 512.0f ? 0 : 1;
}
