/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acuda.hpp: owners give back what they hold, errors are thrown with their record, and a coroutine
 * goes on where it should. */
#include <acuda/acuda.hpp>

#include <thread>
#include <type_traits>

extern "C" {
#include "support/support.h"
}

static acu::device open_device()
{
    acu_open_options options = test_options(0);
    return acu::open(options);
}

static acu::tensor ones(acu_device *device)
{
    acu::tensor made;
    acu::check(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(4)), made.out()));
    return made;
}

static void assert_all(const acu::tensor &tensor, float want)
{
    float have[4] = {0, 0, 0, 0};
    acu::check(acu_read_sync(tensor, have, sizeof have));
    for (float x : have)
        assert_true(x == want);
}

static acu_status refuse(void *, const acu_val *, size_t)
{
    return ACU_ERR_IO;
}

/* Not over before test_host_gate_open. */
static acu::future submit_held(acu_device *device)
{
    test_host_gate_close();
    return acu::submit(device, acu_host(test_pass_host_gate, nullptr, acu_f32(0)));
}

/* ---- owners ---- */

static void values(void **)
{
    {
        acu::device device = open_device();
        acu::tensor x = ones(device);
        acu::future sum = acu::submit(device, acu_add(acu_mul(x, 2), x));
        acu::tensor y = acu::take(sum);
        acu::future more = acu::submit(device, acu_add(y, 1)); /* ordered behind it */
        assert_true(acu::wait(more));
        assert_true(acu::wait(sum)); /* another thread may be about to say so */
        assert_true(acu::done(sum));
        assert_all(y, 3);
        assert_all(acu::take(more), 4);
    }
    test_leaks_none();
}

static void copies_and_moves(void **)
{
    static_assert(!std::is_copy_constructible<acu::device>::value, "one owner closes");
    {
        acu::device device = open_device();
        acu::tensor x = ones(device), same = x, none;
        assert_true(same.get() == x.get());
        none = std::move(x);
        assert_null(x.get());
        x = none;
        acu::tensor &itself = same;
        same = itself;
        same = std::move(itself);
        x.out();
        assert_null(x.get());
        assert_all(same, 1);
        acu::tensor borrowed = acu::tensor::of(same);
        same = acu::tensor();
        none = acu::tensor();
        assert_all(borrowed, 1);
        acu_tensor *bare = borrowed.give();
        assert_null(borrowed.get());
        acu_tensor_release(bare);
        acu::device moved = std::move(device);
        assert_null(device.get());
        moved.close();
        assert_null(moved.get());
        device = std::move(moved);
    }
    test_leaks_none();
}

/* ---- errors ---- */

static void failures(void **)
{
    {
        acu::device device = open_device();
        acu::tensor x = ones(device);
        acu_status status = ACU_OK;
        try {
            acu::submit(device, acu_reshape(x, ACU_SHAPE(3)));
        } catch (const acu::error &e) {
            status = e.status();
            assert_non_null(strstr(e.what(), "ACU_ERR_SHAPE: "));
            assert_non_null(strstr(e.record().file, "test_owners.cpp"));
        }
        assert_int_equal(status, ACU_ERR_SHAPE);

        /* Of the submission, not of the thread's last call. */
        acu::future failed = acu::submit(device, acu_host(refuse, nullptr, acu_f32(0)));
        for (int i = 0; i < 2; i++)
            try {
                status = ACU_OK;
                i ? acu::done(failed) : acu::wait(failed);
            } catch (const acu::error &e) {
                status = e.status();
                assert_non_null(strstr(e.record().file, "test_owners.cpp"));
            }
        assert_int_equal(status, acu_future_error(failed, nullptr));
        assert_true(status < 0);
    }
    test_leaks_none();
}

static void not_an_error(void **)
{
    assert_int_equal(acu::check(ACU_TIMEOUT), ACU_TIMEOUT);
    bool thrown = false;
    try {
        acu::check(ACU_ERR_NO_MEMORY);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    assert_true(thrown);
    {
        acu::device device = open_device();
        acu::future held = submit_held(device);
        assert_false(acu::done(held));
        assert_false(acu::wait(held, 1000));
        test_host_gate_open();
        assert_true(acu::wait(held));
    }
    test_leaks_none();
}

/* ---- coroutines ---- */

#if defined(__cpp_impl_coroutine)
/* Runs at once, up to its first wait, and is gone after its last. */
struct task {
    struct promise_type {
        task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct seen {
    acu_status status = ACU_OK;
    std::thread::id thread;
    bool over = false;
};

static task follow(acu::future of, acu_queue *queue, seen *s)
{
    try {
        co_await acu::completion(of, queue);
    } catch (const acu::error &e) {
        s->status = e.status();
    }
    s->thread = std::this_thread::get_id();
    s->over = true;
}

static void in_a_loop(void **)
{
    {
        acu::device device = open_device();
        acu::queue queue;
        seen first, failed, at_once;
        acu::check(acu_queue_create(nullptr, queue.out()));
        acu::future held = submit_held(device);
        acu::future behind = acu::submit(device, acu_host(refuse, nullptr, acu_f32(0)));
        follow(held, queue, &first);
        follow(behind, queue, &failed);
        assert_false(first.over);
        test_host_gate_open();
        acu::wait(held);
        while (!first.over || !failed.over) {
            size_t count;
            acu_completion list[4];
            acu::check(acu_queue_wait(queue, list, 4, &count, ACU_FOREVER));
        }
        assert_int_equal(first.status, ACU_OK);
        assert_int_equal(failed.status, acu_future_error(behind, nullptr));
        assert_true(first.thread == std::this_thread::get_id());
        follow(held, nullptr, &at_once);
        assert_true(at_once.over);
    }
    test_leaks_none();
}

static void on_a_thread(void **)
{
    seen s;
    {
        acu::device device = open_device();
        acu::future held = submit_held(device);
        follow(held, nullptr, &s);
        test_host_gate_open();
        acu::check(acu_device_wait(device, ACU_FOREVER)); /* waits for callbacks, too */
        assert_true(s.over);
        assert_true(s.thread != std::this_thread::get_id());
    }
    test_leaks_none();
}
#endif

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(copies_and_moves),
        cmocka_unit_test(failures),
        cmocka_unit_test(not_an_error),
#if defined(__cpp_impl_coroutine)
        cmocka_unit_test(in_a_loop),
        cmocka_unit_test(on_a_thread),
#endif
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
