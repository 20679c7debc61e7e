#include "trace_generator.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace warpmark::bench {
namespace {

constexpr const char* kHead = R"(
  {{
    "schemaVersion": 1,
    "deviceProperties": [
    {{
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017493504,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }}
    ],
      "trace_id": "E02CE76B687141CDB6F1AA007196C06D",
      "record_shapes": 1,
      "distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": 1, "pg_count": 0, "pg_config": []}},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [)";

constexpr std::array<const char*, 16> kOperators{"aten::linear",
                                                 "aten::to",
                                                 "aten::_to_copy",
                                                 "aten::empty_strided",
                                                 "aten::copy_",
                                                 "aten::t",
                                                 "aten::transpose",
                                                 "aten::as_strided",
                                                 "aten::addmm",
                                                 "aten::add_",
                                                 "aten::conv2d",
                                                 "aten::cudnn_convolution",
                                                 "aten::batch_norm",
                                                 "autograd::engine::evaluate_function: ConvolutionBackward0",
                                                 "autograd::engine::evaluate_function: AddmmBackward0",
                                                 "torch::autograd::AccumulateGrad"};

constexpr std::array<const char*, 8> kKernels{
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_"
    "cublas",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> "
    ">(int, "
    "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "void at::native::elementwise_kernel<128, 2, "
    "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>("
    "at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
    "const::{lambda()#7}::operator()() const::{lambda(float)#1} const&)::{lambda(int)#1}>(int, {lambda(int)#1})",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct, float const*, "
    "cudnnTensorStruct, float*, float const*, float const*, float, float, float*, float*, float*, float*, float, "
    "float)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
    "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
    "unsigned "
    "int, float, 4, 4> >(at::native::ReduceOp<float, unsigned int, float, 4, 4>)",
    "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
    "triton_poi_fused_add_relu_threshold_backward_27",
    "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_128x128_32x5_nhwc_align8>("
    "cutlass_tensorop_bf16_s16816fprop_optimized_bf16_128x128_32x5_nhwc_align8::Params)"};

constexpr std::array<int, 6> kSizes{64, 128, 256, 512, 1024, 4096};

/// A program launches the same kernels with the same shapes again and again.
struct Kernel {
  const char* name = nullptr;
  std::size_t grid = 1, registers = 0, shared_bytes = 0, occupancy = 0;
};

class Generator {
 public:
  Generator() : kernels_(150) {
    for (Kernel& kernel : kernels_) {
      kernel = {kKernels[pick(kKernels.size())], 1 + pick(4096), 16 + 2 * pick(100), 1024 * pick(64), pick(101)};
    }
  }

