#include "warpmark/scaling/plan_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "collectives/alpha_beta.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {

Result<double> number_option(const ParsedOptions& options, const char* name, double otherwise, bool needed,
                             double most) {
  if (!options.has(name)) {
    if (!needed) return otherwise;
    return usage_error(std::string(name) + " is needed", "see --help; or predict from one GPU with --step-time");
  }
  WM_ASSIGN(const double value, parse_number(options.get(name)));
  if (!(value > 0)) return usage_error(std::string(name) + " must be above 0");
  if (!(value <= most)) return usage_error(fmt::format("{} must be {:g} at most", name, most));
  return value;
}

Result<double> contention_of(const ParsedOptions& options, double otherwise) {
  if (!options.has("--contention")) return otherwise;
  WM_ASSIGN(const double value, parse_ratio(options.get("--contention")));
  if (!(value >= 0 && value <= 1)) return usage_error("--contention must be from 0 to 1");
  return value;
}

Result<CompressionChoice> compression_of(const ParsedOptions& options, const char* otherwise) {
  const std::string compression = options.get("--compression", otherwise);
  if (compression == "none") return CompressionChoice{validate::Compression::none};
  if (compression == "half") return CompressionChoice{validate::Compression::half};
  if (!compression.starts_with("powersgd:")) {
    return usage_error("there is no compression '" + compression + "'", "none, half or powersgd:RANK");
  }
  WM_ASSIGN(const auto rank, parse_integer(compression.substr(9)));
  if (rank < 1 || rank > 1024) return usage_error("PowerSGD's rank is 1 to 1024");
  return CompressionChoice{validate::Compression::power_sgd, static_cast<int>(rank)};
}

Result<ToldLinks> told_links(const ParsedOptions& options) {
  ToldLinks told;
  if (options.has("--per-node")) {
    WM_ASSIGN(const auto per_node, count_of(options, "--per-node", 8, 1, 1024));
    told.per_node = static_cast<int>(per_node);
  }
  if (options.has("--between-alpha") && !options.has("--between")) {
    return usage_error("--between-alpha needs --between", "give --between");
  }
  if (!options.has("--between")) return told;
  WM_ASSIGN(const double rate, parse_quantity(options.get("--between"), "B/s"));
  if (!(rate > 0)) return usage_error("--between must be above 0");
  told.between = collectives::Link{collectives::kNetworkAlpha_s, 1 / rate};
  if (options.has("--between-alpha")) {
    WM_ASSIGN(told.between->alpha_s, parse_duration_s(options.get("--between-alpha")));
  }
  return told;
}

Result<std::vector<int>> gpu_counts(const ParsedOptions& options, const char* name, const char* otherwise, int least) {
  std::vector<int> counts;
  for (const auto& part : split(options.get(name, otherwise), ',')) {
    const auto gpus = parse_integer(trim(part));
    if (!gpus.ok() || *gpus < least || *gpus > 1'000'000) {
      return usage_error(fmt::format("{} is a list of numbers from {} to 1000000", name, least), "such as 8,16,64");
    }
    counts.push_back(static_cast<int>(*gpus));
  }
  return counts;
}

}  // namespace warpmark::apps
