#include "store/sqlite/lock_holders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace warpmark::store {

std::vector<int> lock_holders_in(std::string_view proc_locks, const std::vector<std::string>& inodes) {
  // "1: POSIX  ADVISORY  WRITE 1234 08:02:393221 120 120"; "->" after the number marks one who waits, not a holder.
  std::vector<int> holders;
  for (const auto& line : split(proc_locks, '\n')) {
    auto fields = split(line, ' ');
    std::erase(fields, "");
    if (fields.size() < 8 || fields[1] == "->" || fields[3] != "WRITE") continue;
    const auto inode = fields[5].substr(fields[5].rfind(':') + 1);
    const auto process = parse_integer(fields[4]);
    if (!process.ok() || *process <= 0) continue;  // 0 and -1: outside this process namespace
    if (std::find(inodes.begin(), inodes.end(), inode) == inodes.end()) continue;
    const int id = static_cast<int>(*process);
    if (std::find(holders.begin(), holders.end(), id) == holders.end()) holders.push_back(id);
  }
  return holders;
}

std::string describe_lock_holders(const std::filesystem::path& database) {
  std::vector<std::string> inodes;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat facts {};
    if (::stat((database.string() + suffix).c_str(), &facts) == 0) inodes.push_back(std::to_string(facts.st_ino));
  }
  const auto locks = read_file("/proc/locks");
  std::vector<std::string> named;
  for (const int id : locks.ok() ? lock_holders_in(*locks, inodes) : std::vector<int>()) {
    if (id == ::getpid()) continue;
    const auto name = first_line("/proc/" + std::to_string(id) + "/comm");
    named.push_back("process " + std::to_string(id) + (name.empty() ? "" : " (" + name + ")"));
  }
  return named.empty() ? "another process" : join(named, " and ");
}

}  // namespace warpmark::store
