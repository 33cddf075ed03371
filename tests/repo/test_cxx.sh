#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The macros of the headers in a C++17 program mean what they mean in C.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e "$1/lib/libacuda.so" ] || exit 77 # carried here without what was made
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$1/CMakeCache.txt" && exit 77
grep -q '^ACUDA_SOFTCUDA:BOOL=ON' "$1/CMakeCache.txt" || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/main.cpp" <<'END'
#include <acuda/acuda.h>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

static void ok(acu_status status, int line)
{
    if (status == ACU_OK)
        return;
    std::printf("line %d: %s: %s\n", line, acu_status_name(status), acu_last_error()->message);
    std::exit(1);
}
#define OK(...) ok((__VA_ARGS__), __LINE__)
#define CHECK(x) ok((x) ? ACU_OK : ACU_ERR_INVALID, __LINE__)

static acu_device *device;

/* All elements are `want`. */
template <typename T> static void check(acu_op *op, acu_shape shape, T want, int line)
{
    acu_tensor *tensor;
    T have[24];
    ok(acu_sync(device, op, &tensor), line);
    ok(acu_shape_equal(acu_tensor_shape(tensor), shape) ? ACU_OK : ACU_ERR_SHAPE, line);
    size_t count = static_cast<size_t>(acu_tensor_elements(tensor));
    ok(acu_read_sync(tensor, have, count * sizeof(T)), line);
    for (size_t i = 0; i < count; i++)
        ok(have[i] == want ? ACU_OK : ACU_ERR_INVALID, line);
    acu_tensor_release(tensor);
}
#define ALL_ARE(op, shape, want) check((op), (shape), (want), __LINE__)

static void terms(acu_tensor *t) /* 2x3 of f32, each 1 */
{
    const acu_shape shape = ACU_SHAPE(2, 3);
    unsigned u = 2;
    long l = -1;
    bool b = true;
    ALL_ARE(acu_add(t, 1), shape, 2.0f);
    ALL_ARE(acu_sub(acu_ones(ACU_F32, shape), 0), shape, 1.0f);
    ALL_ARE(acu_mul(acu_mul(acu_mul(t, 0.5), 4.0f), u), shape, 4.0f);
    ALL_ARE(acu_add(acu_add(acu_add(t, l), b), acu_f32(3)), shape, 4.0f);
    ALL_ARE(acu_mul(t, 2.5L), shape, 2.5f);
    ALL_ARE(acu_add(acu_add(t, 1ull), static_cast<unsigned char>(1)), shape, 3.0f);
    ALL_ARE(acu_fma(t, 2, t), shape, 3.0f);
    const std::complex<float> z(1, -2);
    ALL_ARE(acu_mul(acu_convert(t, ACU_C64), std::complex<double>(1, -2)), shape, z);
    const std::complex<double> wide(1, -2);
    ALL_ARE(acu_mul(z, acu_ones(ACU_C64, shape)), shape, z);
    ALL_ARE(acu_full(shape, acu_c128(&wide)), shape, wide);
    ALL_ARE(acu_sum(t, ACU_ALL), ACU_SHAPE(1), 6.0f);
    ALL_ARE(acu_sum(t, ACU_DIMS(0)), ACU_SHAPE(3), 2.0f);
    ALL_ARE(acu_sum(t, ACU_KEEP(0, -1)), ACU_SHAPE(1, 1), 6.0f);
    ALL_ARE(acu_dup(acu_permute(t, 1, 0)), ACU_SHAPE(3, 2), 1.0f);
    ALL_ARE(acu_dup(acu_slice(t, ACU_SHAPE(0, 1), ACU_SHAPE(1, 3))), ACU_SHAPE(1, 2), 1.0f);
    ALL_ARE(acu_first(acu_zip(acu_dup(t), acu_then(
                t, [](void *, acu_val *v, size_t) { return acu_take(&v[0]); }, nullptr))),
            shape, 1.0f);
}

