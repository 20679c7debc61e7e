#include "optimize/apply/program_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/units.h"

namespace warpmark::optimize {

namespace fs = std::filesystem;

Result<Json> run_post_commands(const PostCommands& post_commands, const workers::HookedCommand& command,
                               const std::string& printed) {
  std::string said = printed;
  Json codes = Json::array();
  for (const auto& words : post_commands.commands) {
    WM_ASSIGN(const auto output, run_process(words, {.deadline_s = command.deadline_s,
                                                     .directory = command.directory,
                                                     .environment = command.environment,
                                                     .own_group = true,
                                                     .interrupted = command.interrupted}));
    said += "\n" + output.out;
    codes.push_back(output.exit_code);
  }
  constexpr std::size_t kMostKept = 1 << 20;
  Json json{{"said", said.size() <= kMostKept ? said : said.substr(said.size() - kMostKept)}, {"codes", codes}};
  if (!post_commands.file.empty()) {
    constexpr std::int64_t kLargestAnswers = 64 << 20;
    const auto path = fs::path(command.directory) / post_commands.file;
    const auto text = read_file(path, kLargestAnswers);
    json["file"] = text.ok() ? *text : "";
  }
  return json;
}

namespace {

constexpr double kMemoryLeft = 0.10;  // of the GPU must stay free: sizes vary after the few steps that were seen

/// A knob that was not in force the whole time, in words; empty if all were.
std::string not_in_force(const Settings& settings, const std::vector<const workers::ProgramReport*>& main) {
  for (const auto* report : main) {
    for (const auto& knob : report->knobs) {
      if (!knob.in_force) return fmt::format("{} was not in force: {}", knob.id, knob.said);
    }
  }
  for (const auto& setting : settings) {
    const Knob* knob = find_in(knobs(), setting.knob);
    if (knob == nullptr || *knob->variable != '\0' || *knob->launcher != '\0') continue;
    const bool reported = std::ranges::any_of(main, [&](const auto* report) {
      return std::ranges::any_of(report->knobs, [&](const auto& one) { return one.id == setting.knob; });
    });
    if (!reported) return setting.knob + " was not in force: the hook did not report it";
  }
  return {};
}

std::string too_little_memory_left(const workers::ProgramReport& report) {
  if (report.total_bytes == 0) return {};
  const auto total = static_cast<double>(report.total_bytes);
  if (static_cast<double>(report.reserved_bytes) <= (1 - kMemoryLeft) * total) return {};
  return fmt::format("leaves less than {:.0f} % of the GPU's memory: {} of {} are reserved", kMemoryLeft * 100,
                     format_bytes(static_cast<double>(report.reserved_bytes)), format_bytes(total));
}

}  // namespace

std::string why_not_counted(const Settings& settings, const std::vector<const workers::ProgramReport*>& main) {
  if (settings.empty()) return {};
  auto reason = not_in_force(settings, main);
  return reason.empty() && !main.empty() ? too_little_memory_left(*main.front()) : reason;
}

Status copy_folder(const fs::path& from, const fs::path& to, const fs::path& without) {
  constexpr std::uintmax_t kLargestCopy = std::uintmax_t{4} << 30;
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
