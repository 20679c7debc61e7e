#include "optimize/apply/program_copy.h"

#include <fmt/format.h>

#include "base/units.h"

namespace warpmark::optimize {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestCopy = std::uintmax_t{4} << 30;

}  // namespace

Status copy_folder(const fs::path& from, const fs::path& to, const fs::path& without) {
  std::error_code failure;
  fs::remove_all(to, failure);
  fs::create_directories(to, failure);
  std::uintmax_t bytes = 0;
  const auto skipped = fs::weakly_canonical(without, failure);
  for (fs::recursive_directory_iterator entry(from, failure), end; !failure && entry != end; entry.increment(failure)) {
    if (entry->is_directory(failure) && !entry->is_symlink(failure) &&
        fs::weakly_canonical(entry->path(), failure) == skipped) {
      entry.disable_recursion_pending();
      continue;
    }
    const auto target = to / entry->path().lexically_relative(from);
    if (entry->is_symlink(failure)) {
      fs::copy_symlink(entry->path(), target, failure);
    } else if (entry->is_directory(failure)) {
      fs::create_directory(target, failure);
    } else if (entry->is_regular_file(failure)) {
      bytes += entry->file_size(failure);
      if (bytes > kLargestCopy) {
        return environment_error(fmt::format("the folder {} has more than {}", from.string(),
                                             format_bytes(static_cast<double>(kLargestCopy))),
                                 "run the program in a smaller one: it is copied before each run");
      }
      fs::copy_file(entry->path(), target, failure);
    }
  }
  if (!failure) return {};
  return environment_error(fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), failure.message()),
                           "run it without --copy, or from another folder");
}

}  // namespace warpmark::optimize
