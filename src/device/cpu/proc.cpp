#include "device/cpu/proc.h"

#include <array>
#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "device/cpu/conditions.h"

namespace warpmark::device {
namespace {

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Calls `use` with each line, without its newline.
template <typename Use>
void for_each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    use(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  constexpr std::string_view kBlanks = " \t";
  for (auto start = line.find_first_not_of(kBlanks); start != std::string_view::npos;) {
    const auto end = line.find_first_of(kBlanks, start);
    found.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(kBlanks, end);
  }
  return found;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int kMostCpus = 1 << 16;  // a malformed range must not fill the memory
  std::vector<int> cpus;
  for (const auto& part : split(trim(text), ',')) {
    const auto dash = part.find('-');
    const auto first = whole_number<int>(trim(std::string_view(part).substr(0, dash)));
    const auto last =
        dash == std::string::npos ? first : whole_number<int>(trim(std::string_view(part).substr(dash + 1)));
    if (!first || !last || *first < 0 || *last >= kMostCpus) continue;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string cpu_list_text(std::span<const int> cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::optional<std::int64_t> parse_kernel_size(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  std::int64_t factor = 1;
  if (text.back() == 'K') factor = 1024;
  if (text.back() == 'M') factor = 1024 * 1024;
  if (text.back() == 'G') factor = 1024 * 1024 * 1024;
  if (factor != 1) text.remove_suffix(1);
  const auto value = whole_number<std::int64_t>(text);
  if (!value || *value < 0 || *value > INT64_MAX / factor) return std::nullopt;
  return *value * factor;
}

std::optional<double> leading_number(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<CpuTimes> parse_proc_stat(std::string_view text, double ticks_per_second) {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; guest time is already within user.
  const auto fields = words(text.substr(0, text.find('\n')));
  if (fields.size() < 9 || fields[0] != "cpu" || ticks_per_second <= 0) return std::nullopt;
  std::array<double, 8> ticks{};
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const auto value = whole_number<std::int64_t>(fields[i + 1]);
    if (!value) return std::nullopt;
    ticks[i] = static_cast<double>(*value);
  }
  return CpuTimes{.busy_s = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / ticks_per_second,
                  .steal_s = ticks[7] / ticks_per_second};
}

MemoryInfo parse_meminfo(std::string_view text) {
  MemoryInfo memory;
  for_each_line(text, [&](std::string_view line) {
    const auto fields = words(line);
    if (fields.size() != 3 || fields[2] != "kB") return;
    const auto kibibytes = whole_number<std::int64_t>(fields[1]);
    if (!kibibytes) return;
    const std::int64_t bytes = *kibibytes * 1024;
    if (fields[0] == "MemTotal:") memory.total_bytes = bytes;
    if (fields[0] == "MemAvailable:") memory.available_bytes = bytes;
    if (fields[0] == "SwapTotal:") memory.swap_total_bytes = bytes;
    if (fields[0] == "SwapFree:") memory.swap_free_bytes = bytes;
  });
  return memory;
}

std::optional<double> parse_load_average(std::string_view text) { return leading_number(text); }

std::optional<Scheduled> parse_schedstat(std::string_view text) {
  const auto fields = words(trim(text));
  if (fields.size() < 3) return std::nullopt;
  const auto waited_ns = whole_number<std::int64_t>(fields[1]);
  const auto scheduled = whole_number<std::int64_t>(fields[2]);
  if (!waited_ns || !scheduled) return std::nullopt;
  return Scheduled{static_cast<double>(*waited_ns) * 1e-9, *scheduled};
}

std::optional<double> parse_pressure(std::string_view text) {
  std::optional<double> ratio;
  for_each_line(text, [&](std::string_view line) {
    constexpr std::string_view kStart = "some avg10=";
    if (!line.starts_with(kStart)) return;
    if (const auto percent = leading_number(line.substr(kStart.size()))) ratio = *percent / 100;
  });
  return ratio;
}

std::optional<double> parse_pressure_total(std::string_view text) {
  std::optional<double> seconds;
  for_each_line(text, [&](std::string_view line) {
    constexpr std::string_view kTotal = "total=";
    const auto at = line.find(kTotal);
    if (!line.starts_with("some ") || at == std::string_view::npos) return;
    if (const auto microseconds = leading_number(line.substr(at + kTotal.size()))) seconds = *microseconds * 1e-6;
  });
  return seconds;
}

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  for_each_line(text, [&](std::string_view line) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto key = trim(line.substr(0, colon));
    const auto value = trim(line.substr(colon + 1));
    if (key == "processor") ++info.processors;
    if (info.processors > 1) return;
    if (key == "vendor_id") info.vendor = value;
    if (key == "model name") info.model = value;
    if (key == "flags") {
      for (const auto word : words(value)) info.flags.emplace_back(word);
    }
    if (key == "cpu MHz") {
      if (const auto megahertz = leading_number(value)) info.clock_hz = *megahertz * 1e6;
    }
  });
  return info;
}

std::string parse_key_value(std::string_view text, std::string_view key) {
  std::string found;
  for_each_line(text, [&](std::string_view line) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || line.substr(0, equals) != key) return;
    auto value = trim(line.substr(equals + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    found = value;
  });
  return found;
}

std::string selected_choice(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(trim(text));
  return std::string(text.substr(open + 1, close - open - 1));
}

std::vector<ThreadWait> read_thread_waits(const std::filesystem::path& root) {
  std::vector<ThreadWait> threads;
  for (const auto& thread : entries_of(root / "proc/self/task")) {
    const auto counted = parse_schedstat(first_line(thread / "schedstat"));
    const auto id = leading_number(thread.filename().string());
    if (!counted || !id) continue;  // a thread that has ended, or a kernel built without it
    threads.push_back({static_cast<std::int64_t>(*id), counted->waited_s, counted->scheduled});
  }
  return threads;
}

}  // namespace warpmark::device
