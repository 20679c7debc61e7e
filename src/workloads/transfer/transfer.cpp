// transfer: copies between host and device memory, or within and between devices. GPU only: a CPU has no such link.
#include <array>

#include "workloads/cuda_bridge.h"
#include "workloads/shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kTransferParams[] = {
    {"size", ParamKind::bytes, "64MiB", "bytes copied in each direction"},
    {"direction", ParamKind::text, "h2d", "host to device, device to host, both at once, or device to device",
     "h2d|d2h|both|d2d"},
    {"memory", ParamKind::text, "pinned", "host memory: page-locked or ordinary", "pinned|pageable"},
};

/// bytes over the link: size, or 2 * size for both directions. Footprint in device memory: size, or 2 * size where
/// there are two device buffers (both, d2d).
Result<Cost> transfer_cost(const measure::Workload& /*self*/, const Params& params) {
  WM_TRY(require_at_least(params, 1, {"size"}));
  const std::string& direction = params.text("direction");
  const Factor size{"size", params.integer("size")};
  const bool both = direction == "both";
  const bool two_buffers = both || direction == "d2d";
  WM_ASSIGN(const std::int64_t bytes, product_of({{"directions", both ? 2 : 1}, size}));
  WM_ASSIGN(const std::int64_t footprint, product_of({{"buffers", two_buffers ? 2 : 1}, size}));
  return Cost{.flops = 0,
              .bytes = static_cast<double>(bytes),
              .footprint_bytes = footprint,
              .flop_type = "",
              .link = direction,
              .rate = "bandwidth"};
}

device::Support supports_cpu(const DeviceInfo& /*device*/, const Params& /*params*/) {
  return device::Support::no("the CPU has no host-device link", "use --device cuda, or copy for the CPU's own memory");
}

Result<std::unique_ptr<measure::Prepared>> prepare_transfer_cpu(const measure::PrepareOptions& options) {
  const auto support = supports_cpu(options.device.info(), options.params);
  return unsupported_error(support.reason, support.hint);
}

std::vector<Overrides> transfer_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend != "cuda") return {{{"size", "64MiB"}}};
  constexpr std::array kSizes{"4KiB", "64KiB", "1MiB", "16MiB", "256MiB", "1GiB"};
  constexpr std::array<std::pair<const char*, const char*>, 6> kPaths{{{"h2d", "pinned"},
                                                                       {"h2d", "pageable"},
                                                                       {"d2h", "pinned"},
                                                                       {"d2h", "pageable"},
                                                                       {"both", "pinned"},
                                                                       {"d2d", "pinned"}}};
  std::vector<Overrides> cases;
  for (const auto& [direction, memory] : kPaths) {
    for (const char* size : kSizes) cases.push_back({{"size", size}, {"direction", direction}, {"memory", memory}});
  }
  return cases;
}

}  // namespace

extern const measure::Workload kTransfer{
    .id = "transfer",
    .summary = "copies over the host-device link",
    .params = kTransferParams,
    .cost = transfer_cost,
    .supports = supports_by_backend<supports_cpu>,
    .prepare = prepare_by_backend<prepare_transfer_cpu>,
    .cases = transfer_cases,
    .default_mode = Mode::hot,
};

}  // namespace warpmark::workloads
