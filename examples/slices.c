/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A batch of three in one buffer: each row is a slice, with a kernel of its own. The three run as
 * separate submissions. They touch different bytes, so they are not ordered among each other; the
 * copy of the whole buffer is ordered behind all of them.
 */
#include "example.h"

extern const char slices_ptx[];

enum { N = 100 };

int main(void)
{
    static const char *const names[3] = {"double_it", "negate", "add_index"};
    acu_device *device = open_device();
    acu_module *module = load_module(device, slices_ptx);
    acu_tensor *batch;
    float host[3][N];
    for (int i = 0; i < 3 * N; i++)
        host[i / N][i % N] = (float)i;
    check(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(3, N), &batch));
    check(acu_write_sync(batch, host, sizeof host));

    for (int row = 0; row < 3; row++) {
        acu_kernel *kernel = get_kernel(module, names[row]);
        acu_tensor *slice;
        check(acu_tensor_slice(batch, (int64_t[]){row, 0}, (int64_t[]){row + 1, N}, &slice));
        check(acu_submit(device,
                         acu_launch(kernel, acu_for_num_elems(N), acu_inout(slice), acu_u32(N)),
                         NULL, NULL));
        acu_tensor_release(slice); /* work in flight keeps it */
        acu_kernel_release(kernel);
    }
    acu_module_release(module);
    check(acu_read_sync(batch, host, sizeof host));

    int right = 0;
    for (int i = 0; i < N; i++)
        right += host[0][i] == 2.0f * (float)i && host[1][i] == -(float)(N + i) &&
                 host[2][i] == (float)(2 * N + i + i);
    printf("%d of %d columns are right\n", right, N);
    acu_tensor_release(batch);
    check(acu_close(device));
    return right == N ? 0 : 1;
}
