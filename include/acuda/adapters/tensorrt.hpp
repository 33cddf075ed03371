/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The functions of adapters/tensorrt.h: included by exactly one C++ file of a program, which is
 * compiled against TensorRT's headers. It uses acuda's public interface only.
 *
 * Runs on one context are ordered by its memory, which each of them writes; so a context is never
 * used by two threads or on two streams at the same time.
 */
#ifndef ACUDA_ADAPTERS_TENSORRT_HPP
#define ACUDA_ADAPTERS_TENSORRT_HPP

#include <acuda/acuda.h>
#include <acuda/adapters/tensorrt.h>

#include <NvInfer.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

/* Later than, or of, a version. */
#define ACUI_TRT(major, minor)                                                                     \
    (NV_TENSORRT_MAJOR > (major) ||                                                                \
     (NV_TENSORRT_MAJOR == (major) && NV_TENSORRT_MINOR >= (minor)))
#if !ACUI_TRT(8, 5)
#error "acuda/adapters/tensorrt.hpp needs TensorRT 8.5 or later"
#endif

namespace acui_trt {

/* What TensorRT said last on this thread. */
inline char *words()
{
    static thread_local char text[256];
    return text;
}

class logger : public nvinfer1::ILogger {
    void log(Severity severity, const char *text) noexcept override
    {
        if (severity <= Severity::kERROR)
            std::snprintf(words(), 256, "%s", text);
    }
};

struct port {
    std::string name;
    acu_dtype dtype;
    nvinfer1::Dims dims; /* -1: any */
};

struct context {
    std::unique_ptr<nvinfer1::IExecutionContext> raw;
    acu_tensor *memory = nullptr;
};

} /* namespace acui_trt */

/* Members end in the reverse order: contexts, the engine, the runtime. */
struct acu_trt_engine {
    std::atomic<unsigned> references{1};
    std::atomic<unsigned> turn{0};
    acu_device *device = nullptr; /* retained */
    acui_trt::logger log;
    std::unique_ptr<nvinfer1::IRuntime> runtime;
    std::unique_ptr<nvinfer1::ICudaEngine> raw;
    std::vector<acui_trt::port> in, out;
    std::vector<acui_trt::context> contexts;
    std::unique_ptr<nvinfer1::IExecutionContext> planner; /* infers shapes; guarded by the lock */
    std::mutex lock;
};

