// gemm by oneDNN's matmul: f32, bf16 (bf16 output) and int8 (int32 output). A, B and C keep their plain row-major
// layout: what the library rearranges for itself is inside the timed region.
#include <fmt/format.h>

#include <vector>

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

}  // namespace warpmark::workloads
