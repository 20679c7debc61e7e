#include "report/results/machine_summary.h"

#include <fmt/format.h>

#include <utility>

#include "report/draw/format.h"

namespace warpmark::report {
namespace {

void add_extent(Table& table, std::string& who, const char* what, const Extent& extent, const char* unit,
                const std::string& peak = "") {
  if (extent.looks == 0) return;
  table.rows.push_back({{std::exchange(who, "")},
                        {what},
                        {format_quantity(extent.least, unit)},
                        {format_quantity(extent.mean, unit)},
                        {format_quantity(extent.most, unit)},
                        {peak, Tone::quiet}});
}

std::string share_of_memory(const GpuSummary& gpu) {
  if (gpu.memory_bytes <= 0 || gpu.memory_used.looks == 0) return "";
  return fmt::format("peak {} of {}", format_percent(gpu.memory_used.most / gpu.memory_bytes),
                     format_bytes(gpu.memory_bytes));
}

}  // namespace

Report build_report(const MachineSummary& summary) {
  Table table{{{""},
               {"figure"},
               {"min", Align::right},
               {"mean", Align::right},
               {"max", Align::right},
               {"remark", Align::left, 1}},
              {}};
  std::string host = "host";
  add_extent(table, host, "CPU utilization", summary.host_utilization, "ratio");
  add_extent(table, host, "memory used", summary.host_memory_used, "B");
  for (const GpuSummary& gpu : summary.gpus) {
    std::string who = fmt::format("GPU {} {}", gpu.index, gpu.name);
    add_extent(table, who, "utilization", gpu.utilization, "ratio");
    add_extent(table, who, "memory used", gpu.memory_used, "B", share_of_memory(gpu));
    add_extent(table, who, "power", gpu.power, "W");
    add_extent(table, who, "SM clock", gpu.sm_clock, "Hz",
               gpu.slowed_looks > 0
                   ? fmt::format("held down at {} of {}", gpu.slowed_looks,
                                 format_plural(static_cast<std::size_t>(summary.looks), "look", "looks"))
                   : std::string());
    add_extent(table, who, "temperature", gpu.temperature, "°C");
  }
  Section section{fmt::format("{} in {}", format_plural(static_cast<std::size_t>(summary.looks), "look", "looks"),
                              format_duration(summary.seconds)),
                  {}};
  for (const GpuSummary& gpu : summary.gpus) {
    if (gpu.lost_looks == 0) continue;
    section.blocks.push_back(
        Paragraph{fmt::format("GPU {} {} did not answer at {} of {}: {}", gpu.index, gpu.name, gpu.lost_looks,
                              format_plural(static_cast<std::size_t>(summary.looks), "look", "looks"), gpu.problem),
                  Tone::bad});
  }
  if (summary.gpus.empty() && !summary.gpu_problem.empty()) {
    section.blocks.push_back(Paragraph{"no GPU: " + summary.gpu_problem, Tone::quiet});
  }
  if (table.rows.empty()) {
    section.blocks.push_back(Paragraph{"No summary: it needs at least two samples.", Tone::warning});
  } else {
    section.blocks.push_back(std::move(table));
  }
  return {.title = "What the machine did", .subtitle = "", .sections = {std::move(section)}};
}

}  // namespace warpmark::report
