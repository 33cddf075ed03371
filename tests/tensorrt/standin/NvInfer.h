/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stands in for TensorRT's headers and library, as far as adapters/tensorrt.hpp uses them: what it
 * calls has the names, arguments and answers that it has there. A serialized engine is a text:
 *
 *   in x 0 -1 3       an input of type 0 (f32), any number of rows of 3
 *   out y 0 -1 3      an output, which becomes a copy of the input in the same place
 *   work 4096         bytes between layers: what is copied passes through there
 *   host x, odd x     the tensor is in host memory; is no plain tensor
 *
 * "Any" is at most 8, as an optimization profile says.
 */
#ifndef ACUDA_TESTS_STANDIN_NVINFER_H
#define ACUDA_TESTS_STANDIN_NVINFER_H

#include <acuda/acuda.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#ifndef NV_TENSORRT_MAJOR /* else what the oldest version that will do has, and no more */
#define NV_TENSORRT_MAJOR 10
#define NV_TENSORRT_MINOR 1
#endif
#define STANDIN_IS_OLD (NV_TENSORRT_MAJOR < 10)

typedef CUstream cudaStream_t;

/* What a test looks at and sets. */
struct standin {
    std::atomic<int> live{0};       /* objects */
    std::atomic<int> overlaps{0};   /* a context in use by two threads */
    std::atomic<bool> refuse{false}; /* the next run */
};
extern standin standin_state;

namespace nvinfer1 {

#if STANDIN_IS_OLD
enum class DataType { kFLOAT, kHALF, kINT8, kINT32, kBOOL, kUINT8 };
typedef int32_t extent;
#else
enum class DataType { kFLOAT, kHALF, kINT8, kINT32, kBOOL, kUINT8, kFP8, kBF16, kINT64, kINT4 };
typedef int64_t extent;
enum class ExecutionContextAllocationStrategy { kSTATIC, kON_PROFILE_CHANGE, kUSER_MANAGED };
#endif
enum class TensorIOMode { kNONE, kINPUT, kOUTPUT };
enum class TensorLocation { kDEVICE, kHOST };
enum class TensorFormat { kLINEAR, kCHW2 };

struct Dims {
    int32_t nbDims;
    extent d[8];
};

class ILogger {
public:
    enum class Severity { kINTERNAL_ERROR, kERROR, kWARNING, kINFO, kVERBOSE };
    virtual void log(Severity severity, const char *text) noexcept = 0;
    virtual ~ILogger() = default;
};

class counted {
public:
    counted() { standin_state.live++; }
    counted(const counted &) = delete;
    counted &operator=(const counted &) = delete;
    ~counted() { standin_state.live--; }
};

struct tensor {
    std::string name;
    bool input, host, odd;
    DataType type;
    Dims dims;
};

struct model {
    ILogger *log;
    std::vector<tensor> tensors;
    int64_t work = 0;

    bool say(const std::string &text) const
    {
        log->log(ILogger::Severity::kERROR, text.c_str());
        return false;
    }
    tensor *find(const char *name)
    {
        for (tensor &t : tensors)
            if (t.name == name)
                return &t;
        return nullptr;
    }
    const tensor *find(const char *name) const { return const_cast<model *>(this)->find(name); }
};

class IExecutionContext : counted {
    const model &m_;
    int profile_;
    std::vector<Dims> dims_;
    std::vector<CUdeviceptr> at_;
    CUdeviceptr memory_ = 0;
    int64_t bytes_ = 0;
    std::atomic<bool> busy_{false};

