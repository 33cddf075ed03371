/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where results go, and launches of built-in kernels (ops.h). Without elements there are no blocks,
 * and such a launch does nothing. */
#include "ops/ops.h"

acu_op *acui_result(acu_planning *p, const char *name, acu_dtype dtype, acu_shape shape)
{
    if (p->out.kind == ACU_NONE)
        return acu_op_named(acu_op_empty(dtype, shape, p->site), name);
    char have[ACUI_OPS_WORDS], want[ACUI_OPS_WORDS];
    if (acu_tensor_dtype(p->out.tensor) != dtype)
        return acu_op_fail(ACU_ERR_DTYPE, name, p->site,
                           "the result of %s is %s, and can not go to "
                           "%s",
                           name, acui_words(dtype, shape, want), acui_value_words(&p->out, have));
    if (!acu_shape_equal(acu_tensor_shape(p->out.tensor), shape))
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site,
                           "the result of %s is %s, and can not go to "
                           "%s",
                           name, acui_words(dtype, shape, want), acui_value_words(&p->out, have));
    if (!acu_tensor_writable(p->out.tensor))
        return acu_op_fail(ACU_ERR_SHARED, name, p->site,
                           "%s has elements that share memory, or is "
                           "for reading only: no result can go there",
                           acui_value_words(&p->out, have));
    for (size_t i = 0; i < p->count; i++)
        if (p->values[i].tensor && acui_overlaps(p->out.tensor, p->values[i].tensor))
            return acu_op_fail(ACU_ERR_SHARED, name, p->site, "the result of %s would overwrite "
                               "operand %zu (%s) before it is read: they overlap, and are not the "
                               "same tensor", name, i, acui_value_words(&p->values[i], have));
    return acu_op_take(&p->out, p->site);
}

int64_t acui_blocks(int64_t elements, int64_t each)
{
    const int64_t most = 16384; /* with more work than this, blocks take several turns */
    int64_t blocks = acui_parts(elements, each);
    return blocks < most ? blocks : most;
}

static void drop(const acu_arg *args, size_t count, acu_planning *p)
{
    /* A launch without a kernel is refused, and consumes its arguments all the same. */
    acu_op_release(acu_op_launch(NULL, NULL, args, count, p->site));
}

acu_op *acui_launch_as(acu_planning *p, const char *name, const char *family, const char *kernel,
                       acu_config config, const acu_arg *args, size_t count)
{
    acu_kernel *found;
    if (acu_kernel_find(p->device, family, kernel, &found) != ACU_OK) {
        acu_op *failed = acu_op_fail(acu_last_error()->status, name, p->site, NULL);
        drop(args, count, p);
        return failed;
    }
    acu_op *launch = acu_op_launch(found, &config, args, count, p->site);
    acu_kernel_release(found);
    return acu_op_named(launch, name);
}

acu_op *acui_launch_of(acu_planning *p, const char *name, const char *family, const char *kernel,
                       int64_t blocks, int threads, const acu_arg *args, size_t count)
{
    acu_config config = ACU_GRID_BLOCK(blocks, 1, 1, threads, 1, 1);
    return acui_launch_as(p, name, family, kernel, config, args, count);
}

acu_op *acui_launch(acu_planning *p, const char *name, const char *family, const char *kernel,
                    int64_t blocks, const acu_arg *args, size_t count)
{
    return acui_launch_of(p, name, family, kernel, blocks, ACUI_BLOCK, args, count);
}

acu_op *acui_run(acu_planning *p, const char *name, const char *family, const char *kernel,
                 int64_t blocks, const acu_arg *args, size_t count)
{
    return acu_op_nth(acui_launch(p, name, family, kernel, blocks, args, count), 0, p->site);
}
