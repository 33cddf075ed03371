/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda for C++17: owners of handles, exceptions, and with C++20 co_await. The rest is the C
 * interface as it is: its macros take C++ arguments, and an owner converts to the handle that it
 * holds.
 *
 *   acu::device device = acu::open();
 *   acu::tensor x, y;
 *   acu::check(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(16, 16)), x.out()));
 *   acu::future done = acu::submit(device, acu_add(x, 1));
 *   y = acu::take(done);             // can be used in the next op at once
 *   acu::wait(done);                 // throws acu::error, with the record of what failed
 *
 * Ops have no owner, because whoever takes one consumes it, on failure too: keep the bare pointer,
 * and give each op to one taker. Making an op never fails nor throws.
 *
 * Everything is inline: none of it is in the library.
 */
#ifndef ACUDA_ACUDA_HPP
#define ACUDA_ACUDA_HPP

#include <acuda/acuda.h>
#include <acuda/compile.h>
#include <acuda/file.h>
#include <acuda/infer.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace acu
{

/* ---- errors ---------------------------------------------------------------------------------- */

/* What a failed call or submission throws. what() is the status and the message of its record. */
class error : public std::runtime_error {
  public:
    explicit error(const acu_error &record) : std::runtime_error(text(record)), record_(record) {}

    acu_status status() const noexcept { return record_.status; }
    /* The op's name, file and line, the driver's call and code: status.h. */
    const acu_error &record() const noexcept { return record_; }

  private:
    static std::string text(const acu_error &record)
    {
        std::string text = acu_status_name(record.status);
        return record.message[0] ? text + ": " + record.message : text;
    }
    acu_error record_;
};

/* Throws what a call failed with; std::bad_alloc if that is host memory. Gives back ACU_OK,
 * ACU_NOT_READY and ACU_TIMEOUT, which are no errors. Only for calls of this thread whose record is
 * acu_last_error's; how a submission failed is on its future (wait, below). */
inline acu_status check(acu_status status)
{
    if (status >= 0)
        return status;
    if (status == ACU_ERR_NO_MEMORY)
        throw std::bad_alloc();
    throw error(*acu_last_error());
}

/* ---- owners ---------------------------------------------------------------------------------- */

namespace detail
{
template <class T> struct counted; /* not for acu_op: see above */
#define ACUI_COUNTED(name)                                                                         \
    template <> struct counted<acu_##name> {                                                       \
        static void retain(acu_##name *x) noexcept { acu_##name##_retain(x); }                     \
        static void release(acu_##name *x) noexcept { acu_##name##_release(x); }                   \
    };
ACUI_COUNTED(buffer)
ACUI_COUNTED(code)
ACUI_COUNTED(event)
ACUI_COUNTED(expression)
ACUI_COUNTED(external)
ACUI_COUNTED(file)
ACUI_COUNTED(future)
ACUI_COUNTED(graph)
ACUI_COUNTED(group)
ACUI_COUNTED(kernel)
ACUI_COUNTED(model)
ACUI_COUNTED(module)
ACUI_COUNTED(policy)
ACUI_COUNTED(pool)
ACUI_COUNTED(queue)
ACUI_COUNTED(stream)
ACUI_COUNTED(tensor)
#undef ACUI_COUNTED
} /* namespace detail */

/*
 * One reference to a handle, given back by the destructor; copies are further references. As with
 * any counted handle, releasing never blocks, and what is in flight keeps what it uses. Different
 * owners may be used by different threads, one owner by one at a time.
 */
template <class T> class handle {
  public:
    handle() noexcept = default;
    /* Takes over the caller's reference: what a function whose name says create, load or open, or
     * an output parameter, has given. */
    explicit handle(T *owned) noexcept : it(owned) {}
    /* A further reference to what is borrowed. */
    static handle of(T *borrowed) noexcept
    {
        if (borrowed)
            detail::counted<T>::retain(borrowed);
        return handle(borrowed);
    }

    handle(const handle &other) noexcept : handle(of(other.it)) {}
    handle(handle &&other) noexcept : it(other.give()) {}
    handle &operator=(handle other) noexcept
    {
        std::swap(it, other.it);
        return *this;
    }
    ~handle()
    {
        if (it)
            detail::counted<T>::release(it);
    }

    T *get() const noexcept { return it; }
    operator T *() const noexcept { return it; }
    explicit operator bool() const noexcept { return it != nullptr; }

    /* For an output parameter: gives back what it holds, then receives. */
    T **out() noexcept
    {
        *this = handle();
        return &it;
    }
    /* The reference goes to the caller. */
    T *give() noexcept { return std::exchange(it, nullptr); }

  private:
    T *it = nullptr;
};

using buffer = handle<acu_buffer>;
using code = handle<acu_code>;
using event = handle<acu_event>;
using expression = handle<acu_expression>;
using external = handle<acu_external>;
using file = handle<acu_file>;
using future = handle<acu_future>;
using graph = handle<acu_graph>;
using group = handle<acu_group>;
using kernel = handle<acu_kernel>;
using model = handle<acu_model>;
using loaded_module = handle<acu_module>; /* `module` is a word of C++20's */
using policy = handle<acu_policy>;
using pool = handle<acu_pool>;
using queue = handle<acu_queue>;
using stream = handle<acu_stream>;
using tensor = handle<acu_tensor>;

/* What can be opened and closed, by one owner. The destructor closes, and so blocks until the work
 * in flight is complete; it must not run inside a callback of acuda's. close() does the same, and
 * throws what it answers. */
template <class T, acu_status (*close_it)(T *)> class opened {
  public:
    opened() noexcept = default;
    explicit opened(T *owned) noexcept : it(owned) {}
    opened(opened &&other) noexcept : it(std::exchange(other.it, nullptr)) {}
    opened &operator=(opened &&other) noexcept
    {
        opened last(std::move(other));
        std::swap(it, last.it);
        return *this;
    }
    ~opened()
    {
        if (it)
            static_cast<void>(close_it(it));
    }

    T *get() const noexcept { return it; }
    operator T *() const noexcept { return it; }
    explicit operator bool() const noexcept { return it != nullptr; }
    void close() { check(it ? close_it(std::exchange(it, nullptr)) : ACU_OK); }

  private:
    T *it = nullptr;
};

using device = opened<acu_device, acu_close>;

/* As acu_open; without options the first device that is there. Blocks. */
inline device open(const acu_open_options *options = nullptr)
{
    acu_device *it = nullptr;
    check(acu_open(options, &it));
    return device(it);
}
inline device open(const acu_open_options &options)
{
    return open(&options);
}

/* ---- submissions ----------------------------------------------------------------------------- */

/* As acu_submit. The op is consumed, except if FULL is thrown. */
inline future submit(acu_device *on, acu_op *op, const acu_submit_options *options = nullptr)
{
    future made;
    check(acu_submit(on, op, options, made.out()));
    return made;
}

/* Takes a value out of the future, as acu_future_take: it can be used in the next op at once, its
 * contents are there once the submission is complete. */
inline tensor take(acu_future *from, size_t value = 0)
{
    tensor made;
    check(acu_future_take(from, value, made.out()));
    return made;
}

namespace detail
{
/* Whether a submission with this status is complete; throws how it failed. */
inline bool complete(acu_future *of, acu_status status)
{
    if (status >= 0)
        return status == ACU_OK;
    acu_error record = *acu_last_error();
    acu_future_error(of, &record);
    throw error(record);
}
} /* namespace detail */

/* Whether the submission is complete; throws how it failed, with its record. Never blocks. */
inline bool done(acu_future *of)
{
    return detail::complete(of, acu_future_poll(of));
}

/* Blocks until the submission is complete, at most `timeout` nanoseconds, and says whether it is.
 * Throws how it failed, with its record, or IN_CALLBACK inside a callback. */
inline bool wait(acu_future *of, uint64_t timeout = ACU_FOREVER)
{
    acu_status status = acu_future_wait(of, timeout);
    return status == ACU_ERR_IN_CALLBACK ? check(status) == ACU_OK : detail::complete(of, status);
}

#if defined(__cpp_impl_coroutine)
/*
 * `co_await acu::completion(future, queue)`: goes on once the submission is complete, and throws
 * acu::error, with the record, if it failed.
 *
 * With a queue the coroutine goes on inside acu_queue_take or acu_queue_wait of the queue, on the
 * thread that takes: the program's loop. The queue must outlive it. Without one it goes on on one
 * of acuda's threads, where it may submit but neither wait nor take long. Never blocks; a
 * submission that is complete already is not waited for at all.
 */
class completion {
  public:
    explicit completion(future of, acu_queue *in = nullptr) : of_(std::move(of)), in_(in) {}

    bool await_ready() const noexcept { return acu_future_poll(of_) != ACU_NOT_READY; }
    void await_suspend(std::coroutine_handle<> waiting)
    {
        check(acu_future_when_complete(of_, in_, 0, resume, acu_user{waiting.address(), nullptr}));
    }
    void await_resume() const { detail::complete(of_, acu_future_error(of_, nullptr)); }

  private:
    static void resume(void *waiting, acu_future *, acu_status) noexcept
    {
        std::coroutine_handle<>::from_address(waiting).resume();
    }
    future of_;
    acu_queue *in_;
};
#endif

} /* namespace acu */

#endif
