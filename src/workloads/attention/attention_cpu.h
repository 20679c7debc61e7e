// Attention on the CPU.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device.h"
#include "measure/workload.h"
#include "workloads/attention/attention_shape.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {

/// Arrays of a set.
enum AttentionArray : std::size_t { kQueries, kKeys, kValues, kAttended };

/// One way to compute it, on the arrays of a SetMemory.
class AttentionMethod {
 public:
  virtual ~AttentionMethod() = default;
  [[nodiscard]] virtual Status attend(std::size_t set) = 0;
  /// Memory besides Q, K, V and O, shared by the sets.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::string algorithm() const = 0;
};

/// Environment error if the workspace does not fit the memory. `memory` must outlive the method.
[[nodiscard]] Result<std::unique_ptr<AttentionMethod>> make_standard_attention(const AttentionShape& shape,
                                                                               const SetMemory& memory,
                                                                               device::Device& device);
[[nodiscard]] Result<std::unique_ptr<AttentionMethod>> make_flash_attention(const AttentionShape& shape,
                                                                            const SetMemory& memory,
                                                                            device::Device& device);

[[nodiscard]] device::Support attention_supports_cpu(const DeviceInfo& device, const Params& params);
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> attention_prepare_cpu(const measure::PrepareOptions& options);

}  // namespace warpmark::workloads
