#include "profile/collectors/tools.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/processes/reaper.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace warpmark::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFewestLaunches = 8;  // of each kernel, if the program has them
constexpr std::int64_t kMostLaunches = 50;   // of each kernel: a quarter of a second each with some thirty passes
constexpr int kSkippedSteps = 2;

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

/// Which names of the timeline a condition holds for, by id.
template <typename Condition>
std::vector<bool> names_of(const Timeline& timeline, const Condition& condition) {
  std::vector<bool> found;
  for (std::size_t i = 0; i < timeline.names.size(); ++i) {
    found.push_back(condition(timeline.names.at(static_cast<NameId>(i))));
  }
  return found;
}

/// As a part of a regular expression.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool plain = c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    text += plain ? std::string(1, c) : std::string("\\") + c;
  }
  return text;
}

/// The option was renamed when it took several GPUs, and neither name is known to all versions.
std::string metrics_option_of(const std::string& nsys) {
  const auto help = run_process({nsys, "profile", "--help"}, {.deadline_s = 60});
  const bool renamed = help.ok() && (help->out + help->err).find("--gpu-metrics-devices") != std::string::npos;
  return renamed ? "--gpu-metrics-devices" : "--gpu-metrics-device";
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
    if ((count == 0 || names.size() < count) && !name.empty()) names.push_back(name);
  }
  return names;
}

Result<std::vector<std::string>> matching_names(const std::vector<std::string>& names, const std::string& expression) {
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  const re2::RE2 pattern(expression, quiet);
  if (!pattern.ok()) {
    return usage_error("'" + expression + "' is no regular expression: " + pattern.error(),
                       "a name, or several as in 'gemm|softmax'; no look-around and no backreferences");
  }
  std::vector<std::string> found;
  for (const auto& name : names) {
    if (re2::RE2::PartialMatch(name, pattern)) found.push_back(name);
  }
  return found;
}

LaunchWindow launch_window(const ProfileSession& session, const std::vector<std::string>& kernels) {
  const auto count = static_cast<std::int64_t>(kernels.size());
  LaunchWindow window{.skip = 0, .count = kFewestLaunches * count};
  if (session.ranks.empty()) return window;
  const Timeline& timeline = session.ranks[0];
  std::int64_t step_launches = 0;  // calls, of which one launches all kernels of a graph
  for (const auto& [key, value] : timeline.metadata) {
    if (key == "launches_per_step") step_launches = std::atoll(value.c_str());
  }
  const auto wanted = names_of(timeline, [&](std::string_view name) {
    return std::find(kernels.begin(), kernels.end(), function_name(name)) != kernels.end();
  });
  const auto launches = names_of(timeline, [](std::string_view name) { return name.find("Launch") != name.npos; });
  std::int64_t matching = 0, calls = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    const EventKind kind = timeline.events.kind[i];
    const NameId name = timeline.events.name[i];
    matching += kind == EventKind::kernel && wanted[name] ? 1 : 0;
    calls += (kind == EventKind::runtime_api || kind == EventKind::driver_api) && launches[name] ? 1 : 0;
  }
  if (step_launches <= 0 || calls == 0) return window;
  const std::int64_t in_step = std::max<std::int64_t>(1, matching * step_launches / calls);
  return {.skip = kSkippedSteps * in_step, .count = std::clamp(in_step, window.count, kMostLaunches * count)};
}

