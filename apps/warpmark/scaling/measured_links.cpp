#include "warpmark/scaling/measured_links.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"

namespace warpmark::apps {
namespace {

Result<MeasuredLink> read_sweep(const std::string& file) {
  WM_ASSIGN(const auto text, read_file(file));
  WM_ASSIGN(const auto json, parse_json(text, file));
  if (!json.is_object() || json.value("schema", "") != "warpmark.collective/1" || !json["rows"].is_array()) {
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

std::optional<MeasuredLink> widest(const std::map<int, MeasuredLink>& links) {
  if (links.empty()) return std::nullopt;
  return links.rbegin()->second;
}

}  // namespace warpmark::apps
