#include "workloads/attention/attention_cpu.h"

#include <fmt/format.h>
#include <omp.h>

#include <array>
#include <limits>

#include "workloads/attention/attention_check.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

using device::Support;
using Notes = std::vector<std::pair<std::string, std::string>>;

/// Queries three times as large as keys: scores then have a standard deviation of 1, as with normally distributed
/// inputs, and the softmax is far from uniform.
constexpr float kQueryBound = 3;

class AttentionOnCpu final : public measure::Prepared {
 public:
  AttentionOnCpu(AttentionShape shape, std::uint64_t seed, SetMemory memory)
      : shape_(std::move(shape)), seed_(seed), memory_(std::move(memory)) {}

  Status choose(const std::string& impl, device::Device& device) {
    const auto make = impl == "standard" ? make_standard_attention : make_flash_attention;
    WM_ASSIGN(method_, make(shape_, memory_, device));
    return {};
  }

  Status launch(device::Stream /*stream*/, std::size_t set) override { return method_->attend(set); }

  Status poison() override {
    memory_.poison(kAttended);
    return {};
  }

  Result<ErrorCheck> check(std::size_t set) override {
    const AttentionTensors tensors{memory_.bytes(set, kQueries), memory_.bytes(set, kKeys), memory_.bytes(set, kValues),
                                   memory_.bytes(set, kAttended)};
    return check_attention(shape_, tensors, array_seed(seed_, set, 4));
  }

  [[nodiscard]] Notes notes() const override {
    return {{"algorithm", method_->algorithm()},
            {"workspace_bytes", std::to_string(method_->workspace_bytes())},
            {"threads", std::to_string(omp_get_max_threads())}};
  }

 private:
  AttentionShape shape_;
  std::uint64_t seed_;
  SetMemory memory_;
  std::unique_ptr<AttentionMethod> method_;  ///< refers to memory_
};

}  // namespace

Support attention_supports_cpu(const DeviceInfo& /*device*/, const Params& params) {
  const std::string& impl = params.text("impl");
  const std::string& dtype = params.text("dtype");
  if (impl == "cudnn") return Support::no("cuDNN runs on NVIDIA GPUs", "use impl=flash or impl=standard");
  if (impl == "standard" && dtype != "f32") {
    return Support::no("impl=standard multiplies with OpenBLAS, which has no " + dtype, "use dtype=f32 or impl=flash");
  }
  const std::int64_t longest = std::max(params.integer("seq"), params.integer("dim"));
  if (longest > std::numeric_limits<int>::max()) {
    return Support::no(fmt::format("seq={} dim={}: the CPU takes at most {}", params.integer("seq"),
                                   params.integer("dim"), std::numeric_limits<int>::max()),
                       "choose a smaller shape with --set");
  }
  return Support::yes();
}

Result<std::unique_ptr<measure::Prepared>> attention_prepare_cpu(const measure::PrepareOptions& options) {
  WM_ASSIGN(const AttentionShape shape, attention_shape(options.params));
  const auto bytes = static_cast<std::size_t>(shape.elements() * element_bytes(shape.dtype));
  WM_ASSIGN(auto memory, SetMemory::make(options.device, options.sets, std::array{bytes, bytes, bytes, bytes}));
  for (std::size_t set = 0; set < options.sets; ++set) {
    for (const std::size_t array : {kQueries, kKeys, kValues}) {
      const std::uint64_t seed = array_seed(options.seed, set, array);
      const float bound = array == kQueries ? kQueryBound : 1;
      if (shape.dtype == "f32") fill_random(memory.array<float>(set, array), seed, -bound, bound);
      if (shape.dtype == "bf16") fill_random_bf16(memory.array<std::uint16_t>(set, array), seed, bound);
      if (shape.dtype == "f16") fill_random_f16(memory.array<std::uint16_t>(set, array), seed, bound);
    }
  }
  memory.poison(kAttended);
  auto prepared = std::make_unique<AttentionOnCpu>(shape, options.seed, std::move(memory));
  WM_TRY(prepared->choose(options.params.text("impl"), options.device));
  return std::unique_ptr<measure::Prepared>(std::move(prepared));
}

}  // namespace warpmark::workloads
