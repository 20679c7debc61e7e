#include "profile/collectors/counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "device/nvml/counters.h"
#include "profile/module/unix_clock.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The first line of a small file, with three system calls: hundreds of threads are looked at ten times a second.
std::string line_of(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 1024> bytes{};
  const auto got = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  const std::string_view text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

/// A /proc stat line: "id (name) state parent ...". The name may hold blanks and parentheses itself.
struct StatLine {
  std::string name;
  std::vector<std::string> fields;  ///< behind the name: [0] is the state, [1] the parent
};

StatLine stat_line(const fs::path& path) {
  const auto line = line_of(path);
  const auto begin = line.find('(');
  const auto end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin || end + 2 > line.size()) return {};
  return {line.substr(begin + 1, end - begin - 1), split(line.substr(end + 2), ' ')};
}

constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;

bool is_number(const std::string& text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// NVML's mask of reasons, put together again from their names.
double mask_of(const std::vector<std::string>& reasons) {
  unsigned long long mask = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const auto names = device::nvml::clock_event_reasons(1ULL << bit);
    const bool active = std::any_of(names.begin(), names.end(), [&](const auto& name) {
      return std::find(reasons.begin(), reasons.end(), name) != reasons.end();
    });
    if (active) mask |= 1ULL << bit;
  }
  return static_cast<double>(mask);
}

}  // namespace

std::set<std::int64_t> family_of(const fs::path& root, pid_t program) {
  std::multimap<std::int64_t, std::int64_t> children;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "proc", ignored)) {
    const auto name = entry.path().filename().string();
    if (!is_number(name)) continue;
    const auto fields = stat_line(entry.path() / "stat").fields;
    if (fields.size() > 1) children.emplace(number_of(fields[1]), number_of(name));
  }
  std::set<std::int64_t> family{program};
  std::vector<std::int64_t> open{program};
  while (!open.empty()) {
    const auto parent = open.back();
    open.pop_back();
    for (auto [it, end] = children.equal_range(parent); it != end; ++it) {
      if (family.insert(it->second).second) open.push_back(it->second);
    }
  }
  return family;
}

HostTimes read_host_times(const fs::path& root, pid_t program) {
  HostTimes times;
  for (const auto process : family_of(root, program)) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root / "proc" / std::to_string(process) / "task", ignored)) {
      auto [name, fields] = stat_line(entry.path() / "stat");
      if (fields.size() <= kSystemTicks) continue;
      ++times.program_threads;
      times.running_threads += fields[0] == "R" ? 1 : 0;
      times.program_ticks += number_of(fields[kUserTicks]) + number_of(fields[kSystemTicks]);
      const auto scheduled = split(line_of(entry.path() / "schedstat"), ' ');
      if (scheduled.size() < 2) continue;  // a kernel built without it
      times.threads.push_back({.process = process,
                               .thread = number_of(entry.path().filename().string()),
                               .name = std::move(name),
                               .running_ns = number_of(scheduled[0]),
                               .waiting_ns = number_of(scheduled[1])});
    }
  }
  // "cpu  user nice system idle iowait irq softirq steal ...": idle and iowait are not work.
  const auto words = split(line_of(root / "proc" / "stat"), ' ');
  std::size_t field = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    const auto ticks = number_of(words[i]);
    if (field < 8) times.all_ticks += ticks;
    if (field < 8 && field != 3 && field != 4) times.busy_ticks += ticks;
    ++field;
  }
  return times;
}

CounterSampler::CounterSampler(recording::RecordingWriter& writer, pid_t program)
    : writer_(writer), program_(program), last_(read_host_times("/", program)), last_time_ns_(unix_ns()) {
  const auto gpus = device::nvml::gpu_list();
  if (!gpus.ok()) {
    gpu_problem_ = gpus.error().what;
    return;
  }
  for (std::size_t i = 0; i < gpus->size(); ++i) {
    const auto& gpu = (*gpus)[i];
    gpus_.push_back(gpu.uuid);
    writer_.metadata(recording::kSampledGpu, std::to_string(i) + '|' + gpu.uuid);
    const auto device = static_cast<std::int32_t>(i);
    const auto add = [&](const char* id, const char* unit, auto value) {
      if (value) writer_.counter(id, unit, device, {last_time_ns_, static_cast<double>(*value)});
    };
    add("pcie_link_generation", "", gpu.pcie_max_generation);
    add("pcie_link_width", "", gpu.pcie_width);
    add("power_limit", "W", gpu.power_limit_w);
    add("power_limit_default", "W", gpu.default_power_limit_w);
    add("sm_clock_max", "Hz", gpu.max_sm_clock_hz);
  }
}

