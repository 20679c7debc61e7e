#include "evaluate/sandbox/tree_memory.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/files.h"

namespace warpmark::evaluate {
namespace {

struct Process {
  int parent = 0;
  std::int64_t pages = 0;
  bool counts = false;
};

/// Field 4 of /proc/PID/stat is the parent, field 24 the resident pages; field 2 may hold blanks and ends with ')'.
bool read_stat(const std::string& text, Process& process) {
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  fields >> skipped >> process.parent;
  for (int field = 5; field < 24; ++field) fields >> skipped;
  fields >> process.pages;
  return !fields.fail();
}

bool descends_from_counted(const std::map<int, Process>& all, int pid) {
  for (std::size_t depth = 0; depth < all.size(); ++depth) {
    const auto found = all.find(pid);
    if (found == all.end()) return false;
    if (found->second.counts) return true;
    pid = found->second.parent;
  }
  return false;
}

}  // namespace

std::int64_t tree_memory_bytes(std::string_view word) {
  std::map<int, Process> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    const auto stat = read_file(entry.path() / "stat");
    const auto command = read_file(entry.path() / "cmdline");
    Process process;
    if (!stat.ok() || !command.ok() || !read_stat(*stat, process)) continue;  // it has ended
    process.counts = command->find(word) != std::string::npos;
    all.emplace(std::atoi(name.c_str()), process);
  }
  std::int64_t pages = 0;
  for (const auto& [pid, process] : all) {
    if (descends_from_counted(all, pid)) pages += process.pages;
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace warpmark::evaluate
