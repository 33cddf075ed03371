/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Accesses, points and faults, case by case; test_access_random.c has the rest. */
#include "support/support.h"

#include "base/alloc.h"
#include "memory/access.h"

static const acu_device none; /* its ordinal is 0 */
enum { HOME = 1 };

static acui_accesses accesses;
static struct {
    acui_point *point;
    bool data;
} told[16];
static size_t told_count;

static void tell(void *context, acui_point *before, const acui_extent *extent, bool data)
{
    (void)context, (void)extent;
    assert_true(told_count < 16);
    told[told_count].point = before;
    told[told_count++].data = data;
}

static void enter_extent(acui_point *point, acui_extent extent, acu_access access)
{
    told_count = 0;
    acui_order_lock(HOME);
    bool room = acui_accesses_enter(&accesses, 100, point, extent, access, tell, NULL);
    acui_order_unlock(HOME);
    assert_true(room);
}

static void enter(acui_point *point, uint64_t begin, uint64_t end, acu_access access)
{
    enter_extent(point, acui_extent_range(begin, end), access);
}

static bool was_told(const acui_point *point, bool data)
{
    for (size_t i = 0; i < told_count; i++)
        if (told[i].point == point && told[i].data == data)
            return true;
    return false;
}

static void over(acui_point *point, bool failed)
{
    acui_order_lock(HOME);
    point->state = ACUI_POINT_OVER;
    acui_fault_release(point->fault);
    point->fault = failed ? acui_fault_no_memory() : NULL;
    acui_order_unlock(HOME);
}

static acui_point *a, *b, *c, *d;

static int setup(void **state)
{
    (void)state;
    a = acui_point_new(&none);
    b = acui_point_new(&none);
    c = acui_point_new(&none);
    d = acui_point_new(&none);
    return !(a && b && c && d);
}

static int teardown(void **state)
{
    (void)state;
    acui_order_lock(HOME);
    acui_accesses_clear(&accesses);
    acui_order_unlock(HOME);
    acui_point_release(a);
    acui_point_release(b);
    acui_point_release(c);
    acui_point_release(d);
    assert_int_equal(acu_debug_live_blocks(), 0);
    return 0;
}

static void readers_come_behind_the_writer_and_not_one_another(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_WRITE);
    assert_int_equal(told_count, 0);
    enter(b, 0, 50, ACU_READ);
    assert_int_equal(told_count, 1);
    assert_true(was_told(a, true));
    enter(c, 20, 100, ACU_READ);
    assert_int_equal(told_count, 1);
    assert_true(was_told(a, true));
}

static void a_writer_comes_behind_readers_and_writer(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_WRITE);
    enter(b, 0, 50, ACU_READ);
    enter(c, 0, 100, ACU_WRITE);
    assert_int_equal(told_count, 2);
    assert_true(was_told(a, false));
    assert_true(was_told(b, false));
    assert_int_equal(accesses.count, 1);
    enter(d, 0, 100, ACU_UPDATE);
    assert_int_equal(told_count, 1);
    assert_true(was_told(c, true));
}

static void disjoint_parts_are_independent(void **state)
{
    (void)state;
    enter(a, 0, 40, ACU_WRITE);
    enter(b, 40, 80, ACU_UPDATE);
    assert_int_equal(told_count, 0);
    enter(c, 80, 1000, ACU_WRITE); /* cut to the buffer */
    assert_int_equal(told_count, 0);
    assert_int_equal(accesses.list[2].extent.end, 100);
    enter(d, 39, 41, ACU_READ);
    assert_int_equal(told_count, 2);
    enter(d, 50, 50, ACU_WRITE); /* of nothing */
    assert_int_equal(told_count, 0);
    assert_int_equal(accesses.count, 4);
}

static void what_is_over_is_forgotten(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_WRITE);
    over(a, false);
    enter(b, 0, 100, ACU_READ);
    assert_int_equal(told_count, 0);
    over(b, true); /* a reader's failure affects nobody */
    enter(c, 0, 100, ACU_UPDATE);
    assert_int_equal(told_count, 0);
    assert_int_equal(accesses.count, 1);
}