static void launches(acu_tensor *t)
{
    acu_module *module;
    acu_kernel *twice, *tiled, *tick;
    OK(acu_module_load(device, ACU_PTX(nullptr, R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry twice(.param .u64 x)
{
    .reg .b64 %a; .reg .b32 %i; .reg .f32 %f; .reg .b64 %o;
    ld.param.u64 %a, [x]; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;
    ld.global.f32 %f, [%a]; add.f32 %f, %f, %f; st.global.f32 [%a], %f;
    ret;
}
.visible .entry tick() { ret; }
.visible .entry tiled(.param .align 8 .b8 x[112]) { ret; }
)"), &module));
    OK(acu_kernel_get(module, "twice", &twice));
    OK(acu_kernel_get(module, "tiled", &tiled));
    ALL_ARE(acu_first(acu_launch(twice, ACU_GRID_BLOCK(1, 1, 1, 6, 1, 1), acu_inout(acu_dup(t)))),
            ACU_SHAPE(2, 3), 2.0f);
    const acu_config configs[] = {ACU_BLOCK(4, 4), ACU_AUTO};
    for (acu_config config : configs)
        ALL_ARE(acu_unpartition(acu_first(
                    acu_launch(tiled, config, acu_inout(acu_partition(t, ACU_SHAPE(1, 2)))))),
                ACU_SHAPE(2, 3), 1.0f);
    OK(acu_kernel_get(module, "tick", &tick));
    OK(acu_sync(device, acu_launch(tick, ACU_BLOCK(32)), nullptr));
    acu_kernel_release(tick);
    acu_kernel_release(twice);
    acu_kernel_release(tiled);
    acu_module_release(module);
}

static void calls(acu_tensor *t)
{
    acu_use *use;
    acu_stream *stream;
    acu_tensor *host;
    auto look = [](void *, const acu_val *, size_t count) {
        return count == 1 ? ACU_OK : ACU_ERR_INVALID;
    };
    OK(acu_sync(device, acu_host(look, nullptr, acu_in(acu_to_host(t))), &host));
    auto enqueue = [](void *, CUstream, const acu_val *, size_t) { return ACU_OK; };
    OK(acu_sync(device, acu_foreign(enqueue, nullptr, acu_in(t)), nullptr));
    OK(acu_stream_create(device, 0, &stream));
    OK(acu_use_begin(stream, &use, acu_in(t)));
    OK(acu_use_end(use, ACU_OK, nullptr));
    OK(acu_use_begin_wait(stream, ACU_SECONDS(60), &use, acu_in(t)));
    OK(acu_use_end(use, ACU_OK, nullptr));
    acu_stream_release(stream);
    acu_tensor_release(host);
}

/* Exceptions come out as CALLBACK, with their text; the thread can go on. */
static void fails(acu_op *op, const char *words, int line)
{
    acu_status status = acu_sync(device, op, nullptr);
    ok(status == ACU_ERR_CALLBACK ? ACU_OK : ACU_ERR_INVALID, line);
    ok(std::strstr(acu_last_error()->message, words) ? ACU_OK : ACU_ERR_INVALID, line);
}
#define FAILS(op, words) fails((op), (words), __LINE__)

static int released;
static void release(void *) { released++; }

static void exceptions(acu_tensor *t)
{
    static int data;
    auto then = [](void *, acu_val *, size_t) -> acu_op * { throw std::runtime_error("one"); };
    auto make = [](void *, acu_device *) -> acu_op * { throw 1; };
    auto map = [](void *, acu_val *, size_t) -> acu_status { throw std::logic_error("three"); };
    auto inspect = [](void *, const acu_val *, size_t) { throw std::runtime_error("four"); };
    auto host = [](void *, const acu_val *, size_t) -> acu_status { throw std::bad_alloc(); };
    auto foreign = [](void *, CUstream, const acu_val *, size_t) -> acu_status {
        throw std::runtime_error("six");
    };
    auto decide = [](void *, const acu_error *) -> bool { throw std::runtime_error("seven"); };
    FAILS(acu_then(t, then, &data, release), "acu_then failed: an exception: one");
    CHECK(released == 1);
    FAILS(acu_make(make, nullptr), "no std::exception");
    FAILS(acu_map(t, map, nullptr), "three");
    FAILS(acu_inspect(t, inspect, nullptr), "four");
    FAILS(acu_host(host, nullptr), "bad_alloc");
    FAILS(acu_foreign(foreign, nullptr, acu_in(t)), "six");
    FAILS(acu_or_else_if(acu_then(t, then, nullptr), acu_dup(t), decide, nullptr), "one");
    acu_op_release(acu_then(t, then, &data, release)); /* never called */
    CHECK(released == 2);
    acu_then_fn none = nullptr;
    CHECK(acu_sync(device, acu_then(t, none, &data, release), nullptr) == ACU_ERR_INVALID);
    CHECK(released == 3);
    ALL_ARE(acu_dup(t), ACU_SHAPE(2, 3), 1.0f);
}

static void constants(const acu_tensor *t)
{
    const acu_shape shape = ACU_SHAPE(2, 3);
    acu_tensor *copy;
    float have[6];
    ALL_ARE(acu_add(t, acu_dup(t)), shape, 2.0f);
    ALL_ARE(acu_first(acu_zip(acu_dup(acu_reshape(t, ACU_SHAPE(6))))), ACU_SHAPE(6), 1.0f);
    OK(acu_sync(device, acu_zeros(ACU_F32, shape), &copy));
    OK(acu_sync(device, acu_copy(copy, t), nullptr));
    OK(acu_read_sync(t, have, sizeof have));
    acu_tensor_release(copy);
}

static void fused(acu_tensor *t) /* described, for running it takes a compiler */
{
    acu_expression *expression;
    acu_value_info info;
    size_t count;
    OK(acu_expression_create("a * x + y", &expression));
    acu_op *op = acu_fused(expression, 2, t, 0.5);
    OK(acu_op_describe(device, op, &info, 1, &count));
    CHECK(count == 1 && acu_shape_equal(info.shape, ACU_SHAPE(2, 3)));
    acu_op_release(op);
    acu_expression_release(expression);
}

int main()
{
    acu_open_options options{};
    options.size = sizeof options;
    options.allow_software = true;
    OK(acu_open(&options, &device));
    acu_tensor *t;
    OK(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(2, 3)), &t));
    terms(t);
    launches(t);
    calls(t);
    exceptions(t);
    constants(t);
    fused(t);
    acu_tensor_release(t);
    OK(acu_close(device));
    return 0;
}
END