    size_t index(const char *name) const { return size_t(m_.find(name) - m_.tensors.data()); }
    size_t nth(bool input, size_t n) const
    {
        for (size_t i = 0; i < m_.tensors.size(); i++)
            if (m_.tensors[i].input == input && n-- == 0)
                return i;
        return m_.tensors.size();
    }
    /* Of an output: that of its input. */
    const Dims &dims_of(size_t i) const
    {
        size_t n = 0;
        for (size_t k = 0; k < i; k++)
            n += m_.tensors[k].input == m_.tensors[i].input;
        size_t of = nth(true, n);
        return m_.tensors[i].input || of == m_.tensors.size() ? dims_[i] : dims_[of];
    }
    bool copy(size_t from, size_t to, CUstream stream) const
    {
        size_t bytes = m_.tensors[from].type == DataType::kFLOAT ? 4 : 1;
        for (int d = 0; d < dims_[from].nbDims; d++)
            bytes *= size_t(dims_[from].d[d]);
        if (int64_t(bytes) > bytes_)
            return m_.say("too little memory");
        const acu_driver_table *cu = acu_driver();
        return (cu->MemcpyDtoDAsync(memory_, at_[from], bytes, stream) == 0 &&
                cu->MemcpyDtoDAsync(at_[to], memory_, bytes, stream) == 0) ||
               m_.say("a copy failed");
    }

public:
    IExecutionContext(const model &m, int profile) : m_(m), profile_(profile)
    {
        for (const tensor &t : m.tensors)
            dims_.push_back(t.dims);
        at_.resize(dims_.size());
    }
    int getOptimizationProfile() const { return profile_; }
    bool setOptimizationProfileAsync(int profile, cudaStream_t)
    {
        profile_ = profile;
        return profile == 0;
    }
    bool setInputShape(const char *name, const Dims &dims)
    {
        size_t i = index(name);
        for (int d = 0; d < dims.nbDims; d++)
            if (profile_ != 0 || (m_.tensors[i].dims.d[d] < 0 && dims.d[d] > 8))
                return m_.say("an extent of " + std::to_string(dims.d[d]) +
                              " is beyond the profile");
        dims_[i] = dims;
        return true;
    }
    Dims getTensorShape(const char *name) const { return dims_of(index(name)); }
    bool setTensorAddress(const char *name, void *at)
    {
        at_[index(name)] = reinterpret_cast<CUdeviceptr>(at);
        return true;
    }
#if STANDIN_IS_OLD
    void setDeviceMemory(void *memory)
    {
        memory_ = reinterpret_cast<CUdeviceptr>(memory);
        bytes_ = m_.work;
    }
#else
    void setDeviceMemoryV2(void *memory, int64_t bytes)
    {
        memory_ = reinterpret_cast<CUdeviceptr>(memory);
        bytes_ = bytes;
    }
#endif
    bool enqueueV3(cudaStream_t stream)
    {
        if (busy_.exchange(true))
            standin_state.overlaps++;
        bool done = !standin_state.refuse.exchange(false) || m_.say("it is not wanted");
        for (size_t n = 0; done && nth(false, n) < m_.tensors.size(); n++)
            done = copy(nth(true, n), nth(false, n), stream);
        busy_ = false;
        return done;
    }
};

class ICudaEngine : counted {
    model m_;
    std::atomic<bool> first_{true}; /* the first context has the profile 0, the others have none */

public:
    explicit ICudaEngine(const model &m) : m_(m) {}
    int getNbIOTensors() const { return int(m_.tensors.size()); }
    int getNbOptimizationProfiles() const { return 1; }
    const char *getIOTensorName(int i) const { return m_.tensors[size_t(i)].name.c_str(); }
    DataType getTensorDataType(const char *name) const { return m_.find(name)->type; }
    Dims getTensorShape(const char *name) const { return m_.find(name)->dims; }
    TensorIOMode getTensorIOMode(const char *name) const
    {
        return m_.find(name)->input ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT;
    }
    TensorLocation getTensorLocation(const char *name) const
    {
        return m_.find(name)->host ? TensorLocation::kHOST : TensorLocation::kDEVICE;
    }
    TensorFormat getTensorFormat(const char *name) const
    {
        return m_.find(name)->odd ? TensorFormat::kCHW2 : TensorFormat::kLINEAR;
    }
#if STANDIN_IS_OLD
    size_t getDeviceMemorySize() const { return size_t(m_.work); }
    IExecutionContext *createExecutionContextWithoutDeviceMemory()
    {
        return new IExecutionContext(m_, first_.exchange(false) ? 0 : -1);
    }
#else
    TensorFormat getTensorFormat(const char *name, int) const { return getTensorFormat(name); }
    int64_t getDeviceMemorySizeForProfileV2(int) const { return m_.work; }
    IExecutionContext *createExecutionContext(ExecutionContextAllocationStrategy)
    {
        return new IExecutionContext(m_, first_.exchange(false) ? 0 : -1);
    }
#endif
};

class IRuntime : counted {
    ILogger *log_;

    bool read_line(model &m, std::istringstream line) const
    {
        std::string word, name;
        int type = 0;
        line >> word;
        if (word == "work")
            return bool(line >> m.work);
        line >> name;
        if (tensor *t = word == "host" || word == "odd" ? m.find(name.c_str()) : nullptr) {
            t->host = word == "host";
            t->odd = !t->host;
            return true;
        }
        tensor t{name, word == "in", false, false, DataType::kFLOAT, {}};
        line >> type;
        t.type = DataType(type);
        while (line >> t.dims.d[t.dims.nbDims])
            t.dims.nbDims++;
        m.tensors.push_back(t);
        return word == "in" || word == "out";
    }

public:
    explicit IRuntime(ILogger *log) : log_(log) {}
    ICudaEngine *deserializeCudaEngine(const void *data, size_t bytes)
    {
        model m;
        m.log = log_;
        std::istringstream text(std::string(static_cast<const char *>(data), bytes));
        for (std::string line; std::getline(text, line);)
            if (!read_line(m, std::istringstream(line))) {
                m.say("the engine is broken: " + line);
                return nullptr;
            }
        return new ICudaEngine(m);
    }
};

inline IRuntime *createInferRuntime(ILogger &log)
{
    return new IRuntime(&log);
}

} /* namespace nvinfer1 */
#endif
