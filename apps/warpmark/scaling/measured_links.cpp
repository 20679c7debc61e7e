#include "warpmark/scaling/measured_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "collectives/alpha_beta.h"

namespace warpmark::apps {
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

Result<PlanLinks> plan_links(std::map<int, MeasuredLink> sweeps, const ToldLinks& told) {
  PlanLinks links;
  for (const auto& [ranks, sweep] : sweeps) (sweep.hosts > 1 ? links.over : links.within) = sweep;
  links.sweeps = std::move(sweeps);
  if (!links.within && !links.over)
    return usage_error("a sweep is needed: how long an all_reduce takes", "--measured-links");
  if (told.between && links.over) {
    return usage_error(fmt::format("--between, and a sweep over {} hosts, both measure the network", links.over->hosts),
                       "leave one of them out");
  }
  const int hosts_have = std::max(links.within ? links.within->ranks : 1, links.over ? links.over->per_host() : 1);
  links.per_node = told.per_node.value_or(hosts_have);
  if (links.over && links.per_node < links.over->per_host()) {
    return usage_error(fmt::format("--per-node {} is less than the {} ranks that a host had in a sweep", links.per_node,
                                   links.over->per_host()),
                       "leave it out");
  }
  if (told.between) {
    links.network = Network::told;
    links.between.link = *told.between;
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
