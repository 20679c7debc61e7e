// Whose GPU it is, and what NVIDIA's commands and CUDA's calls and words are for those of others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/profile/timeline.h"

namespace warpmark::analyze {

enum class Vendor : std::uint8_t { nvidia, amd, intel };

/// By the calls that launched, else by the names of GPUs; NVIDIA where neither tells. O(names).
[[nodiscard]] Vendor vendor_of(const Timeline& timeline);

/// NVLink of a GPU that is connected to others of its host by switches: B/s in one direction. Nothing for other GPUs.
[[nodiscard]] std::optional<double> nvlink_rate(std::string_view gpu);

/// A command or lines of code, as the vendor's; "" where it has nothing like it.
[[nodiscard]] std::string snippet_for(Vendor vendor, const std::string& snippet);
/// The same in a sentence: "HIP graph".
[[nodiscard]] std::string text_for(Vendor vendor, const std::string& text);

}  // namespace warpmark::analyze
