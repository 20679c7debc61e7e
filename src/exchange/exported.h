// Parts that the writers of all formats share.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "exchange/format.h"

namespace warpmark::exchange {

/// Usage error if nothing was written; else the text, and how many runs were left out for want of `needed` ("a time").
[[nodiscard]] Result<Exported> exported(std::string text, std::size_t written, std::size_t left_out,
                                        const std::string& needed);
[[nodiscard]] Result<Exported> exported_json(const Json& json, std::size_t written, std::size_t left_out,
                                             const std::string& needed);

}  // namespace warpmark::exchange
