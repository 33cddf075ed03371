/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which pool new tensors come from: `with_pool` sets it for what is planned inside of it. */
#include "memory/pool.h"

#include "base/error.h"
#include "op/make.h"

acu_status acui_plan_pool(acu_pool *pool, acu_device *device, acu_buffer *buffer)
{
    if (!pool)
        return ACU_OK;
    if (pool->device != device) {
        ACUI_TRY(acui_device_check(pool->device)); /* if STALE, the ordinals may be the same */
        return acui_fail(ACU_ERR_DEVICE,
                         "a pool of device %d can give no memory for a tensor on device %d",
                         pool->device->info.ordinal, device->info.ordinal);
    }
    if (buffer)
        acui_buffer_set_pool(buffer, pool);
    return ACU_OK;
}

acu_status acui_plan_host_tensor(const acui_plan *plan, acu_device *device, acu_dtype dtype,
                                 acu_shape shape, acu_tensor **tensor)
{
    size_t bytes = 0;
    acu_buffer *buffer = NULL;
    acu_pool *pool = plan->pinned_pool;
    ACUI_TRY(acui_plan_pool(pool, device, NULL));
    if (!pool)
        pool = acui_pool_of(device, ACU_MEMORY_PINNED, false);
    if (!pool)
        return ACU_ERR_NO_MEMORY;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    ACUI_TRY(acui_buffer_soon(pool, bytes, &buffer));
    acu_status status = acu_tensor_create(buffer, 0, dtype, shape, tensor);
    acu_buffer_release(buffer);
    return status;
}

static acu_status plan_with_pool(acui_plan *plan, acu_op *op, acu_device *fallback,
                                 acui_values *values)
{
    acu_pool *pool = op->u.pool;
    acu_pool **now = pool->kind == ACU_MEMORY_DEVICE ? &plan->pool : &plan->pinned_pool;
    acu_pool *outer = *now;
    *now = pool;
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values);
    *now = outer;
    return status;
}

static void destroy_with_pool(acu_op *op)
{
    acu_pool_release(op->u.pool);
}

const acui_op_class acui_class_WITH_POOL = {
    .name = "with_pool", .plan = plan_with_pool, .destroy = destroy_with_pool, .passes = 1};

acu_op *acu_op_with_pool(acu_pool *pool, acu_op *x, acu_site site)
{
    if (acui_object_check(pool, ACU_OBJECT_POOL, "acu_with_pool") != ACU_OK) {
        acu_op_release(x);
        return acui_op_failed(&acui_class_WITH_POOL, site);
    }
    if (pool->kind == ACU_MEMORY_MANAGED) {
        acui_fail(ACU_ERR_INVALID, "acu_with_pool: no op allocates managed memory");
        acu_op_release(x);
        return acui_op_failed(&acui_class_WITH_POOL, site);
    }
    acu_op *op = acui_op_unary(&acui_class_WITH_POOL, x, site);
    if (!acui_op_is_oom(op))
        op->u.pool = acu_pool_retain(pool);
    return op;
}
