#include "workers/unheard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace warpmark::workers {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestFile = 4 << 20;

/// Files of /proc tell no size.
std::string text_of(const fs::path& file) {
  const auto text = read_file(file, kLargestFile);
  return text.ok() ? *text : std::string();
}

long parent_of(long pid) {
  const auto stat = text_of(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = split(stat.substr(name_end + 1), ' ');
  long parent = 0;
  if (fields.size() > 2) std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), parent);
  return parent;
}

bool is_descendant(long pid) {
  for (int level = 0; level < 64 && pid > 1; ++level) {
    pid = parent_of(pid);
    if (pid == ::getpid()) return true;
  }
  return false;
}

bool is_python(long pid) {
  std::error_code failure;
  const auto target = fs::read_symlink(fmt::format("/proc/{}/exe", pid), failure);
  return !failure && target.filename().string().starts_with("python");
}

std::string reason_of(long pid, const std::string& hook_folder) {
  const auto words = split(text_of(fmt::format("/proc/{}/cmdline", pid)), '\0');
  for (std::size_t i = 1; i < words.size() && words[i].starts_with('-') && !words[i].starts_with("--"); ++i) {
    for (const char flag : {'I', 'E', 'S'}) {
      if (words[i].find(flag) == std::string::npos || words[i] == "-c" || words[i] == "-m") continue;
      return fmt::format("python -{} ignores {}", flag, flag == 'S' ? "sitecustomize" : "PYTHONPATH");
    }
    if (words[i] == "-c" || words[i] == "-m") break;
  }
  std::string path;
  bool has_plan = false, has_path = false;
  for (const auto& variable : split(text_of(fmt::format("/proc/{}/environ", pid)), '\0')) {
    if (variable.starts_with("WARPMARK_HOOK=")) has_plan = true;
    if (variable.starts_with("PYTHONPATH=")) path = variable.substr(11), has_path = true;
  }
  if (!has_plan) return "the command clears the environment (env -i, sudo, a container or a remote host)";
  if (!has_path) return "the command removes PYTHONPATH";
  if (path.find(hook_folder) == std::string::npos) return "the command replaces PYTHONPATH by " + path;
  return {};
}

}  // namespace

std::string why_unheard(const std::string& hook_folder) {
  std::error_code failure;
  for (fs::directory_iterator entry("/proc", failure), end; !failure && entry != end; entry.increment(failure)) {
    const auto name = entry->path().filename().string();
    long pid = 0;
    const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || last != name.data() + name.size()) continue;
    if (!is_python(pid) || !is_descendant(pid)) continue;
    if (auto reason = reason_of(pid, hook_folder); !reason.empty()) return reason;
  }
  return {};
}

}  // namespace warpmark::workers
