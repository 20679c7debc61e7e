#include "device/cpu/thread_waits.h"

#include "base/files.h"
#include "device/cpu/conditions.h"
#include "device/cpu/proc.h"

namespace warpmark::device {

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