namespace acui_trt {

using engine = acu_trt_engine;

/* While it lives, the device's context is current. */
class entered {
    acu_status status_;

public:
    explicit entered(acu_device *device)
        : status_(acu_driver()->CtxPushCurrent(acu_device_context(device)) == 0 ? ACU_OK
                                                                                : ACU_ERR_DRIVER)
    {
    }
    ~entered()
    {
        CUcontext mine;
        if (status_ == ACU_OK)
            (void)acu_driver()->CtxPopCurrent(&mine);
    }
    entered(const entered &) = delete;
    entered &operator=(const entered &) = delete;
    acu_status status() const { return status_; }
};

/* ---- errors ---- */

/* Makes that the thread's error record. */
ACU_PRINTF(3, 4)
inline acu_status fail(acu_device *device, acu_status status, const char *format, ...)
{
    char text[ACU_ERROR_MESSAGE];
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return acu_submit(device, acu_op_fail(status, "trt_load", ACU_SITE, "%s", text), nullptr,
                      nullptr);
}

inline const char *what_it_said()
{
    return words()[0] ? words() : "it does not say why";
}

inline acu_status refused(acu_device *device, const char *call)
{
    return fail(device, ACU_ERR_DRIVER, "TensorRT refused %s: %s", call, what_it_said());
}

/* ---- what older versions call otherwise ---- */

using extent = std::remove_reference_t<decltype(nvinfer1::Dims{}.d[0])>; /* 32 or 64 bits */

inline nvinfer1::TensorFormat format_of(const engine *e, const char *name, int profile)
{
#if ACUI_TRT(8, 6)
    return e->raw->getTensorFormat(name, profile);
#else
    (void)profile;
    return e->raw->getTensorFormat(name);
#endif
}

/* Without memory of its own for what is between layers. */
inline nvinfer1::IExecutionContext *bare_context(engine *e)
{
#if ACUI_TRT(10, 0)
    return e->raw->createExecutionContext(
        nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED);
#else
    return e->raw->createExecutionContextWithoutDeviceMemory();
#endif
}

inline int64_t memory_of(const engine *e, int profile)
{
#if ACUI_TRT(10, 1)
    return e->raw->getDeviceMemorySizeForProfileV2(profile);
#else
    (void)profile; /* enough for all of them */
    return int64_t(e->raw->getDeviceMemorySize());
#endif
}

inline void set_memory(nvinfer1::IExecutionContext *c, const acu_tensor *memory)
{
    void *at = reinterpret_cast<void *>(acu_tensor_address(memory));
#if ACUI_TRT(10, 1)
    c->setDeviceMemoryV2(at, int64_t(acu_tensor_bytes(memory)));
#else
    c->setDeviceMemory(at);
#endif
}

/* ---- loading ---- */

inline acu_dtype dtype_of(nvinfer1::DataType type)
{
    using nvinfer1::DataType;
    switch (type) {
    case DataType::kFLOAT: return ACU_F32;
    case DataType::kHALF: return ACU_F16;
    case DataType::kINT8: return ACU_I8;
    case DataType::kUINT8: return ACU_U8;
    case DataType::kINT32: return ACU_I32;
    case DataType::kBOOL: return ACU_BOOL;
#if ACUI_TRT(8, 6)
    case DataType::kFP8: return ACU_F8E4M3FN;
#endif
#if ACUI_TRT(10, 0)
    case DataType::kBF16: return ACU_BF16;
    case DataType::kINT64: return ACU_I64;
#endif
    default: return ACU_NO_DTYPE;
    }
}

inline acu_status read_port(engine *e, int index, int profile)
{
    const char *name = e->raw->getIOTensorName(index);
    port p{name, dtype_of(e->raw->getTensorDataType(name)), e->raw->getTensorShape(name)};
    bool input = e->raw->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
    const char *lacks = nullptr;
    if (e->raw->getTensorLocation(name) != nvinfer1::TensorLocation::kDEVICE)
        lacks = "is in host memory";
    else if (format_of(e, name, profile) != nvinfer1::TensorFormat::kLINEAR)
        lacks = "is no plain tensor of rows";
    else if (p.dtype == ACU_NO_DTYPE)
        lacks = "has elements of a type that acuda does not have";
    else if (p.dims.nbDims > ACU_MAX_RANK)
        lacks = "has too many dimensions";
    if (lacks)
        return fail(e->device, ACU_ERR_NOT_SUPPORTED, "%s %s of the engine %s",
                    input ? "input" : "output", name, lacks);
    (input ? e->in : e->out).push_back(p);
    return ACU_OK;
}

inline nvinfer1::IExecutionContext *new_context(engine *e, int profile)
{
    std::unique_ptr<nvinfer1::IExecutionContext> made(bare_context(e));
    if (made && made->getOptimizationProfile() != profile &&
        (!made->setOptimizationProfileAsync(profile, nullptr) ||
         acu_driver()->StreamSynchronize(nullptr) != 0))
        return nullptr;
    return made.release();
}

inline acu_status make_contexts(engine *e, int count, int profile)
{
    /* An empty one would order nothing. */
    int64_t bytes = memory_of(e, profile);
    acu_shape shape{1, {bytes > 0 ? bytes : 256}};
    e->planner.reset(new_context(e, profile));
    if (!e->planner)
        return refused(e->device, "createExecutionContext");
    for (int i = 0; i < count; i++) {
        e->contexts.emplace_back();
        context &c = e->contexts.back();
        c.raw.reset(new_context(e, profile));
        if (!c.raw)
            return refused(e->device, "createExecutionContext");
        acu_status status = acu_tensor_alloc(e->device, ACU_U8, shape, &c.memory);
        if (status != ACU_OK)
            return status;
    }
    return ACU_OK;
}

inline acu_status make(engine *e, const void *data, size_t bytes, const acu_trt_options &o)
{
    entered here(e->device);
    int contexts = o.contexts ? o.contexts : 2;
    words()[0] = '\0';
    if (here.status() != ACU_OK)
        return fail(e->device, ACU_ERR_DRIVER, "the device's context can not be made current");
    e->runtime.reset(nvinfer1::createInferRuntime(e->log));
    if (!e->runtime)
        return refused(e->device, "createInferRuntime");
    e->raw.reset(e->runtime->deserializeCudaEngine(data, bytes));
    if (!e->raw)
        return refused(e->device, "deserializeCudaEngine");
    if (contexts < 1 || contexts > 16 || o.profile < 0 ||
        o.profile >= e->raw->getNbOptimizationProfiles())
        return fail(e->device, ACU_ERR_INVALID, "acu_trt_load: %d contexts (1 to 16) for profile "
                    "%d (of %d)", contexts, o.profile, int(e->raw->getNbOptimizationProfiles()));
    for (int i = 0; i < e->raw->getNbIOTensors(); i++) {
        acu_status status = read_port(e, i, o.profile);
        if (status != ACU_OK)
            return status;
    }
    return make_contexts(e, contexts, o.profile);
}

inline bool read_file(const char *path, std::vector<char> *data)
{
    std::FILE *file = std::fopen(path, "rb");
    long end = file && std::fseek(file, 0, SEEK_END) == 0 ? std::ftell(file) : -1;
    if (end > 0) {
        std::rewind(file);
        data->resize(size_t(end));
        end = std::fread(data->data(), data->size(), 1, file) == 1 ? end : -1;
    }
    if (file)
        std::fclose(file);
    return end > 0;
}

inline acu_status load(acu_device *device, const acu_trt_options &o, engine **made)
{
    std::vector<char> read;
    if (!o.path == !o.data)
        return fail(device, ACU_ERR_INVALID, "acu_trt_load: an engine is named by its path, or is "
                    "in memory");
    if (o.path && !read_file(o.path, &read))
        return fail(device, ACU_ERR_NOT_FOUND, "acu_trt_load: %s can not be read", o.path);
    std::unique_ptr<engine, void (*)(engine *)> e(new engine, acu_trt_release);
    e->device = acu_device_retain(device);
    acu_status status = o.path ? make(e.get(), read.data(), read.size(), o)
                               : make(e.get(), o.data, o.bytes, o);
    if (status == ACU_OK)
        *made = e.release();
    return status;
}

/* ---- one run ---- */

struct run {
    engine *e; /* retained */
    size_t context;
    std::vector<nvinfer1::Dims> dims; /* of the inputs */
    ~run() { acu_trt_release(e); }
};

inline void drop_run(void *user)
{
    delete static_cast<run *>(user);
}

/* The name of what was refused; nullptr: nothing. Values: the context's memory, inputs, outputs. */
inline const char *set_up(const run *r, const acu_val *values)
{
    const engine *e = r->e;
    nvinfer1::IExecutionContext *c = e->contexts[r->context].raw.get();
    size_t in = e->in.size(), out = e->out.size();
    for (size_t i = 0; i < in; i++)
        if (!c->setInputShape(e->in[i].name.c_str(), r->dims[i]))
            return "setInputShape";
    for (size_t i = 0; i < in + out; i++) {
        const port &p = i < in ? e->in[i] : e->out[i - in];
        CUdeviceptr at = acu_tensor_address(values[1 + i].tensor);
        if (at % 256)
            return "memory that is not at a multiple of 256 bytes";
        if (!c->setTensorAddress(p.name.c_str(), reinterpret_cast<void *>(at)))
            return "setTensorAddress";
    }
    set_memory(c, values[0].tensor);
    return nullptr;
}

inline acu_status enqueue(void *user, CUstream stream, const acu_val *values, size_t) noexcept
{
    const run *r = static_cast<run *>(user);
    words()[0] = '\0';
    const char *call = set_up(r, values);
    if (!call && !r->e->contexts[r->context].raw->enqueueV3(
                     reinterpret_cast<cudaStream_t>(stream)))
        call = "enqueueV3";
    return call ? acu_callback_fail("TensorRT refused %s: %s", call, what_it_said()) : ACU_OK;
}

/* ---- planning ---- */

struct planned {
    acu_planning *p;
    engine *e;
    std::vector<nvinfer1::Dims> dims; /* of the inputs */
    std::vector<acu_shape> shapes;    /* of the outputs */
};

/* "[1, 3]" */
template <class Extent> inline std::string shape_words(int rank, const Extent *dim)
{
    std::string text = "[";
    for (int d = 0; d < rank; d++)
        text += (d ? ", " : "") + (dim[d] < 0 ? std::string("any") : std::to_string(dim[d]));
    return text + "]";
}

inline acu_op *refuse_input(const planned &x, acu_status status, size_t i, const char *why)
{
    const port &p = x.e->in[i];
    const acu_val &v = x.p->values[i];
    std::string have = "no tensor", want = shape_words(p.dims.nbDims, p.dims.d);
    if (v.kind == ACU_TENSOR) {
        acu_shape shape = acu_tensor_shape(v.tensor);
        have = acu_dtype_name(acu_tensor_dtype(v.tensor));
        have += " " + shape_words(shape.rank, shape.dim);
    }
    return acu_op_fail(status, "trt_infer", x.p->site, "trt_infer: input %zu (\"%.60s\") is %s, "
                       "and the engine takes %s %s%s", i, p.name.c_str(), have.c_str(),
                       acu_dtype_name(p.dtype), want.c_str(), why);
}

/* The planner's lock is held. */
inline acu_op *check_input(planned &x, size_t i)
{
    const port &p = x.e->in[i];
    const acu_val &v = x.p->values[i];
    if (v.kind != ACU_TENSOR)
        return refuse_input(x, ACU_ERR_ARGUMENTS, i, "");
    acu_shape shape = acu_tensor_shape(v.tensor);
    nvinfer1::Dims dims = p.dims;
    bool fits = shape.rank == dims.nbDims;
    for (int d = 0; d < shape.rank && fits; d++) {
        int64_t wanted = dims.d[d];
        dims.d[d] = extent(shape.dim[d]);
        fits = dims.d[d] == shape.dim[d] && (wanted < 0 || wanted == shape.dim[d]);
    }
    if (acu_tensor_dtype(v.tensor) != p.dtype)
        return refuse_input(x, ACU_ERR_DTYPE, i, "");
    if (!fits)
        return refuse_input(x, ACU_ERR_SHAPE, i, "");
    words()[0] = '\0';
    if (!x.e->planner->setInputShape(p.name.c_str(), dims))
        return refuse_input(x, ACU_ERR_SHAPE, i, (std::string("; it says: ") +
                                                  what_it_said()).c_str());
    if (!acu_tensor_host(v.tensor) && acu_tensor_device(v.tensor) != x.e->device)
        return refuse_input(x, ACU_ERR_DEVICE, i, " on the device that it was loaded for");
    x.dims.push_back(dims);
    return nullptr;
}

inline acu_op *infer_output(planned &x, size_t i)
{
    const port &p = x.e->out[i];
    nvinfer1::Dims dims = x.e->planner->getTensorShape(p.name.c_str());
    acu_shape shape{};
    bool known = dims.nbDims >= 0 && dims.nbDims <= ACU_MAX_RANK;
    shape.rank = dims.nbDims;
    for (int d = 0; known && d < dims.nbDims; d++) {
        shape.dim[d] = dims.d[d];
        known = dims.d[d] >= 0;
    }
    if (!known)
        return acu_op_fail(ACU_ERR_SHAPE, "trt_infer", x.p->site, "trt_infer: the shape of output "
                           "%zu (\"%.60s\") does not follow from those of the inputs", i,
                           p.name.c_str());
    x.shapes.push_back(dims.nbDims ? shape : ACU_RANK_0);
    return nullptr;
}

inline acu_op *check(planned &x)
{
    acu_op *failed = nullptr;
    if (x.p->count != x.e->in.size())
        return acu_op_fail(ACU_ERR_ARGUMENTS, "trt_infer", x.p->site, "trt_infer: %zu inputs, and "
                           "the engine takes %zu", x.p->count, x.e->in.size());
    if (x.p->device != x.e->device)
        return acu_op_fail(ACU_ERR_DEVICE, "trt_infer", x.p->site, "trt_infer: it would run on "
                           "another device than the one that the engine was loaded for");
    std::lock_guard<std::mutex> guard(x.e->lock);
    for (size_t i = 0; i < x.e->in.size() && !failed; i++)
        failed = check_input(x, i);
    for (size_t i = 0; i < x.e->out.size() && !failed; i++)
        failed = infer_output(x, i);
    return failed;
}

/* Dense, in the device's memory, and aligned. */
inline acu_op *input(const planned &x, size_t i)
{
    const acu_tensor *t = x.p->values[i].tensor;
    acu_dtype dtype = acu_tensor_dtype(t);
    acu_shape shape = acu_tensor_shape(t);
    bool fits = acu_tensor_dense(t) && !acu_tensor_host(t) && acu_tensor_offset(t) % 256 == 0;
    acu_op *op = acu_op_take(&x.p->values[i], x.p->site);
    if (fits)
        return op;
    acu_op *dense = acu_op_empty(dtype, shape, x.p->site);
    return acu_op_nth(acu_op_copy(dense, op, x.p->site), 0, x.p->site);
}

/* `made`, the values of a run, of which those from `first` on are the outputs. */
inline acu_op *outputs(const planned &x, acu_op *made, size_t first)
{
    std::vector<acu_op *> all(first + x.e->out.size());
    acu_op_unzip(made, all.data(), all.size(), x.p->site);
    for (size_t i = 0; i < first; i++)
        acu_op_release(all[i]);
    if (x.e->out.size() != 1)
        return acu_op_zip(all.data() + first, x.e->out.size(), x.p->site);
    if (x.p->out.kind != ACU_TENSOR)
        return all[first];
    acu_op *to = acu_op_take(&x.p->out, x.p->site);
    return acu_op_nth(acu_op_copy(to, all[first], x.p->site), 0, x.p->site);
}

inline acu_op *build(planned &x)
{
    acu_op *failed = check(x);
    if (failed)
        return failed;
    size_t turn = x.e->turn.fetch_add(1, std::memory_order_relaxed) % x.e->contexts.size();
    std::unique_ptr<run> r(new run{acu_trt_retain(x.e), turn, x.dims});
    std::vector<acu_arg> args;
    args.reserve(1 + x.e->in.size() + x.e->out.size());
    args.push_back(acu_arg_tensor(x.e->contexts[turn].memory, ACU_WRITE));
    for (size_t i = 0; i < x.e->in.size(); i++)
        args.push_back(acu_arg_op(input(x, i), ACU_READ));
    for (size_t i = 0; i < x.e->out.size(); i++)
        args.push_back(acu_arg_op(acu_op_empty(x.e->out[i].dtype, x.shapes[i], x.p->site),
                                  ACU_WRITE));
    acu_user user{r.release(), drop_run};
    acu_op *made = acu_op_foreign(enqueue, user, args.data(), args.size(), x.p->site);
    return outputs(x, acu_op_named(made, "trt_infer"), 1 + x.e->in.size());
}

inline acu_op *plan(acu_planning *p) noexcept
{
    try {
        planned x{p, static_cast<engine *>(p->user), {}, {}};
        return build(x);
    } catch (const std::bad_alloc &) {
        return acu_op_fail(ACU_ERR_NO_MEMORY, "trt_infer", p->site, "no memory for trt_infer");
    }
}

inline void drop_engine(void *e)
{
    acu_trt_release(static_cast<engine *>(e));
}

inline acu_status tell(const std::vector<port> &ports, acu_device *device, size_t index,
                       acu_model_value *value)
{
    if (!value || value->size < sizeof *value || index >= ports.size())
        return fail(device, ACU_ERR_INVALID, "acu_trt: there are %zu of them, none of index %zu, "
                    "and a value says its size", ports.size(), index);
    const port &p = ports[index];
    *value = acu_model_value{};
    value->size = sizeof *value;
    value->name = p.name.c_str();
    value->dtype = p.dtype;
    value->shape.rank = p.dims.nbDims ? p.dims.nbDims : 1;
    value->shape.dim[0] = 1;
    for (int d = 0; d < p.dims.nbDims; d++)
        value->shape.dim[d] = p.dims.d[d] < 0 ? 0 : p.dims.d[d];
    for (const char *&symbol : value->symbols)
        symbol = "";
    return ACU_OK;
}

} /* namespace acui_trt */

