#include "workloads/onednn.h"

#include <dnnl_debug.h>
#include <fmt/format.h>

#include "device/cpu/processor.h"

namespace warpmark::workloads {

Error onednn_error(const std::string& action, const dnnl::error& error) {
  const std::string what =
      fmt::format("oneDNN {} cannot {}: {}", onednn_version(), action, dnnl_status2str(error.status));
  if (error.status == dnnl_unimplemented) return unsupported_error(what, "choose another dtype, layout or impl");
  if (error.status == dnnl_out_of_memory) {
    return with_code(environment_error(what, "choose a smaller shape with --set"), ErrorCode::out_of_memory);
  }
  return environment_error(what);
}

std::string onednn_version() {
  const dnnl::version_t* version = dnnl::version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

device::Support cpu_multiplies_bf16() {
  if (device::multiplies_bf16()) return device::Support::yes();
  return device::Support::no("this CPU has neither AVX-512 BF16 nor AMX", "use dtype=f32");
}

device::Support onednn_multiplies_depth(const std::string& dtype, std::int64_t k) {
  const std::int64_t group = dtype == "int8" ? 4 : dtype == "bf16" ? 2 : 1;
  if (k % group == 0 || !device::has_amx()) return device::Support::yes();
  return device::Support::no(
      fmt::format("oneDNN {} fails with AMX for some {} products whose k is no multiple of {}: k={}", onednn_version(),
                  dtype, group, k),
      fmt::format("--set k={}", (k / group + 1) * group));
}

BoundPrimitive::BoundPrimitive(dnnl::primitive primitive, std::vector<std::pair<int, dnnl::memory>> arguments)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {
  for (const auto& [index, memory] : arguments_) handles_.push_back({index, memory.get()});
}

Status BoundPrimitive::execute(const dnnl::stream& stream) const {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(handles_.size()), handles_.data());
  if (status == dnnl_success) return {};
  return environment_error(fmt::format("oneDNN failed to run a primitive: {}", dnnl_status2str(status)));
}

}  // namespace warpmark::workloads