void CounterSampler::sample() {
  begin_traffic();
  sample_host(unix_ns());
  sample_gpus(unix_ns());
  end_traffic();
  writer_.flush();
}

void CounterSampler::begin_traffic() {
  traffic_.clear();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto pcie = device::nvml::pcie_bytes_of(gpus_[i]);
    if (pcie.ok()) traffic_.push_back({i, *pcie, unix_ns()});
  }
}

/// PCIe's counters wrap many times a second: their second reading is 20 ms after the first. NVLink's do not.
void CounterSampler::end_traffic() {
  constexpr std::int64_t kBetweenNs = 20'000'000;
  for (const auto& [gpu, before, begin_ns] : traffic_) {
    const std::int64_t left_ns = begin_ns + kBetweenNs - unix_ns();
    if (left_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns));
    const auto bytes = device::nvml::pcie_bytes_of(gpus_[gpu]);
    const std::int64_t now = unix_ns();
    if (!bytes.ok()) continue;
    const auto traffic = device::nvml::pcie_traffic(before, *bytes, static_cast<double>(now - begin_ns) * 1e-9);
    if (!traffic) continue;
    const auto device = static_cast<std::int32_t>(gpu);
    writer_.counter("pcie_tx", "B/s", device, {now, traffic->sent});
    writer_.counter("pcie_rx", "B/s", device, {now, traffic->received});
  }
}

void CounterSampler::sample_host(std::int64_t now) {
  const HostTimes times = read_host_times("/", program_);
  const double elapsed_s = static_cast<double>(now - last_time_ns_) * 1e-9;
  const auto add = [&](const char* id, const char* unit, double value) { writer_.counter(id, unit, -1, {now, value}); };
  if (elapsed_s > 0 && times.all_ticks > last_.all_ticks) {
    add("host_cpu_utilization", "",
        static_cast<double>(times.busy_ticks - last_.busy_ticks) /
            static_cast<double>(times.all_ticks - last_.all_ticks));
    const double ticks = static_cast<double>(std::max<std::int64_t>(0, times.program_ticks - last_.program_ticks));
    add("program_cores", "", ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) / elapsed_s);
  }
  add("program_threads", "", static_cast<double>(times.program_threads));
  add("program_running_threads", "", static_cast<double>(times.running_threads));
  sample_threads(times, now, elapsed_s * 1e9);
  last_ = times;
  last_time_ns_ = now;
}

/// Series are named "thread_running 4242/4243 python". A program may have hundreds of threads, of which few do
/// anything: one that did nothing now and at the sample before has no sample.
void CounterSampler::sample_threads(const HostTimes& times, std::int64_t now, double elapsed_ns) {
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadTimes> threads;
  for (const auto& thread : times.threads) {
    const std::pair key{thread.process, thread.thread};
    const auto before = threads_.find(key);
    if (before != threads_.end() && elapsed_ns > 0) {
      const auto share = [&](std::int64_t from, std::int64_t to) {
        return std::clamp(static_cast<double>(to - from) / elapsed_ns, 0.0, 1.0);
      };
      const double running = share(before->second.running_ns, thread.running_ns);
      const double waiting = share(before->second.waiting_ns, thread.waiting_ns);
      const bool idle = running == 0 && waiting == 0;
      const std::string label =
          std::to_string(thread.process) + '/' + std::to_string(thread.thread) + ' ' + thread.name;
      if (!idle || active_.contains(key)) {
        writer_.counter("thread_running " + label, "", -1, {now, running});
        writer_.counter("thread_waiting " + label, "", -1, {now, waiting});
      }
      if (idle) {
        active_.erase(key);
      } else {
        active_.insert(key);
      }
    }
    threads.emplace(key, thread);
  }
  threads_ = std::move(threads);
}

void CounterSampler::sample_gpus(std::int64_t now) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto conditions = device::nvml::conditions_of(gpus_[i]);
    if (!conditions.ok()) continue;  // a GPU that fell off the bus; the gap in its series shows it
    const auto device = static_cast<std::int32_t>(i);
    for (const auto& sensor : conditions->sensors) {
      if (!sensor.value) continue;
      const bool utilization = sensor.id == "utilization";
      const bool plain = sensor.unit == "1" || sensor.unit == "ratio";
      writer_.counter(utilization ? "gpu_utilization" : sensor.id, plain ? "" : sensor.unit, device,
                      {now, *sensor.value});
    }
    writer_.counter("throttle_reasons", "", device, {now, mask_of(conditions->throttle_reasons)});
  }
}

}  // namespace warpmark::profile