std::vector<std::string> ncu_command(const std::string& ncu, const NcuMetrics& metrics,
                                     const std::vector<std::string>& kernels, const LaunchWindow& window,
                                     const fs::path& csv, const std::vector<std::string>& command) {
  std::vector<std::string> names;
  for (const auto& kernel : kernels) names.push_back(escaped(kernel));
  std::vector<std::string> words{ncu, "--target-processes", "all"};
  const bool sections_alone = metrics.set.empty() && !metrics.sections.empty();
  if (!sections_alone) words.insert(words.end(), {"--set", metrics.set.empty() ? "detailed" : metrics.set});
  for (const auto& section : metrics.sections) words.insert(words.end(), {"--section", section});
  // Without its time nothing is known of a kernel's weight, and not every section has it.
  if (sections_alone) words.insert(words.end(), {"--metrics", "gpu__time_duration.sum"});
  words.insert(words.end(), {"--clock-control",
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
                             "regex:^(" + join(names, "|") + ")$",
                             "--launch-skip",
                             std::to_string(window.skip),
                             "--launch-count",
                             std::to_string(window.count),
                             "--kill",
                             "yes"});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> nsys_command(const NsysOptions& options, const fs::path& report,
                                      const std::string& metrics_option) {
  std::vector<std::string> words{options.nsys,
                                 "profile",
                                 "--trace=cuda,nvtx,osrt,cudnn,cublas",
                                 "--sample=none",
                                 "--cpuctxsw=none",  // 2022.4 never ends where the kernel's tracing is closed to it
                                 options.whole_graphs ? "--cuda-graph-trace=graph" : "--cuda-graph-trace=node",
                                 "--force-overwrite=true",
                                 "--output=" + report.string()};
  if (options.range == "cudaProfilerApi") {
    words.insert(words.end(), {"--capture-range=cudaProfilerApi", "--capture-range-end=stop"});
  } else if (!options.range.empty()) {
    words.insert(words.end(), {"--capture-range=nvtx", "--nvtx-capture=" + options.range, "--capture-range-end=stop",
                               "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"});  // else registered names alone
  }
  if (!options.gpu_metrics.empty()) words.push_back(metrics_option + "=" + options.gpu_metrics);
  if (options.delay_s > 0) words.push_back(fmt::format("--delay={}", options.delay_s));
  if (options.duration_s > 0) {  // it refuses 0.5, and ends the program with the recording unless told not to
    words.push_back(fmt::format("--duration={:.0f}", std::ceil(options.duration_s)));
    words.emplace_back("--kill=none");
  }
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

Result<int> run_nsys(const NsysOptions& options) {
  const fs::path report = fs::path(options.out).replace_extension(".nsys-rep");
  std::error_code ignored;
  fs::remove(report, ignored);
  const auto metrics_option = options.gpu_metrics.empty() ? std::string() : metrics_option_of(options.nsys);
  WM_ASSIGN(const int code, run_to_the_end(nsys_command(options, report, metrics_option), options.interrupted));
  if (!fs::exists(report, ignored)) {
    return environment_error(fmt::format("nsys made no report {} (exit code {})", report.string(), code),
                             "its own messages stand above; a program that ends before --delay is over leaves none");
  }
  WM_ASSIGN(const int exported, run_to_the_end({options.nsys, "export", "--type=sqlite", "--force-overwrite=true",
                                                "--output=" + options.out.string(), report.string()},
                                               options.interrupted));
  if (exported != 0) {
    return environment_error(
        "nsys could not export " + report.string() + " (exit code " + std::to_string(exported) + ")",
        "its own messages stand above");
  }
  return code;
}

Result<int> run_to_the_end(const std::vector<std::string>& words, const std::atomic<bool>* interrupted,
                           double limit_s) {
  constexpr double kToWrite_s = 20;  // what it measured, after it was asked to end
  WM_ASSIGN(auto program, Reaped::start(words, {.own_group = false, .interrupted = interrupted}));
  const std::int64_t begin = monotonic_ns();
  double asked_s = 0;  // when it was asked to end, for its time
  bool reported = false;
  while (true) {
    if (const auto ended = program.poll()) return ended->exit_code;
    const double now_s = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (!reported && interrupted != nullptr && interrupted->load()) {
      program.send(SIGINT);
      reported = true;
    }
    if (limit_s > 0 && asked_s == 0 && now_s > limit_s) {
      program.send(SIGINT);
      asked_s = now_s;
    }
    if (asked_s > 0 && now_s - asked_s > kToWrite_s) {
      program.end();
      return 128 + SIGKILL;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace warpmark::profile
