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
/// The same, and which metrics of the runs the format does not hold.
[[nodiscard]] Result<Exported> without_other_metrics(Result<Exported> result, const Session& session,
                                                     bool (*holds)(const Metric& metric));
[[nodiscard]] Result<Exported> exported_json(const Json& json, std::size_t written, std::size_t left_out,
                                             const std::string& needed);

}  // namespace warpmark::exchange