  /// One operator with its call, kernel and arrows, which are ten rows or so.
  void add_group(std::string& out) {
    const int depth = static_cast<int>(1 + pick(6));
    const int thread = pick(2) == 0 ? 515 : 521;
    for (int i = 0; i < depth; ++i) add_operator(out, kOperators[pick(kOperators.size())], i, thread);
    if (pick(8) == 0) add_flow(out, 'f', "fwdbwd", 515, 521, ++flow_);
    if (pick(8) == 0) add_flow(out, 's', "fwdbwd", 515, 515, flow_);
    if (pick(5) == 0) add_call(out, "cudaStreamIsCapturing", false);
    if (pick(5) != 0) add_launch(out);
    now_ns_ += 25'000 + static_cast<std::int64_t>(pick(20'000));
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_()) % count; }
  static std::string us(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  void add_operator(std::string& out, const char* name, int depth, int thread) {
    const int a = kSizes[pick(kSizes.size())], b = kSizes[pick(kSizes.size())];
    begin(out);
    fmt::format_to(std::back_inserter(out),
                   "\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{}\", \"pid\": 515, \"tid\": {},\n    \"ts\": {}, "
                   "\"dur\": {},\n    \"args\": {{\n      \"External id\": {},\"Record function id\": 0, ",
                   name, thread, us(now_ns_ + depth * 400), us(24'000 - depth * 3'000), ++external_);
    if (pick(3) != 0) {
      fmt::format_to(
          std::back_inserter(out),
          "\"Concrete Inputs\": [\"\", \"[{}, {}]\", \"False\"], \"Input type\": [\"c10::BFloat16\", \"float\", "
          "\"Scalar\"], \"Input Strides\": [[{}, 1], [{}, 1], []], \"Input Dims\": [[{}, {}], [{}, {}], []], ",
          a, b, b, a, a, b, b, a);
    } else {
      fmt::format_to(std::back_inserter(out), "\"Sequence number\": {}, \"Fwd thread id\": 1, ", external_ * 3);
    }
    fmt::format_to(std::back_inserter(out), "\"Ev Idx\": {}\n    }}", rows_);
    end(out);
  }

  void add_call(std::string& out, const char* name, bool driver) {
    begin(out);
    fmt::format_to(
        std::back_inserter(out),
        "\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 515, \"tid\": 515,\n    \"ts\": {}, \"dur\": "
        "{},\n    \"args\": {{\n      \"External id\": {},\"cbid\": {}, \"correlation\": {}\n    }}",
        driver ? "cuda_driver" : "cuda_runtime", name, us(now_ns_ + 3'000),
        us(1'500 + static_cast<std::int64_t>(pick(9'000))), external_, driver ? 652 : 211, ++correlation_);
    end(out);
  }

  void add_launch(std::string& out) {
    const std::size_t kind = pick(16);
    const char* call = kind == 0 ? "cudaMemcpyAsync" : kind == 1 ? "cudaMemsetAsync" : "cudaLaunchKernel";
    add_call(out, kind == 2 ? "cuLaunchKernelEx" : call, kind == 2);
    add_flow(out, 's', "ac2g", 515, 515, correlation_);
    if (kind < 2) {
      add_copy(out, kind == 0);
    } else {
      add_kernel(out);
    }
    add_flow(out, 'f', "ac2g", 0, 7, correlation_);
  }

  void add_kernel(std::string& out) {
    begin(out);
    const Kernel& kernel = kernels_[pick(kernels_.size())];
    fmt::format_to(
        std::back_inserter(out),
        "\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": 7,\n    \"ts\": {}, \"dur\": "
        "{},\n    \"args\": {{\n      \"External id\": {}, \"queued\": 0, \"device\": 0, \"context\": 1, "
        "\"stream\": 7, \"correlation\": {}, \"registers per thread\": {}, \"shared memory\": {}, \"blocks per "
        "SM\": {:.6f}, \"warps per SM\": {:.6f}, \"grid\": [{}, 1, 1], \"block\": [{}, 1, 1], \"est. achieved "
        "occupancy %\": {}\n    }}",
        kernel.name, us(now_ns_ + 12'000), us(1'200 + static_cast<std::int64_t>(pick(60'000))), external_, correlation_,
        kernel.registers, kernel.shared_bytes, static_cast<double>(kernel.grid) / 132,
        static_cast<double>(kernel.grid) * 4 / 132, kernel.grid, 128, kernel.occupancy);
    end(out);
  }

  void add_copy(std::string& out, bool is_copy) {
    begin(out);
    const std::size_t bytes = std::size_t{4} << pick(20);
    fmt::format_to(
        std::back_inserter(out),
        "\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 0, \"tid\": 7,\n    \"ts\": {}, \"dur\": "
        "{},\n    \"args\": {{\n      \"External id\": {}, \"device\": 0, \"context\": 1, \"stream\": 7, "
        "\"correlation\": {}, \"bytes\": {}, \"memory bandwidth (GB/s)\": {}\n    }}",
        is_copy ? "gpu_memcpy" : "gpu_memset", is_copy ? "Memcpy HtoD (Pinned -> Device)" : "Memset (Device)",
        us(now_ns_ + 12'000), us(900), external_, correlation_, bytes, static_cast<double>(bytes) / 900);
    end(out);
  }

  void add_flow(std::string& out, char phase, const char* category, int process, int thread, std::int64_t id) {
    begin(out);
    fmt::format_to(std::back_inserter(out),
                   "\"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n    \"cat\": \"{}\", \"name\": "
                   "\"{}\"{}",
                   phase, id, process, thread, us(now_ns_ + 3'000), category, category,
                   phase == 'f' ? ", \"bp\": \"e\"" : "");
    end(out);
  }

  void begin(std::string& out) {
    out += rows_ == 0 ? "\n  {\n    " : ",\n  {\n    ";
    ++rows_;
  }
  static void end(std::string& out) { out += "\n  }"; }

  std::mt19937_64 random_{42};
  std::vector<Kernel> kernels_;
  std::int64_t rows_ = 0;
  std::int64_t now_ns_ = 4'361'643'201'600'795;
  std::int64_t external_ = 0;
  std::int64_t correlation_ = 0;
  std::int64_t flow_ = 0;
};

}  // namespace

Result<GeneratedTrace> generate_trace(const std::filesystem::path& path, std::int64_t bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) return environment_error("cannot write " + path.string());
  GeneratedTrace trace;
  Generator generator;
  std::string text = fmt::format(fmt::runtime(kHead));
  bool finished = false;
  while (!finished) {
    while (text.size() < (1 << 22) && trace.bytes + static_cast<std::int64_t>(text.size()) < bytes)
      generator.add_group(text);
    finished = trace.bytes + static_cast<std::int64_t>(text.size()) >= bytes;
    if (finished) text += "\n  ],\n  \"traceName\": \"generated\"\n}\n";
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) {
      return environment_error("cannot write " + path.string(), "is there space for it?");
    }
    trace.bytes += static_cast<std::int64_t>(text.size());
    text.clear();
  }
  trace.rows = generator.rows();
  return trace;
}

}  // namespace warpmark::bench
