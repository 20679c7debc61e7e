// gemm by oneDNN's matmul: f32, bf16 (bf16 output) and int8 (int32 output). A, B and C keep their plain row-major
// layout: what the library rearranges for itself is inside the timed region.
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "workloads/cpu_libraries.h"
#include "workloads/gemm/gemm_cpu.h"
#include "workloads/onednn.h"
#include "workloads/onednn_primitives.h"

namespace warpmark::workloads {
namespace {

using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

struct Types {
  Type input;
  Type output;
};

Types types_of(const std::string& dtype) {
  if (dtype == "bf16") return {Type::bf16, Type::bf16};
  if (dtype == "int8") return {Type::s8, Type::s32};
  return {Type::f32, Type::f32};
}

class OneDnnGemm final : public GemmLibrary {
 public:
  OneDnnGemm(const GemmShape& shape, const SetMemory& memory) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const auto [input, output] = types_of(shape.dtype);
    const dnnl::memory::desc a({shape.m, shape.k}, input, Tag::ab);
    const dnnl::memory::desc b({shape.k, shape.n}, input, Tag::ab);
    const dnnl::memory::desc c({shape.m, shape.n}, output, Tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // else execute() allocates it
    const auto description = describe_matmul(engine_, {.a = a, .b = b, .c = c}, attributes);
    kernel_ = description.impl_info_str();
    const dnnl::matmul matmul(description);
    const dnnl::memory scratchpad(description.scratchpad_desc(), engine_);
    for (std::size_t set = 0; set < memory.sets(); ++set) {
      const auto bind = [&](const dnnl::memory::desc& layout, GemmArray array) {
        return dnnl::memory(layout, engine_, memory.bytes(set, array).data());
      };
      runs_.emplace_back(matmul, std::vector<std::pair<int, dnnl::memory>>{{DNNL_ARG_SRC, bind(a, kGemmA)},
                                                                           {DNNL_ARG_WEIGHTS, bind(b, kGemmB)},
                                                                           {DNNL_ARG_DST, bind(c, kGemmC)},
                                                                           {DNNL_ARG_SCRATCHPAD, scratchpad}});
    }
  }

  Status multiply(std::size_t set) override { return runs_[set].execute(stream_); }
  [[nodiscard]] std::string name() const override { return "onednn"; }
  [[nodiscard]] std::string details() const override { return fmt::format("oneDNN {}, {}", onednn_version(), kernel_); }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::string kernel_;
  std::vector<BoundPrimitive> runs_;  ///< of each set
};

class OpenBlasGemm final : public GemmLibrary {
 public:
  OpenBlasGemm(const OpenBlas& blas, const GemmShape& shape, const SetMemory& memory)
      : blas_(blas),
        m_(static_cast<blasint>(shape.m)),
        n_(static_cast<blasint>(shape.n)),
        k_(static_cast<blasint>(shape.k)),
        double_(shape.dtype == "f64"),
        memory_(memory) {}

  Status multiply(std::size_t set) override {
    if (double_) {
      blas_.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, n_, k_, 1.0, memory_.array<double>(set, kGemmA).data(),
                  k_, memory_.array<double>(set, kGemmB).data(), n_, 0.0, memory_.array<double>(set, kGemmC).data(),
                  n_);
    } else {
      blas_.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, n_, k_, 1.0F, memory_.array<float>(set, kGemmA).data(),
                  k_, memory_.array<float>(set, kGemmB).data(), n_, 0.0F, memory_.array<float>(set, kGemmC).data(), n_);
    }
    return {};
  }

  [[nodiscard]] std::string name() const override { return "openblas"; }
  [[nodiscard]] std::string details() const override {
    return fmt::format("{}, kernels for {}", blas_.config(), blas_.corename());
  }

 private:
  const OpenBlas& blas_;
  blasint m_;
  blasint n_;
  blasint k_;
  bool double_;
  const SetMemory& memory_;
};

}  // namespace

device::Support onednn_supports(const GemmShape& shape) {
  if (shape.dtype == "bf16" && !cpu_multiplies_bf16().available) return cpu_multiplies_bf16();
  if (shape.dtype == "f32" || shape.dtype == "int8" || shape.dtype == "bf16") {
    return onednn_multiplies_depth(shape.dtype, shape.k);
  }
  return device::Support::no(
      fmt::format("oneDNN {} has no {} matrix product on the CPU", onednn_version(), shape.dtype),
      "use dtype=f32, bf16 or int8");
}

Result<std::unique_ptr<GemmLibrary>> make_onednn_gemm(const GemmShape& shape, const SetMemory& memory) {
  return onednn_call(fmt::format("multiply {} matrices of m={} n={} k={}", shape.dtype, shape.m, shape.n, shape.k),
                     [&] { return std::unique_ptr<GemmLibrary>(std::make_unique<OneDnnGemm>(shape, memory)); });
}

// gemm by OpenBLAS: f32 and f64.

device::Support openblas_supports(const GemmShape& shape) {
  if (shape.dtype != "f32" && shape.dtype != "f64") {
    return device::Support::no("OpenBLAS multiplies f32 and f64, not " + shape.dtype, "use impl=auto or dtype=f32");
  }
  constexpr std::int64_t kMost = std::numeric_limits<blasint>::max();
  if (shape.m > kMost || shape.n > kMost || shape.k > kMost) {
    return device::Support::no(fmt::format("OpenBLAS is built with 32-bit sizes: m={} n={} k={} must be at most {}",
                                           shape.m, shape.n, shape.k, kMost),
                               "choose a smaller shape with --set");
  }
  return device::Support::yes();
}

Result<std::unique_ptr<GemmLibrary>> make_openblas_gemm(const GemmShape& shape, const SetMemory& memory) {
  WM_ASSIGN(const OpenBlas* blas, openblas());
  return std::unique_ptr<GemmLibrary>(std::make_unique<OpenBlasGemm>(*blas, shape, memory));
}

}  // namespace warpmark::workloads
