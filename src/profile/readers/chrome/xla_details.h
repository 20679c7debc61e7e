// The arguments that XLA's profiler gives its events.
#pragma once

#include <string_view>

#include "profile/readers/chrome/kineto_event.h"

namespace warpmark::profile {

/// Texts point into the event's.
struct XlaDetails {
  std::string_view kernel, memcpy, memset, alloc, free, residency;  ///< "regs:16 static_shared:0 grid:4096,1,1 ..."
  std::string_view step;                                            ///< of a StepTraceAnnotation: its number
  std::int64_t correlation = 0;
  std::int64_t graph = 0;
  bool of_framework = false;  ///< a range within JAX, TensorFlow or XLA, not of the user
  bool odd = false;           ///< some had no number where one belongs
};

/// `args` with its braces.
[[nodiscard]] XlaDetails xla_details_of(std::string_view args);

/// Set `args.odd` at anything that is no number.
void set_kernel_details(std::string_view details, std::int64_t graph, EventArgs& args);
void set_memcpy_details(std::string_view name, std::string_view details, EventArgs& args);
/// Of a memset, an allocation or what is freed: "kind:device num_bytes:4 async:1".
void set_memory_details(std::string_view details, EventArgs& args);

}  // namespace warpmark::profile
