// What is shown of links, as a report and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/quantity.h"
#include "collectives/links.h"
#include "collectives/results/usual_reach.h"

namespace warpmark::collectives {
namespace {

std::string rate_text(double value) { return format_si(value, "B/s"); }

std::string with_interval(const LinkValue& value) {
  if (!value.interval || !(value.value > 0)) return rate_text(value.value);
  const double half = (value.interval->high - value.interval->low) / 2;
  return rate_text(value.value) + fmt::format(" ± {:.1f} %", 100 * half / value.value);
}

std::string gpu_name(std::size_t gpu) { return fmt::format("GPU {}", gpu); }

bool is_slow(const std::vector<SlowLink>& slow, const std::string& where) {
  return std::any_of(slow.begin(), slow.end(), [&](const auto& item) { return item.where == where; });
}

struct PairKind {
  const char* title;
  const char* name;  ///< in SlowLink::where
  LinkValue GpuPair::*value;
  std::string (*text)(double);
};
constexpr PairKind kPairKinds[] = {{"bandwidth, write", "write", &GpuPair::write, rate_text},
                                   {"bandwidth, read", "read", &GpuPair::read, rate_text},
                                   {"bandwidth, both ways", "both ways", &GpuPair::both, rate_text},
                                   {"latency", "latency", &GpuPair::latency, format_seconds}};

HeatMap pair_map(const Links& links, const std::vector<SlowLink>& slow, const PairKind& kind) {
  HeatMap map{kind.title, "from", "to", "slow", {}, {}, {}};
  for (std::size_t i = 0; i < links.gpus.size(); ++i) {
    map.rows.push_back(gpu_name(i));
    map.columns.push_back(gpu_name(i));
  }
  map.squares.assign(links.gpus.size(), std::vector<HeatMap::Square>(links.gpus.size(), {std::nullopt, "-", false}));
  for (const auto& pair : links.pairs) {
    const double value = (pair.*kind.value).value;
    map.squares[static_cast<std::size_t>(pair.from)][static_cast<std::size_t>(pair.to)] = {
        value, kind.text(value), is_slow(slow, where_of(pair, kind.name))};
  }
  return map;
}

HeatMap host_map(const Links& links, const std::vector<SlowLink>& slow) {
  HeatMap map{"bandwidth, host and GPU", "", "", "slow", {}, {"to GPU", "from GPU", "both ways"}, {}};
  for (const auto& host : links.hosts) {
    map.rows.push_back(fmt::format("GPU {}", host.gpu));
    const auto square = [&](const LinkValue& value, const std::string& where) {
      return HeatMap::Square{value.value, rate_text(value.value), is_slow(slow, where)};
    };
    const auto where = where_of(host);
    map.squares.push_back(
        {square(host.to_gpu, where.to_gpu), square(host.from_gpu, where.from_gpu), square(host.both, where.both)});
  }
  return map;
}

Section verdict_section(const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Section section{"Verdict", {}, false, false};
  if (slow.empty()) section.blocks.push_back(Paragraph{"No link is slow.", Tone::good});
  for (const auto& item : slow) {
    const auto text = [&](double value) { return item.unit == "s" ? format_seconds(value) : rate_text(value); };
    section.blocks.push_back(Paragraph{
        fmt::format("{}: {}, {} of {}", item.where, text(item.value), item.reason, text(item.expected)), Tone::bad});
  }
  for (const auto& text : degraded_links(facts)) section.blocks.push_back(Paragraph{text, Tone::warning});
  return section;
}

Section pairs_section(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Table table;
  table.columns = {{"pair"},
                   {"path"},
                   {"write", Align::right},
                   {"read", Align::right, 1},
                   {"both ways", Align::right},
                   {"expected", Align::right},
                   {"latency", Align::right}};
  for (const auto& pair : links.pairs) {
    const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
    const bool known = from < facts.paths.size() && to < facts.paths[from].size();
    const double expected = promised(pair, facts);
    table.rows.push_back({{fmt::format("{} -> {}", pair.from, pair.to)},
                          {known       ? facts.paths[from][to]
                           : pair.peer ? "peer"
                                       : "through the host"},
                          {with_interval(pair.write)},
                          {with_interval(pair.read)},
                          {with_interval(pair.both)},
                          {expected > 0 ? rate_text(expected) : "-"},
                          {format_seconds(pair.latency.value)}});
  }
  Section section{"GPU to GPU", {std::move(table)}, false, false};
  for (const auto& kind : kPairKinds) section.blocks.push_back(pair_map(links, slow, kind));
  return section;
}

std::string nvlink_text(const Attachment& gpu) {
  if (!gpu.nvlinks || *gpu.nvlinks == 0) return "-";
  const int generation = nvlink_generation(gpu.nvlink_version.value_or(0));
  return fmt::format("{} of {}{}", gpu.nvlinks_active.value_or(0), *gpu.nvlinks,
                     generation > 0 ? fmt::format(", NVLink {}", generation) : "");
}

std::string pcie_text(const std::optional<int>& generation, const std::optional<int>& width) {
  if (!generation && !width) return "-";
  return fmt::format("{} x{}", generation ? std::to_string(*generation) : "?", width ? std::to_string(*width) : "?");
}

Section topology_section(const LinkFacts& facts) {
  Table table;
  table.columns = {{"GPU"}, {"NVLinks"}, {"PCIe now"}, {"PCIe at most"}, {"NUMA node", Align::right}};
  for (std::size_t i = 0; i < facts.attached.size(); ++i) {
    const auto& gpu = facts.attached[i];
    table.rows.push_back({{std::to_string(i)},
                          {nvlink_text(gpu)},
                          {pcie_text(gpu.pcie_generation, gpu.pcie_width)},
                          {pcie_text(gpu.pcie_max_generation, gpu.pcie_max_width)},
                          {gpu.numa_node ? std::to_string(*gpu.numa_node) : "-"}});
  }
  return {"Topology", {std::move(table)}, false, false};
}

Section hosts_section(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Table table;
  table.columns = {{"GPU"},
                   {"to GPU", Align::right},
                   {"from GPU", Align::right},
                   {"both ways", Align::right},
                   {"expected", Align::right},
                   {"latency", Align::right}};
  for (const auto& host : links.hosts) {
    const double expected = promised(host, facts);
    table.rows.push_back({{std::to_string(host.gpu)},
                          {with_interval(host.to_gpu)},
                          {with_interval(host.from_gpu)},
                          {with_interval(host.both)},
                          {expected > 0 ? rate_text(expected) : "-"},
                          {format_seconds(host.latency.value)}});
  }
  Section section{"Host and GPU, pinned memory", {std::move(table)}, false, false};
  if (links.hosts.size() > 1) section.blocks.push_back(host_map(links, slow));
  return section;
}

Section names_section(const Links& links) {
  Table names{{{"GPU"}, {"name"}}, {}};
  for (const auto& gpu : links.gpus) {  // "0 NVIDIA H100 [0000:00:06.0]"
    const auto space = gpu.find(' ');
    names.rows.push_back({{gpu.substr(0, space)}, {space == gpu.npos ? "" : gpu.substr(space + 1)}});
  }
  return {"GPUs", {std::move(names)}, false, false};
}

Json value_json(const LinkValue& value) {
  Json json{{"value", value.value}};
  if (value.interval) json["interval"] = {value.interval->low, value.interval->high};
  return json;
}

Json attachment_json(const Attachment& gpu) {
  Json json = Json::object();
  const auto put = [&](const char* key, const std::optional<int>& value) {
    if (value) json[key] = *value;
  };
  if (!gpu.pci_bus_id.empty()) json["pci_bus_id"] = gpu.pci_bus_id;
  put("nvlinks", gpu.nvlinks);
  put("nvlinks_active", gpu.nvlinks_active);
  if (const int generation = nvlink_generation(gpu.nvlink_version.value_or(0)); generation > 0) {
    json["nvlink_generation"] = generation;
  }
  put("pcie_generation", gpu.pcie_generation);
  put("pcie_max_generation", gpu.pcie_max_generation);
  put("pcie_width", gpu.pcie_width);
  put("pcie_max_width", gpu.pcie_max_width);
  put("numa_node", gpu.numa_node);
  return json;
}

}  // namespace

Report build_report(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Report report;
  report.title = fmt::format("Links of {} GPU{}", links.gpus.size(), links.gpus.size() == 1 ? "" : "s");
  report.sections.push_back(verdict_section(facts, slow));
  if (!links.pairs.empty()) report.sections.push_back(pairs_section(links, facts, slow));
  if (!facts.attached.empty()) report.sections.push_back(topology_section(facts));
  report.sections.push_back(hosts_section(links, facts, slow));
  report.sections.push_back(names_section(links));
  return report;
}

Json to_json(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Json json{{"schema", "warpmark.links/1"}, {"gpus", links.gpus},        {"pairs", Json::array()},
            {"hosts", Json::array()},       {"topology", Json::array()}, {"degraded", degraded_links(facts)},
            {"slow", Json::array()}};
  for (const auto& pair : links.pairs) {
    json["pairs"].push_back({{"from", pair.from},
                             {"to", pair.to},
                             {"peer", pair.peer},
                             {"write", value_json(pair.write)},
                             {"read", value_json(pair.read)},
                             {"both", value_json(pair.both)},
                             {"latency", value_json(pair.latency)},
                             {"expected", promised(pair, facts)}});
  }
  for (const auto& host : links.hosts) {
    json["hosts"].push_back({{"gpu", host.gpu},
                             {"to_gpu", value_json(host.to_gpu)},
                             {"from_gpu", value_json(host.from_gpu)},
                             {"both", value_json(host.both)},
                             {"latency", value_json(host.latency)},
                             {"expected", promised(host, facts)}});
  }
  for (const auto& gpu : facts.attached) json["topology"].push_back(attachment_json(gpu));
  for (const auto& item : slow) {
    json["slow"].push_back({{"where", item.where},
                            {"value", item.value},
                            {"expected", item.expected},
                            {"reason", item.reason},
                            {"unit", item.unit}});
  }
  return json;
}

}  // namespace warpmark::collectives
