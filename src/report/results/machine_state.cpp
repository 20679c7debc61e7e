#include "report/results/machine_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "report/draw/table.h"
#include "report/draw/wrap.h"

namespace warpmark::report {
namespace {

constexpr std::size_t kMoments = 24;  // of the history that are drawn
constexpr double kFull = 0.9;         // memory above this is close to its end

void append(std::vector<double>& values, std::optional<double> value) {
  values.push_back(value.value_or(0));
  if (values.size() > kMoments) values.erase(values.begin());
}

/// Heights from nothing to all, not from the lowest to the highest value as other sparklines: 100 % looks full.
std::string shape_of(const std::vector<double>& ratios, bool unicode) {
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kPlain{"_", ".", ".", "-", "-", "=", "=", "#"};
  std::string text;
  for (const double ratio : ratios) {
    const auto height = static_cast<std::size_t>(std::lround(std::clamp(ratio, 0.0, 1.0) * 7));
    text += unicode ? kBlocks[height] : kPlain[height];
  }
  return text;
}

Cell busy_cell(std::optional<double> utilization) {
  if (!utilization) return {"-", Tone::quiet};
  return {format_percent(*utilization), Tone::plain, *utilization};
}

/// "75.4 of 79.6 GiB", or with both units where they differ.
Cell memory_cell(std::optional<std::int64_t> used, std::optional<std::int64_t> total) {
  if (!used || !total || *total <= 0) return {"-", Tone::quiet};
  std::string part = format_bytes(static_cast<double>(*used));
  const std::string whole = format_bytes(static_cast<double>(*total));
  const auto unit = part.rfind(' ');
  if (unit != std::string::npos && whole.ends_with(part.substr(unit))) part.resize(unit);
  const double share = static_cast<double>(*used) / static_cast<double>(*total);
  return {part + " of " + whole, share > kFull ? Tone::warning : Tone::plain};
}

Cell quantity_cell(std::optional<double> value, const char* unit) {
  if (!value) return {"-", Tone::quiet};
  return {format_si(*value, unit)};
}

Cell power_cell(const GpuState& gpu) {
  if (!gpu.power_w) return {"-", Tone::quiet};
  const std::string now = std::to_string(std::lround(*gpu.power_w));
  if (!gpu.power_limit_w) return {now + " W"};
  return {now + "/" + std::to_string(std::lround(*gpu.power_limit_w)) + " W"};
}

Cell heat_cell(std::optional<double> celsius) {
  if (!celsius) return {"-", Tone::quiet};
  return {std::to_string(std::lround(*celsius)) + " °C"};
}

/// "in 12.1 GB/s out 345 MB/s", as the GPU sees it.
Cell traffic_cell(std::optional<double> received, std::optional<double> sent) {
  if (!received || !sent) return {"-", Tone::quiet};
  return {format_si(*received, "B/s") + " in, " + format_si(*sent, "B/s") + " out"};
}

Table device_table(const MachineState& state, const UtilizationHistory& history, bool unicode) {
  const bool nvlink =
      std::any_of(state.gpus.begin(), state.gpus.end(), [](const auto& gpu) { return gpu.nvlink_sent.has_value(); });
  Table table;
  table.columns = {{"device"}, {"busy", Align::right}, {"recently", Align::left, 4}, {"memory", Align::right}};
  const HostState& host = state.host;
  table.rows.push_back({{format_plural(static_cast<std::size_t>(host.cpus), "CPU", "CPUs")},
                        busy_cell(host.utilization),
                        {shape_of(history.host(), unicode)},
                        memory_cell(host.memory_used_bytes, host.memory_bytes)});
  if (state.gpus.empty()) return table;
  for (const Column& column : {Column{"SM clock", Align::right, 3}, Column{"power", Align::right, 2},
                               Column{"heat", Align::right, 1}, Column{"PCIe", Align::right, 5}}) {
    table.columns.push_back(column);
  }
  if (nvlink) table.columns.push_back({"NVLink", Align::right, 6});
  table.columns.push_back({"slowed by", Align::left});
  table.rows[0].resize(table.columns.size());
  for (std::size_t i = 0; i < state.gpus.size(); ++i) {
    const GpuState& gpu = state.gpus[i];
    std::vector<Cell> row{{"GPU " + std::to_string(gpu.index)}, busy_cell(gpu.utilization),
                          {shape_of(history.gpu(i), unicode)},  memory_cell(gpu.memory_used_bytes, gpu.memory_bytes),
                          quantity_cell(gpu.sm_clock_hz, "Hz"), power_cell(gpu),
                          heat_cell(gpu.temperature_c),         traffic_cell(gpu.pcie_received, gpu.pcie_sent)};
    if (nvlink) row.push_back(traffic_cell(gpu.nvlink_received, gpu.nvlink_sent));
    row.push_back({gpu.problem.empty() ? join(gpu.slowed_by, ", ") : gpu.problem, Tone::bad});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string gpu_list_text(const ProcessState& process) {
  std::string text;
  for (const auto& use : process.gpus) text += (text.empty() ? "" : " ") + std::to_string(use.gpu);
  return text;
}

Cell gpu_memory_cell(const ProcessState& process) {
  double sum = 0;
  for (const auto& use : process.gpus) {
    if (!use.memory_bytes) return {"-", Tone::quiet};
    sum += static_cast<double>(*use.memory_bytes);
  }
  return process.gpus.empty() ? Cell{} : Cell{format_bytes(sum)};
}

/// Whole characters of the text, in at most `width` columns; the columns of one character are taken as one.
std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string kept;
  std::size_t columns = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && ++columns > width) break;
    kept += c;
  }
  return kept;
}

/// The command without the folder of its program: arguments tell more about it.
std::string without_folder(const std::string& command) {
  const auto word = command.substr(0, command.find(' '));
  const auto slash = word.rfind('/');
  return slash == std::string::npos || slash + 1 == word.size() ? command : command.substr(slash + 1);
}

Table process_table(const MachineState& state, bool gpus, std::size_t command_width) {
  Table table{{{"process", Align::right}, {"cores", Align::right}, {"memory", Align::right, 1}}, {}};
  if (gpus) {
    table.columns.push_back({"GPU"});
    table.columns.push_back({"GPU memory", Align::right, 2});
  }
  table.columns.push_back({"command"});
  for (const auto& process : state.processes) {
    const bool seen = process.threads > 0;
    std::vector<Cell> row{{std::to_string(process.id)},
                          {process.cores ? format_significant(*process.cores, *process.cores < 1 ? 2 : 3) : "-"},
                          {seen ? format_bytes(static_cast<double>(process.memory_bytes)) : "-"}};
    if (gpus) {
      row.push_back({gpu_list_text(process)});
      row.push_back(gpu_memory_cell(process));
    }
    row.push_back({cut(seen ? without_folder(process.command) : "(not visible from here)", command_width)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string first_lines(const std::string& text, int lines) {
  std::size_t end = 0;
  for (int i = 0; i < lines && end < text.size(); ++i) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

/// Names of the GPUs, each kind once.
std::string gpu_names(const MachineState& state) {
  std::vector<std::pair<std::string, std::size_t>> kinds;
  for (const auto& gpu : state.gpus) {
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == gpu.name; });
    if (known == kinds.end()) {
      kinds.emplace_back(gpu.name, 1);
    } else {
      ++known->second;
    }
  }
  std::string text;
  for (const auto& [name, count] : kinds) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : std::string()) + name;
  }
  return text.empty() ? "no GPU: " + state.gpu_problem : text;
}

/// A part goes on a line of its own where the line has no room for it, and is wrapped where even that is too narrow.
std::string heading(const MachineState& state, std::size_t width) {
  std::vector<std::string> parts{state.host.name, format_utc(static_cast<double>(state.time_ns) * 1e-9)};
  if (state.host.load_average) parts.push_back("load " + format_significant(*state.host.load_average, 3));
  parts.push_back(gpu_names(state));
  std::string text, line;
  for (const auto& part : parts) {
    if (!line.empty() && display_width(line) + 2 + display_width(part) <= width) {
      line += "  " + part;
      continue;
    }
    if (!line.empty()) text += line + "\n";
    const auto lines = wrap(part, width);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) text += lines[i] + "\n";
    line = lines.back();
  }
  return text + line;
}

void add_extent(Table& table, std::string& who, const char* what, const Extent& extent, const char* unit,
                const std::string& peak = "") {
  if (extent.polls == 0) return;
  table.rows.push_back({{std::exchange(who, "")},
                        {what},
                        {format_quantity(extent.least, unit)},
                        {format_quantity(extent.mean, unit)},
                        {format_quantity(extent.most, unit)},
                        {peak, Tone::quiet}});
}

std::string share_of_memory(const GpuSummary& gpu) {
  if (gpu.memory_bytes <= 0 || gpu.memory_used.polls == 0) return "";
  return fmt::format("peak {} of {}", format_percent(gpu.memory_used.most / gpu.memory_bytes),
                     format_bytes(gpu.memory_bytes));
}

}  // namespace

