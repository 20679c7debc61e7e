// What the categories and names of a PyTorch trace mean.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/readers/chrome/kineto_event.h"

namespace warpmark::profile {

/// Gives the rows that torch.autograd's profiler exports without Kineto the terms of Kineto: there the name of the
/// process is the kind, "CPU functions" or "CUDA functions".
void name_rows_of_autograd(EventFields& fields);
[[nodiscard]] EventKind kind_of(const EventFields& fields);
/// Rows about the recording itself, some of them far in the future: "Record Window End", the span of the profiler.
[[nodiscard]] bool is_profiler_row(const EventFields& fields);
[[nodiscard]] bool is_stream_kind(EventKind kind);
/// From "Memcpy HtoD (Pinned -> Device)".
[[nodiscard]] std::uint32_t copy_detail_of(std::string_view name);
/// From "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync".
[[nodiscard]] std::uint32_t sync_detail_of(std::string_view kind);
/// Without spaces, quotes and braces around it.
[[nodiscard]] std::string_view trim_key(std::string_view text);

}  // namespace warpmark::profile
