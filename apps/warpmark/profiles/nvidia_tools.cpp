#include "warpmark/profiles/nvidia_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/tools.h"
#include "profile/read_session.h"
#include "profile/recording/convert.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNcuTime = "2m";
constexpr const char* kNcuOptions[] = {"--ncu-set", "--ncu-section", "--ncu-skip", "--ncu-count", "--ncu-time"};

std::string unmeasured_text(const std::vector<std::string>& kernels, const ProfileSession& measured) {
  std::vector<std::string> missing;
  for (const auto& kernel : kernels) {
    const bool found = std::any_of(measured.kernels.begin(), measured.kernels.end(),
                                   [&](const auto& profile) { return profile::function_name(profile.name) == kernel; });
    if (!found) missing.push_back(kernel);
  }
  return missing.empty() ? "" : "; none of " + join(missing, ", ");
}

/// Function names of the kernels that are to be measured; none where the recording has none.
Result<std::vector<std::string>> kernels_to_measure(const ParsedOptions& options, const ProfileSession& session) {
  const auto all = profile::costliest_kernels(session, 0);
  WM_ASSIGN(auto kernels, profile::matching_names(all, options.get("--ncu-kernel")));
  if (kernels.empty() && !all.empty()) {
    const std::vector<std::string> some(all.begin(), all.begin() + std::min<std::ptrdiff_t>(5, std::ssize(all)));
    return usage_error("no kernel's function name holds '" + options.get("--ncu-kernel") + "'",
                       "the costliest: " + join(some, ", "));
  }
  WM_ASSIGN(const std::int64_t most, count_of(options, "--ncu", kMostRecordedSteps, 1, kMostRecordedSteps));
  if (most < std::ssize(kernels)) kernels.resize(static_cast<std::size_t>(most));
  return kernels;
}

}  // namespace

bool asks_for_ncu(const ParsedOptions& options) { return options.has("--ncu") || options.has("--ncu-kernel"); }

Status check_ncu_options(const ParsedOptions& options) {
  WM_TRY(count_of(options, "--ncu", 0, 1, kMostRecordedSteps));
  WM_TRY(count_of(options, "--ncu-skip", 0, 0, kMostRecordedSteps));
  WM_TRY(count_of(options, "--ncu-count", 1, 1, kMostRecordedSteps));
  WM_TRY(parse_duration_s(options.get("--ncu-time", kNcuTime)));
  WM_TRY(profile::matching_names({}, options.get("--ncu-kernel")));
  for (const char* option : kNcuOptions) {
    if (options.has(option) && !asks_for_ncu(options)) {
      return usage_error(std::string(option) + " is for a run under ncu",
                         "add --ncu 5 for the five costliest kernels, or --ncu-kernel REGEX");
    }
  }
  return {};
}

Status add_kernel_metrics(Context& context, const ParsedOptions& options, const std::string& ncu,
                          const profile::RecordOptions& record, const ProfileSession& session) {
  WM_ASSIGN(const auto kernels, kernels_to_measure(options, session));
  if (kernels.empty()) return {};
  const fs::path csv = record.out.string() + ".ncu.csv";
  auto window = profile::launch_window(session, kernels);
  WM_ASSIGN(window.skip, count_of(options, "--ncu-skip", window.skip, 0, kMostRecordedSteps));
  WM_ASSIGN(window.count, count_of(options, "--ncu-count", window.count, 1, kMostRecordedSteps));
  const profile::NcuMetrics metrics{options.get("--ncu-set"), options.all("--ncu-section")};
  const std::string limit = options.get("--ncu-time", kNcuTime);
  WM_ASSIGN(const double limit_s, parse_duration_s(limit));
  context.err << fmt::format("warpmark: running again under ncu for at most {}, at most {} launches of {}\n", limit,
                             window.count, join(kernels, ", "));
  const std::int64_t begin = monotonic_ns();
  WM_ASSIGN(const int code,
            profile::run_to_the_end(profile::ncu_command(ncu, metrics, kernels, window, csv, record.command),
                                    &context.interrupted, limit_s));
  const bool in_time = static_cast<double>(monotonic_ns() - begin) * 1e-9 < limit_s;
  const std::vector<fs::path> files{csv};
  auto measured = profile::read_session(files);
  if ((!measured.ok() || measured->kernels.empty()) && !in_time) {
    return environment_error(fmt::format("ncu measured no kernel within {}", limit),
                             "more time: --ncu-time 10m; fewer launches: --ncu 1 --ncu-skip 0 --ncu-count 8");
  }
  if (!measured.ok() || measured->kernels.empty()) {
    return environment_error(
        fmt::format("ncu measured no kernel (exit code {}); it says so in {}", code, csv.string()),
        "a permission error there: let an administrator set NVreg_RestrictProfilingToAdminUsers=0");
  }
  context.err << fmt::format("warpmark: {} launches measured{}\n", measured->kernels.size(),
                             unmeasured_text(kernels, *measured));
  WM_TRY(profile::add_kernels(*measured, record.out));
  std::error_code ignored;
  fs::remove(csv, ignored);
  return {};
}

Result<int> record_with_nsys(Context& context, const ParsedOptions& options, const profile::RecordOptions& record) {
  const char* path = context.environment("PATH");
  profile::NsysOptions nsys;
  WM_ASSIGN(nsys.nsys, profile::find_tool("nsys", path != nullptr ? path : ""));
  nsys.command = record.command;
  nsys.out = options.get("--out", "profile.sqlite");
  nsys.delay_s = options.has("--delay") ? record.delay_s : 0;
  nsys.duration_s = options.has("--duration") ? record.duration_s : 0;
  nsys.range = record.range;
  nsys.whole_graphs = record.whole_graphs;
  nsys.gpu_metrics = options.get("--gpu-metrics");
  nsys.interrupted = &context.interrupted;
  WM_ASSIGN(const int code, profile::run_nsys(nsys));
  context.err << "warpmark: next: warpmark analyze " << shell_quote(nsys.out.string()) << '\n';
  return command_exit_code(context, code);
}

}  // namespace warpmark::apps
