// oneDNN on the CPU: primitives with their arguments bound, so that running one makes no objects, and its exceptions
// turned into errors where they are thrown.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace warpmark::workloads {

/// Environment-independent failure of a oneDNN call: unsupported if oneDNN says it has no implementation.
[[nodiscard]] Error onednn_error(const std::string& action, const dnnl::error& error);

/// The value of make(), or the error of the dnnl::error it throws. `action` completes "oneDNN cannot ...".
template <typename Make>
[[nodiscard]] auto onednn_call(const std::string& action, Make make) -> Result<decltype(make())> {
  try {
    return make();
  } catch (const dnnl::error& error) {
    return onednn_error(action, error);
  }
}

/// "2.6.3".
[[nodiscard]] std::string onednn_version();

/// Whether this CPU multiplies bf16 natively (AVX-512 BF16 or AMX); oneDNN emulates it elsewhere, which says nothing
/// about the machine.
[[nodiscard]] device::Support cpu_multiplies_bf16();

/// Whether its matrix products of this many terms can be trusted on this CPU. Up to 2.6.3 at least, those with AMX end
/// in an illegal instruction or in wrong numbers for some k that do not fill a 32-bit group of elements (int8 65 x 33 x
/// 127, bf16 33 x 65 x 63).
[[nodiscard]] device::Support onednn_multiplies_depth(const std::string& dtype, std::int64_t k);

/// A primitive and its arguments. Cheap to move; the memory objects' data must outlive it.
class BoundPrimitive {
 public:
  BoundPrimitive(dnnl::primitive primitive, std::vector<std::pair<int, dnnl::memory>> arguments);

  /// Runs to completion on OpenMP's threads. No allocation here; what oneDNN does inside is its own.
  [[nodiscard]] Status execute(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<std::pair<int, dnnl::memory>> arguments_;  ///< keeps the handles below alive
  std::vector<dnnl_exec_arg_t> handles_;
};

}  // namespace warpmark::workloads
