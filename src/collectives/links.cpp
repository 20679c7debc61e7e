#include "collectives/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "base/quantity.h"
#include "collectives/nccl/nccl_engine.h"
#include "collectives/results/verdict.h"
#include "device/cuda/backend.h"
#include "device/nvml/nvml.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

struct Kind {
  const char* name;
  LinkValue GpuPair::*value;
};
constexpr Kind kPairKinds[] = {{"write", &GpuPair::write}, {"read", &GpuPair::read}, {"both ways", &GpuPair::both}};

double promised(const GpuPair& pair, const LinkFacts& facts) {
  const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
  if (from >= facts.nvlink.size() || to >= facts.nvlink.size()) return 0;
  const double nvlink = std::min(facts.nvlink[from], facts.nvlink[to]);
  return nvlink > 0 ? nvlink : std::min(facts.pcie[from], facts.pcie[to]);
}

void judge_cell(std::vector<SlowLink>& slow, const std::string& where, double value, double expected, double usual) {
  if (!(value > 0)) return;
  if (expected > 0 && value < 0.8 * expected) {
    slow.push_back({where, value, expected, "below 80 % of what its links promise"});
  } else if (usual > 0 && value < 0.85 * usual) {
    slow.push_back({where, value, usual, "below 85 % of the median of its kind"});
  }
}

HeatMap heat_map(const Links& links, const std::string& title, const std::vector<SlowLink>& slow, const Kind& kind) {
  HeatMap map{title, "from", "to", "slow", {}, {}, {}};
  for (std::size_t i = 0; i < links.gpus.size(); ++i) {
    map.rows.push_back(fmt::format("GPU {}", i));
    map.columns.push_back(fmt::format("GPU {}", i));
  }
  map.squares.assign(links.gpus.size(), std::vector<HeatMap::Square>(links.gpus.size(), {std::nullopt, "-", false}));
  for (const auto& pair : links.pairs) {
    const std::string where = fmt::format("GPU {} -> GPU {}, {}", pair.from, pair.to, kind.name);
    const bool marked = std::any_of(slow.begin(), slow.end(), [&](const auto& item) { return item.where == where; });
    const double value = (pair.*kind.value).value;
    map.squares[static_cast<std::size_t>(pair.from)][static_cast<std::size_t>(pair.to)] = {
        value, format_si(value, "B/s"), marked};
  }
  return map;
}

std::string with_interval(const LinkValue& value, const std::function<std::string(double)>& format) {
  if (!value.interval) return format(value.value);
  const double half = (value.interval->high - value.interval->low) / 2;
  return format(value.value) + (value.value > 0 ? fmt::format(" ± {:.1f} %", 100 * half / value.value) : "");
}

Json value_json(const LinkValue& value) {
  Json json{{"value", value.value}};
  if (value.interval) json["interval"] = {value.interval->low, value.interval->high};
  return json;
}

}  // namespace

std::vector<SlowLink> slow_links(const Links& links, const LinkFacts& facts) {
  std::vector<SlowLink> slow;
  for (const auto& kind : kPairKinds) {
    std::vector<double> values;
    for (const auto& pair : links.pairs) values.push_back((pair.*kind.value).value);
    const double usual = stats::median(values);
    const double directions = kind.value == &GpuPair::both ? 2 : 1;
    for (const auto& pair : links.pairs) {
      judge_cell(slow, fmt::format("GPU {} -> GPU {}, {}", pair.from, pair.to, kind.name), (pair.*kind.value).value,
                 directions * promised(pair, facts), usual);
    }
  }
  std::vector<double> to_gpu, from_gpu;
  for (const auto& host : links.hosts) {
    to_gpu.push_back(host.to_gpu.value);
    from_gpu.push_back(host.from_gpu.value);
  }
  for (const auto& host : links.hosts) {
    const auto gpu = static_cast<std::size_t>(host.gpu);
    const double expected = gpu < facts.pcie.size() ? facts.pcie[gpu] : 0;
    judge_cell(slow, fmt::format("host -> GPU {}", host.gpu), host.to_gpu.value, expected, stats::median(to_gpu));
    judge_cell(slow, fmt::format("GPU {} -> host", host.gpu), host.from_gpu.value, expected, stats::median(from_gpu));
  }
  return slow;
}

