/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The smallest program: prints which driver and device it found, and runs a kernel that greets from
 * the device. */
#include "example.h"

extern const char hello_ptx[];

int main(void)
{
    char text[2048];
    acu_device *device = open_device();
    acu_driver_describe(text, sizeof text);
    printf("%s\ndevice 0: %s\n", text, acu_device_info_of(device)->name);
    fflush(stdout);

    acu_kernel *hello = load_kernel(device, hello_ptx, "hello");
    acu_op *greetings = acu_zeros(ACU_U32, ACU_SHAPE(1));
    acu_op *greeted = acu_launch(hello, ACU_GRID_BLOCK(2, 1, 1, 3, 1, 1), acu_inout(greetings));
    acu_tensor *tensor;
    unsigned count;
    check(acu_sync(device, greeted, &tensor));
    check(acu_read_sync(tensor, &count, sizeof count));
    printf("%u greetings\n", count);

    acu_tensor_release(tensor);
    acu_kernel_release(hello);
    check(acu_close(device));
    return count == 6 ? 0 : 1;
}