static void a_failed_write_is_told_until_it_is_overwritten(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_WRITE);
    over(a, true);
    enter(b, 10, 20, ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
    over(b, true);
    enter(b, 10, 20, ACU_WRITE); /* in the middle: three parts */
    assert_int_equal(told_count, 0); /* nothing to wait for, nothing read */
    over(b, false);
    enter(c, 10, 20, ACU_READ);
    assert_int_equal(told_count, 0);
    enter(c, 0, 10, ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
    enter(c, 20, 30, ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
    over(c, true);
    enter(d, 0, 10, ACU_WRITE);
    enter(d, 20, 100, ACU_WRITE);
    over(d, false);
    enter(c, 0, 100, ACU_READ);
    assert_int_equal(told_count, 0);
}

static void an_update_does_not_heal(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_WRITE);
    over(a, true);
    enter(b, 0, 100, ACU_UPDATE);
    assert_true(told_count == 1 && was_told(a, true));
    over(b, true); /* as the engine does it */
    enter(c, 0, 1, ACU_READ);
    assert_true(told_count == 1 && was_told(b, true));
}

static void one_point_may_touch_as_it_likes(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_READ);
    enter(a, 0, 100, ACU_WRITE);
    assert_int_equal(told_count, 0);
    enter(a, 10, 20, ACU_READ);
    assert_int_equal(told_count, 0);
    assert_int_equal(accesses.count, 1);
    enter(b, 0, 100, ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
}

static void many_readers_take_memory_and_give_it_back(void **state)
{
    (void)state;
    acui_point *points[50];
    for (int i = 0; i < 50; i++) {
        points[i] = acui_point_new(&none);
        assert_non_null(points[i]);
        enter(points[i], (uint64_t)i, 100, ACU_READ);
    }
    assert_int_equal(accesses.count, 50);
    for (int i = 0; i < 50; i++)
        over(points[i], false);
    enter(a, 0, 100, ACU_WRITE);
    assert_int_equal(accesses.count, 1);
    for (int i = 0; i < 50; i++)
        acui_point_release(points[i]);
}

static void room_that_can_not_be_had_is_said(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        enter(a, 10 * i, 10 * i + 10, ACU_READ);
    acui_order_lock(HOME);
    acu_debug_fail_alloc(1, true);
    bool more = acui_accesses_enter(&accesses, 100, b, acui_extent_range(50, 60), ACU_READ, tell,
                                    NULL);
    acu_debug_fail_alloc(0, false);
    acui_order_unlock(HOME);
    assert_false(more);
    assert_int_equal(accesses.count, 4);
    enter(b, 50, 60, ACU_READ);
    assert_int_equal(accesses.count, 5);
}

static void a_points_last_reference_may_go_under_the_lock(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    acui_point *point = acui_point_new(&none);
    assert_non_null(point);
    point->stream = stream;
    point->allocation = true; /* such a point holds its stream */
    point->state = ACUI_POINT_ISSUED;
    point->number = 1;
    enter(point, 0, 100, ACU_WRITE);
    acui_point_release(point);
    acui_order_lock(HOME);
    acui_accesses_clear(&accesses);
    size_t under = acu_debug_live(ACU_OBJECT_STREAM);
    acui_order_unlock(HOME);
    assert_int_equal(acu_debug_live(ACU_OBJECT_STREAM), under - 1); /* no driver call under it */
    test_close(device);
    assert_int_equal(acu_driver_live(ACU_DRIVER_KIND_STREAM), 0);
}

static void faults_are_counted(void **state)
{
    (void)state;
    acu_error error = {.status = ACU_ERR_LIMIT, .message = "too much"};
    acui_fault *fault = acui_fault_new(&error);
    assert_non_null(fault);
    assert_ptr_equal(acui_fault_retain(fault), fault);
    acui_fault_release(fault);
    assert_string_equal(fault->error.message, "too much");
    acui_fault_release(fault);
    acui_fault_release(NULL);
    assert_null(acui_fault_retain(NULL));
    acu_debug_fail_alloc(1, false);
    fault = acui_fault_new(&error); /* says that there is no memory */
    acu_debug_fail_alloc(0, false);
    assert_int_equal(acui_fault_status(fault), ACU_ERR_NO_MEMORY);
    acui_fault_release(fault);
    assert_int_equal(acui_fault_status(NULL), ACU_OK);
}

/* Column `from` to `to` of a matrix with ten rows of ten bytes. */
static acui_extent columns(uint64_t from, uint64_t to)
{
    return (acui_extent){
        .begin = from, .end = 90 + to, .pitch = 10, .width = (uint32_t)(to - from)};
}

static void columns_do_not_wait_for_one_another(void **state)
{
    (void)state;
    enter(a, 0, 100, ACU_WRITE);
    enter_extent(b, columns(0, 3), ACU_WRITE);
    assert_true(told_count == 1 && was_told(a, false));
    enter_extent(c, columns(3, 5), ACU_UPDATE);
    assert_true(told_count == 1 && was_told(a, true));
    enter_extent(d, columns(2, 3), ACU_READ);
    assert_true(was_told(b, true) && !was_told(c, true));
    enter_extent(d, columns(5, 10), ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
    enter(d, 25, 30, ACU_READ); /* the part of row 2 to the right of both */
    assert_true(told_count == 1 && was_told(a, true));
    enter(d, 25, 31, ACU_READ); /* and one of row 3 */
    assert_true(told_count == 2 && was_told(b, true));
}

static void a_column_that_is_overwritten_is_whole_again(void **state)
{
    (void)state;
    enter_extent(a, columns(0, 3), ACU_WRITE);
    enter_extent(b, columns(3, 4), ACU_READ);
    over(a, true);
    enter_extent(c, columns(1, 2), ACU_WRITE); /* a part: the rest still failed */
    enter_extent(d, columns(2, 3), ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
    over(c, false);
    enter_extent(d, columns(0, 3), ACU_WRITE);
    enter_extent(b, columns(0, 3), ACU_READ);
    assert_true(told_count == 1 && was_told(d, true));
    enter(d, 0, 100, ACU_WRITE);
    assert_int_equal(accesses.count, 1);
}

static void a_write_without_an_entry_is_told_until_all_is_overwritten(void **state)
{
    (void)state;
    acui_order_lock(HOME);
    acui_accesses_lose(&accesses, a);
    acui_accesses_lose(&accesses, b); /* one is enough */
    acui_order_unlock(HOME);
    enter(c, 0, 10, ACU_READ);
    assert_true(told_count == 1 && was_told(a, true));
    enter(c, 10, 100, ACU_WRITE); /* a part: which part failed is not known */
    assert_int_equal(told_count, 0);
    over(a, true);
    over(c, false);
    enter(d, 20, 30, ACU_UPDATE);
    assert_true(was_told(a, true));
    enter(b, 0, 100, ACU_UPDATE); /* its failure, from now on */
    assert_true(was_told(a, true));
    enter(c, 0, 10, ACU_READ);
    assert_true(told_count == 1 && was_told(b, true));
    enter(d, 0, 100, ACU_WRITE);
    acui_order_lock(HOME);
    acui_accesses_lose(&accesses, a);
    acui_order_unlock(HOME);
    enter(d, 0, 100, ACU_WRITE);
    enter(c, 0, 10, ACU_READ);
    assert_true(told_count == 1 && was_told(d, true));
    acui_order_lock(HOME);
    acui_accesses_lose(&accesses, a); /* goes with the list */
    acui_order_unlock(HOME);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(readers_come_behind_the_writer_and_not_one_another),
        TEST(a_writer_comes_behind_readers_and_writer),
        TEST(disjoint_parts_are_independent),
        TEST(what_is_over_is_forgotten),
        TEST(a_failed_write_is_told_until_it_is_overwritten),
        TEST(an_update_does_not_heal),
        TEST(one_point_may_touch_as_it_likes),
        TEST(many_readers_take_memory_and_give_it_back),
        TEST(columns_do_not_wait_for_one_another),
        TEST(a_column_that_is_overwritten_is_whole_again),
        TEST(room_that_can_not_be_had_is_said),
        TEST(a_write_without_an_entry_is_told_until_all_is_overwritten),
        TEST(a_points_last_reference_may_go_under_the_lock),
        TEST(faults_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
