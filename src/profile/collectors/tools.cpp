#include "profile/collectors/tools.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/text.h"
#include "profile/collectors/program.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLaunchesPerKernel = 8;

/// Without what stands in angle brackets, parentheses or braces.
std::string without_brackets(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (const char c : text) {
    const bool opens = c == '<' || c == '(' || c == '{' || c == '[';
    const bool closes = c == '>' || c == ')' || c == '}' || c == ']';
    if (opens) ++depth;
    if (depth == 0) plain += c;
    if (closes && depth > 0) --depth;
  }
  return plain;
}

bool communicates(std::string_view kernel) { return kernel.find("nccl") != std::string_view::npos; }

}  // namespace

Result<std::string> find_tool(const std::string& name, std::string_view folders) {
  auto places = split(folders, ':');
  places.emplace_back("/usr/local/cuda/bin");
  for (const auto& folder : places) {
    const auto path = fs::path(folder) / name;
    if (!folder.empty() && access(path.c_str(), X_OK) == 0) return path.string();
  }
  return environment_error(name + " is neither on PATH nor in /usr/local/cuda/bin",
                           name == "ncu"
                               ? "install Nsight Compute (package cuda-nsight-compute-13-0, or with the CUDA toolkit)"
                               : "install Nsight Systems (package nsight-systems, or with the CUDA toolkit)");
}

std::string function_name(std::string_view kernel) {
  std::string name = without_brackets(kernel);
  if (name.ends_with(" const")) name.erase(name.size() - 6);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  for (const char* before : {" ", "::"}) {
    const auto at = name.rfind(before);
    if (at != std::string::npos) name = name.substr(at + std::string_view(before).size());
  }
  return name;
}

std::vector<std::string> costliest_kernels(const ProfileSession& session, std::size_t count) {
  std::map<std::string, std::int64_t> time_of;
  for (const auto& timeline : session.ranks) {
    std::vector<std::int64_t> by_name(timeline.names.size(), 0);
    for (EventIndex i = 0; i < timeline.events.size(); ++i) {
      if (timeline.events.kind[i] == EventKind::kernel) by_name[timeline.events.name[i]] += timeline.events.duration[i];
    }
    for (std::size_t i = 0; i < by_name.size(); ++i) {
      const auto kernel = timeline.names.at(static_cast<NameId>(i));
      if (by_name[i] > 0 && !communicates(kernel)) time_of[function_name(kernel)] += by_name[i];
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [name, time] : time_of) order.emplace_back(-time, name);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (const auto& [time, name] : order) {
    if (names.size() < count && !name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> ncu_command(const std::string& ncu, const std::vector<std::string>& kernels,
                                     const fs::path& csv, const std::vector<std::string>& command) {
  std::vector<std::string> words{ncu,
                                 "--target-processes",
                                 "all",
                                 "--set",
                                 "detailed",
                                 "--clock-control",
                                 "none",
                                 "--csv",
                                 "--page",
                                 "raw",
                                 "--print-units",
                                 "base",
                                 "--print-fp",
                                 "--log-file",
                                 csv.string(),
                                 "--kernel-name-base",
                                 "function",
                                 "--kernel-name",
                                 "regex:^(" + join(kernels, "|") + ")$",
                                 "--launch-count",
                                 std::to_string(kernels.size() * kLaunchesPerKernel),
                                 "--kill",
                                 "yes"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Result<int> run_nsys(const NsysOptions& options) {
  const fs::path report = fs::path(options.out).replace_extension(".nsys-rep");
  std::vector<std::string> words{options.nsys, "profile",           "--trace", "cuda,nvtx,osrt", "--sample",
                                 "none",       "--force-overwrite", "true",    "--output",       report.string()};
  if (options.delay_s > 0) words.insert(words.end(), {"--delay", std::to_string(options.delay_s)});
  if (options.duration_s > 0) {
    words.insert(words.end(), {"--duration", std::to_string(options.duration_s), "--kill", "none"});
  }
  words.insert(words.end(), options.command.begin(), options.command.end());
  WM_ASSIGN(const int code, run_to_the_end(words, options.interrupted));
  WM_ASSIGN(const int exported, run_to_the_end({options.nsys, "export", "--type", "sqlite", "--force-overwrite", "true",
                                                "--output", options.out.string(), report.string()},
                                               options.interrupted));
  if (exported != 0) {
    return environment_error(
        "nsys could not export " + report.string() + " (exit code " + std::to_string(exported) + ")",
        "its own messages stand above");
  }
  return code;
}

Result<int> run_to_the_end(const std::vector<std::string>& words, const std::atomic<bool>* interrupted) {
  WM_ASSIGN(Program program, Program::start(words, {}));
  bool told = false;
  while (true) {
    if (const auto code = program.poll()) return *code;
    if (!told && interrupted != nullptr && interrupted->load()) {
      program.send(SIGINT);
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace warpmark::profile