double pcie_rate(int generation, int width) {
  // Transfers a second and lane; 8b/10b coding up to generation 2, 128b/130b from 3 on; of each packet of 256 bytes of
  // payload some 24 are framing, sequence number, header and checksum.
  constexpr double kTransfers[] = {0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (generation < 1 || generation > 6 || width < 1) return 0;
  const double coding = generation < 3 ? 0.8 : 128.0 / 130.0;
  return kTransfers[generation] * coding / 8 * width * 256 / 280;
}

Report build_report(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Report report;
  report.title = fmt::format("Links of {} GPU{}", links.gpus.size(), links.gpus.size() == 1 ? "" : "s");
  Section verdict{"Verdict", {}, false, false};
  if (slow.empty()) verdict.blocks.push_back(Paragraph{"No link is slow.", Tone::good});
  for (const auto& item : slow) {
    verdict.blocks.push_back(Paragraph{fmt::format("{}: {}, {} of {}", item.where, format_si(item.value, "B/s"),
                                                   item.reason, format_si(item.expected, "B/s")),
                                       Tone::bad});
  }
  report.sections.push_back(std::move(verdict));
  if (!links.pairs.empty()) {
    Table table;
    table.columns = {{"pair"},
                     {"path"},
                     {"write", Align::right},
                     {"read", Align::right, 1},
                     {"both ways", Align::right},
                     {"expected", Align::right},
                     {"latency", Align::right}};
    const auto rate = [](double value) { return format_si(value, "B/s"); };
    for (const auto& pair : links.pairs) {
      const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
      const bool known = from < facts.paths.size() && to < facts.paths[from].size();
      const double expected = promised(pair, facts);
      table.rows.push_back({{fmt::format("{} -> {}", pair.from, pair.to)},
                            {known       ? facts.paths[from][to]
                             : pair.peer ? "peer"
                                         : "through the host"},
                            {with_interval(pair.write, rate)},
                            {with_interval(pair.read, rate)},
                            {with_interval(pair.both, rate)},
                            {expected > 0 ? rate(expected) : "-"},
                            {format_seconds(pair.latency.value)}});
    }
    Section section{"GPU to GPU", {std::move(table)}, false, false};
    for (const auto& kind : kPairKinds) {
      section.blocks.push_back(heat_map(links, std::string("bandwidth, ") + kind.name, slow, kind));
    }
    report.sections.push_back(std::move(section));
  }
  Table table;
  table.columns = {{"GPU"},
                   {"to GPU", Align::right},
                   {"from GPU", Align::right},
                   {"both ways", Align::right},
                   {"expected", Align::right},
                   {"latency", Align::right}};
  for (const auto& host : links.hosts) {
    const auto gpu = static_cast<std::size_t>(host.gpu);
    const auto rate = [](double value) { return format_si(value, "B/s"); };
    table.rows.push_back({{std::to_string(host.gpu)},
                          {with_interval(host.to_gpu, rate)},
                          {with_interval(host.from_gpu, rate)},
                          {with_interval(host.both, rate)},
                          {gpu < facts.pcie.size() && facts.pcie[gpu] > 0 ? rate(facts.pcie[gpu]) : "-"},
                          {format_seconds(host.latency.value)}});
  }
  report.sections.push_back({"Host and GPU, pinned memory", {std::move(table)}, false, false});
  Table names{{{"GPU"}, {"name"}}, {}};
  for (const auto& gpu : links.gpus) {  // "0 NVIDIA H100 [0000:00:06.0]"
    const auto space = gpu.find(' ');
    names.rows.push_back({{gpu.substr(0, space)}, {space == gpu.npos ? "" : gpu.substr(space + 1)}});
  }
  report.sections.push_back({"GPUs", {std::move(names)}, false, false});
  return report;
}

Json to_json(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow) {
  Json json{{"schema", "warpmark.links/1"},
            {"gpus", links.gpus},
            {"pairs", Json::array()},
            {"hosts", Json::array()},
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
                             {"latency", value_json(host.latency)}});
  }
  for (const auto& item : slow) {
    json["slow"].push_back(
        {{"where", item.where}, {"value", item.value}, {"expected", item.expected}, {"reason", item.reason}});
  }
  return json;
}

Result<Links> measure_gpu_links(const LinkOptions& options) {
  const auto support = device::kCudaBackend.available();
  if (!support.available) return environment_error("links are between GPUs: " + support.reason, support.hint);
  WM_ASSIGN(const auto* module, collectives_module());
  return module->links(options);
}

Result<LinkFacts> link_facts() {
  WM_ASSIGN(const auto gpus, device::nvml::gpu_list());
  LinkFacts facts;
  for (const auto& gpu : gpus) {
    // Plain copies reach what collectives can use of a link.
    facts.nvlink.push_back(nvlink_fabric(gpu.nvlink_version.value_or(0), gpu.nvlinks_active.value_or(0)));
    facts.pcie.push_back(pcie_rate(gpu.pcie_max_generation.value_or(0), gpu.pcie_max_width.value_or(0)));
  }
  facts.paths.assign(gpus.size(), std::vector<std::string>(gpus.size(), "unknown"));
  const auto topology = device::nvml::topology();
  if (!topology.ok()) return facts;
  for (const auto& link : *topology) {
    const auto a = static_cast<std::size_t>(link.a), b = static_cast<std::size_t>(link.b);
    if (a < gpus.size() && b < gpus.size()) facts.paths[a][b] = facts.paths[b][a] = link.path;
    if (!link.nvlink && gpus.size() == 2) facts.nvlink.assign(2, 0);
  }
  return facts;
}

}  // namespace warpmark::collectives