# Options by designated initializers, with all warnings.
cat >"$work/options.cpp" <<'END'
#include <acuda/acuda.h>
acu_status use(acu_device **device);
acu_status use(acu_device **device)
{
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    acu_submit_options submit = {.size = sizeof submit};
    acu_module_source source = {.size = sizeof source, .ptx = ""};
    acu_config config = {.block = {32, 1, 1}};
    return source.ptx && submit.size && config.block[0] ? acu_open(&options, device) : ACU_OK;
}
END
! command -v g++ >/dev/null ||
    g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$work/options.cpp"

# What writes takes no const tensor.
for use in 'acu_fill(t, acu_f32(1))' 'acu_copy(t, t)' 'acu_into(t, acu_dup(t))' 'acu_host(nullptr, nullptr, acu_out(t))' \
    'acu_host(nullptr, nullptr, acu_inout(t))'; do
    echo "#include <acuda/acuda.h>
acu_op *use(const acu_tensor *t); acu_op *use(const acu_tensor *t) { return $use; }" >"$work/use.cpp"
    sed 's/nullptr/NULL/g' "$work/use.cpp" >"$work/use.c"
    ! gcc -fsyntax-only -Iinclude "$work/use.c" 2>/dev/null || { echo "C compiles: $use" && exit 1; }
    command -v g++ >/dev/null || continue
    ! g++ -fsyntax-only -Iinclude "$work/use.cpp" 2>/dev/null || { echo "C++ compiles: $use" && exit 1; }
done

ran=
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    echo '#include <cstdio>' | $compiler -x c++ -fsyntax-only - 2>/dev/null || continue
    $compiler -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast \
        -Wredundant-decls -Werror -Iinclude "$work/main.cpp" \
        -o "$work/main" -L"$1/lib" -lacuda -Wl,-rpath,"$1/lib"
    "$work/main"
    ran=yes
done
[ "$ran" ] || exit 77