void UtilizationHistory::add(const MachineState& state) {
  append(host_, state.host.utilization);
  gpus_.resize(std::max(gpus_.size(), state.gpus.size()));
  for (std::size_t i = 0; i < state.gpus.size(); ++i) append(gpus_[i], state.gpus[i].utilization);
}

const std::vector<double>& UtilizationHistory::gpu(std::size_t position) const {
  static const std::vector<double> kNone;
  return position < gpus_.size() ? gpus_[position] : kNone;
}

std::string render_machine_state(const MachineState& state, const UtilizationHistory& history,
                                 const RenderOptions& options, int lines) {
  const auto line_count = [](const std::string& block) { return std::count(block.begin(), block.end(), '\n'); };
  std::string text = heading(state, static_cast<std::size_t>(options.width)) + "\n\n";
  if (!options.unicode) text = to_ascii(text);
  text += render_table(device_table(state, history, options.unicode), options);
  const bool gpus = std::any_of(state.processes.begin(), state.processes.end(),
                                [](const auto& process) { return !process.gpus.empty(); });
  const auto others = static_cast<std::size_t>(gpus ? 50 : 32);  // columns before the command
  const auto width = static_cast<std::size_t>(options.width);
  Table table = process_table(state, gpus, std::max<std::size_t>(10, width - std::min(width, others)));
  while (!table.rows.empty()) {
    const std::string below = "\n" + render_table(table, options);
    if (lines == 0 || line_count(text) + line_count(below) <= lines) return text + below;
    table.rows.pop_back();
  }
  return lines == 0 ? text : first_lines(text, lines);
}

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
               gpu.slowed_polls > 0
                   ? fmt::format("held down at {} of {}", gpu.slowed_polls,
                                 format_plural(static_cast<std::size_t>(summary.polls), "sample", "samples"))
                   : std::string());
    add_extent(table, who, "temperature", gpu.temperature, "°C");
  }
  Section section{fmt::format("{} in {}", format_plural(static_cast<std::size_t>(summary.polls), "sample", "samples"),
                              format_duration(summary.seconds)),
                  {}};
  for (const GpuSummary& gpu : summary.gpus) {
    if (gpu.lost_polls == 0) continue;
    section.blocks.push_back(
        Paragraph{fmt::format("GPU {} {} did not answer at {} of {}: {}", gpu.index, gpu.name, gpu.lost_polls,
                              format_plural(static_cast<std::size_t>(summary.polls), "sample", "samples"), gpu.problem),
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
