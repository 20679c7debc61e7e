// Attention on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "measure/workload.h"
#include "model/params.h"
#include "model/run.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {

/// Q, K, V and O are [batch, heads, seq, dim], dense.
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t seq = 0;
  std::int64_t dim = 0;
  bool causal = false;  ///< query i sees keys 0 .. i only
  std::string dtype;

  [[nodiscard]] std::int64_t matrices() const { return batch * heads; }
  [[nodiscard]] std::int64_t elements() const { return batch * heads * seq * dim; }
};

/// Usage error that names the numbers for a size below 1 or products above 2^62.
[[nodiscard]] Result<AttentionShape> attention_shape(const Params& params);

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

struct AttentionTensors {
  std::span<const std::byte> q;
  std::span<const std::byte> k;
  std::span<const std::byte> v;
  std::span<const std::byte> o;
};

/// Small shapes: every row. Larger ones: random rows in full, the first and the last row of the first and the last head
/// among them; and every element of O must lie within the range of its column of V, as each row of O is a weighted mean
/// of V's rows: that finds elements that were not written, or were garbage, anywhere.
[[nodiscard]] ErrorCheck check_attention(const AttentionShape& shape, const AttentionTensors& tensors,
                                         std::uint64_t seed);

}  // namespace warpmark::workloads
