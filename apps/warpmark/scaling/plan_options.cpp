#include "warpmark/scaling/plan_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
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

Result<GivenLinks> given_links(const ParsedOptions& options) {
  GivenLinks reported;
  if (options.has("--per-node")) {
    WM_ASSIGN(const auto per_node, count_of(options, "--per-node", 8, 1, 1024));
    reported.per_node = static_cast<int>(per_node);
  }
  if (options.has("--between-alpha") && !options.has("--between")) {
    return usage_error("--between-alpha needs --between", "give --between");
  }
  if (!options.has("--between")) return reported;
  WM_ASSIGN(const double rate, parse_quantity(options.get("--between"), "B/s"));
  if (!(rate > 0)) return usage_error("--between must be above 0");
  reported.between = collectives::Link{collectives::kNetworkAlpha_s, 1 / rate};
  if (options.has("--between-alpha")) {
    WM_ASSIGN(reported.between->alpha_s, parse_duration_s(options.get("--between-alpha")));
  }
  return reported;
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

namespace {

namespace coll = warpmark::collectives;

/// The hosts that its ranks ran on; one, where an older sweep does not name them.
int hosts_of(const Json& json) {
  if (!json.contains("head") || !json["head"].is_object() || !json["head"].contains("hosts")) return 1;
  std::set<Json> hosts;
  for (const auto& host : json["head"]["hosts"]) hosts.insert(host);
  return std::max(1, static_cast<int>(hosts.size()));
}

/// Of GPUs that one link joins: measured where a sweep on one host is of as many, else by the fit of the widest.
double within_s(const PlanLinks& links, double bytes, int gpus) {
  const auto own = links.sweeps.find(gpus);
  if (own != links.sweeps.end() && own->second.hosts == 1) {
    return coll::measured_cost(own->second.rows, own->second.fit, bytes);
  }
  const auto& fit = links.base().fit;
  return coll::cost(coll::Collective::all_reduce, fit.algorithm, bytes, gpus, fit.link);
}

Result<MeasuredLink> read_sweep(const std::string& file) {
  WM_ASSIGN(const auto text, read_file(file));
  WM_ASSIGN(const auto json, parse_json(text, file));
  const bool sweep = json.is_object() && json.contains("schema") && json["schema"] == "warpmark.collective/1" &&
                     json.contains("rows") && json["rows"].is_array();
  if (!sweep) {
    return data_error(file + " is no sweep of warpmark collective", "write one with --json");
  }
  MeasuredLink link;
  for (const auto& item : json["rows"]) {
    WM_ASSIGN(auto row, collectives::row_from_json(item));
    link.rows.push_back(std::move(row));
  }
  if (link.rows.empty()) return data_error(file + " has no sizes");
  if (link.rows.front().kind != collectives::Collective::all_reduce) {
    return data_error(file + " is a sweep of " + collectives::info_of(link.rows.front().kind).id,
                      "gradients are exchanged by all_reduce: sweep that");
  }
  WM_ASSIGN(link.fit, collectives::fit_link(link.rows));
  link.ranks = link.rows.front().ranks;
  link.hosts = hosts_of(json);
  return link;
}

}  // namespace

Result<std::map<int, MeasuredLink>> read_sweeps(const std::vector<std::string>& files) {
  std::map<int, MeasuredLink> links;
  for (const auto& file : files) {
    WM_ASSIGN(auto link, read_sweep(file));
    const int ranks = link.rows.front().ranks;
    if (links.contains(ranks))
      return usage_error(fmt::format("two sweeps of {} ranks", ranks), "leave one of them out");
    links.emplace(ranks, std::move(link));
  }
  return links;
}

Result<PlanLinks> plan_links(std::map<int, MeasuredLink> sweeps, const GivenLinks& reported) {
  PlanLinks links;
  for (const auto& [ranks, sweep] : sweeps) (sweep.hosts > 1 ? links.over : links.within) = sweep;
  links.sweeps = std::move(sweeps);
  if (!links.within && !links.over)
    return usage_error("a sweep is needed: how long an all_reduce takes", "--measured-links");
  if (reported.between && links.over) {
    return usage_error(fmt::format("--between, and a sweep over {} hosts, both measure the network", links.over->hosts),
                       "leave one of them out");
  }
  const int hosts_have = std::max(links.within ? links.within->ranks : 1, links.over ? links.over->per_host() : 1);
  links.per_node = reported.per_node.value_or(hosts_have);
  if (links.over && links.per_node < links.over->per_host()) {
    return usage_error(fmt::format("--per-node {} is less than the {} ranks that a host had in a sweep", links.per_node,
                                   links.over->per_host()),
                       "leave it out");
  }
  if (reported.between) {
    links.network = Network::reported;
    links.between.link = *reported.between;
  } else if (links.over && !links.within && links.over->per_host() > 1) {
    links.network = Network::flat;
  } else if (links.over) {
    const int inside = links.over->per_host();
    WM_ASSIGN(links.between, coll::fit_between(links.over->rows, inside,
                                               [&](double bytes) { return within_s(links, bytes, inside); }));
    links.network = Network::fitted;
  }
  return links;
}

double all_reduce_s(const PlanLinks& links, double bytes, int gpus) {
  const int nodes = (gpus + links.per_node - 1) / links.per_node;
  if (const auto own = links.sweeps.find(gpus); own != links.sweeps.end() && own->second.hosts == nodes) {
    return coll::measured_cost(own->second.rows, own->second.fit, bytes);
  }
  const bool one_link = links.network == Network::unknown || links.network == Network::flat;
  if (nodes == 1 || one_link) return within_s(links, bytes, gpus);
  return coll::two_level_cost(
      bytes, nodes, links.per_node, [&](double size) { return within_s(links, size, links.per_node); },
      links.between.algorithm, links.between.link);
}

bool link_is_assumed(const PlanLinks& links, int gpus) {
  return links.network == Network::unknown && gpus > links.per_node;
}

}  // namespace warpmark::apps
