#include "monitor/procfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace warpmark::monitor {
namespace {

/// Takes decimal numbers off the front of a text.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : rest_(text) {}

  std::optional<std::int64_t> next() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

 private:
  std::string_view rest_;
};

/// "user nice system idle iowait irq softirq steal ...": idle and iowait are no work; what guests used is in user.
CpuTicks ticks_of(std::string_view fields) {
  constexpr int kIdle = 3, kIoWait = 4, kFields = 8;
  CpuTicks ticks;
  Numbers numbers(fields);
  for (int i = 0; i < kFields; ++i) {
    const auto number = numbers.next();
    if (!number) break;
    ticks.all += *number;
    if (i != kIdle && i != kIoWait) ticks.busy += *number;
  }
  return ticks;
}

constexpr std::int64_t kKernelThreads = 2;  // kthreadd, the parent of all of the kernel's threads

}  // namespace

std::vector<CpuTicks> parse_cpu_ticks(std::string_view proc_stat) {
  std::vector<CpuTicks> cpus;
  while (proc_stat.starts_with("cpu")) {
    const auto line = proc_stat.substr(0, proc_stat.find('\n'));
    cpus.push_back(ticks_of(line.substr(std::min(line.find(' '), line.size()))));
    proc_stat.remove_prefix(std::min(line.size() + 1, proc_stat.size()));
  }
  return cpus;
}

std::optional<ProcessTicks> parse_process(std::string_view text) {
  // The name stands in parentheses and may itself hold blanks and parentheses.
  const auto open = text.find(" (");
  const auto close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessTicks process;
  const auto id = Numbers(text.substr(0, open)).next();
  if (!id || close + 3 > text.size()) return std::nullopt;
  process.id = *id;
  process.name = text.substr(open + 2, close - open - 2);
  // Behind the state: parent is field 4 of proc(5), user and system time 14 and 15, threads 20, start 22, pages 24.
  std::array<std::int64_t, 25> field{};
  Numbers numbers(text.substr(close + 3));
  for (std::size_t i = 4; i < field.size(); ++i) {
    const auto number = numbers.next();
    if (!number) return std::nullopt;
    field[i] = *number;
  }
  process.parent = field[4];
  process.ticks = field[14] + field[15];
  process.threads = field[20];
  process.started = field[22];
  process.resident_pages = field[24];
  return process;
}

ProcFolder::ProcFolder(const std::filesystem::path& root)
    : path_(root / "proc"),
      folder_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      buffer_(std::size_t{64} << 10, '\0') {}

ProcFolder::~ProcFolder() {
  if (folder_ >= 0) ::close(folder_);
}

std::string_view ProcFolder::read(const char* path) {
  const int file = folder_ < 0 ? -1 : ::openat(folder_, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::size_t size = 0;
  while (size < buffer_.size()) {
    const auto got = ::read(file, buffer_.data() + size, buffer_.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  ::close(file);
  return std::string_view(buffer_).substr(0, size);
}

std::vector<ProcessTicks> ProcFolder::processes() {
  std::vector<ProcessTicks> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.empty() || name[0] < '0' || name[0] > '9') continue;
    auto process = parse_process(read((name + "/stat").c_str()));
    if (!process || process->id == kKernelThreads || process->parent == kKernelThreads) continue;
    found.push_back(std::move(*process));
  }
  return found;
}

std::string ProcFolder::command(std::int64_t process, const std::string& name) {
  constexpr std::size_t kMost = 256;
  std::string text(read((std::to_string(process) + "/cmdline").c_str()).substr(0, kMost));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  text = trim(text);
  return text.empty() ? "[" + name + "]" : text;
}

}  // namespace warpmark::monitor