extern "C" acu_status acu_trt_load(acu_device *device, const acu_trt_options *options,
                                   acu_trt_engine **engine)
{
    acu_trt_options known{};
    if (!options || !engine || options->size < sizeof known)
        return acui_trt::fail(device, ACU_ERR_INVALID, "acu_trt_load got NULL, or options without "
                              "their size");
    *engine = nullptr;
    std::memcpy(&known, options, sizeof known);
    try {
        return acui_trt::load(device, known, engine);
    } catch (const std::bad_alloc &) {
        return acui_trt::fail(device, ACU_ERR_NO_MEMORY, "no memory for an engine");
    }
}

extern "C" acu_trt_engine *acu_trt_retain(acu_trt_engine *engine)
{
    if (engine)
        engine->references.fetch_add(1, std::memory_order_relaxed);
    return engine;
}

extern "C" void acu_trt_release(acu_trt_engine *engine)
{
    if (!engine || engine->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    acu_device *device = engine->device;
    for (acui_trt::context &c : engine->contexts)
        acu_tensor_release(c.memory);
    {
        acui_trt::entered here(device);
        delete engine;
    }
    acu_device_release(device);
}

extern "C" size_t acu_trt_inputs(const acu_trt_engine *engine)
{
    return engine ? engine->in.size() : 0;
}

extern "C" size_t acu_trt_outputs(const acu_trt_engine *engine)
{
    return engine ? engine->out.size() : 0;
}

extern "C" acu_status acu_trt_input(const acu_trt_engine *engine, size_t index,
                                    acu_model_value *value)
{
    return engine ? acui_trt::tell(engine->in, engine->device, index, value) : ACU_ERR_INVALID;
}

extern "C" acu_status acu_trt_output(const acu_trt_engine *engine, size_t index,
                                     acu_model_value *value)
{
    return engine ? acui_trt::tell(engine->out, engine->device, index, value) : ACU_ERR_INVALID;
}

extern "C" acu_op *acu_op_trt_infer(acu_trt_engine *engine, acu_op *const *inputs, size_t count,
                                    acu_site site)
{
    if (engine && (inputs || !count))
        return acu_op_custom({"trt_infer", acui_trt::plan, nullptr, 0,
                              {acu_trt_retain(engine), acui_trt::drop_engine}, {}},
                             inputs, count, site);
    for (size_t i = 0; inputs && i < count; i++)
        acu_op_release(inputs[i]);
    return acu_op_fail(ACU_ERR_INVALID, "trt_infer", site, "acu_trt_infer: the %s NULL",
                       engine ? "inputs are" : "engine is");
}

#endif
