// Records what a program does on the GPU, and what the machine did meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/record_program.h"
#include "profile/read_session.h"
#include "warpmark/command.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kOptions[] = {
    {"--out", "FILE", "the recording (default profile.wmrec)", false, "<files>"},
    {"--delay", "TIME", "run untouched this long after the first CUDA call (default 5s)"},
    {"--duration", "TIME", "record this long (default 2s); 0s records until the program ends"},
    {"--interval", "TIME", "between samples of the GPUs and the host (default 100ms); 0s takes none"},
    {"--whole-graphs", "", "one record for a CUDA graph, not one for each of its nodes: cheaper"},
};

Result<double> time_of(const ParsedOptions& options, const char* name, double otherwise) {
  return options.has(name) ? parse_duration_s(options.get(name)) : Result<double>(otherwise);
}

/// Where a Python on PATH keeps its packages: CUPTI comes with PyTorch's there.
std::vector<std::string> python_folders() {
  const auto found =
      run_process({"python3", "-c", "import site, sys; print('\\n'.join(site.getsitepackages() + sys.path))"});
  if (!found.ok() || found->exit_code != 0) return {};
  auto folders = split(found->out, '\n');
  std::erase(folders, "");
  return folders;
}

/// The text of a fact of the recording, or empty.
std::string fact(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return {};
}

std::int64_t gpu_works(const Timeline& timeline) {
  return std::count_if(timeline.events.kind.begin(), timeline.events.kind.end(), is_gpu_work);
}

std::string cost_text(const Timeline& timeline) {
  const auto inflation = fact(timeline, "inflation");
  if (inflation.empty()) return "its own cost could not be measured";
  return fmt::format("the program ran {:.1f} % slower while recorded", std::strtod(inflation.c_str(), nullptr) * 100);
}

/// What was recorded, one line a process. True if the GPU did anything.
Result<bool> summarize(Context& context, const fs::path& out, const profile::RecordOutcome& outcome) {
  const std::vector<fs::path> files{out};
  const auto session = profile::read_session(files);
  if (!session.ok() && outcome.processes > 0) return session.error();
  bool any = false;
  if (session.ok()) {
    for (const auto& timeline : session->ranks) {
      any = any || gpu_works(timeline) > 0;
      context.err << fmt::format("warpmark: process {}: {} events, {} on the GPU; {}\n", fact(timeline, "process"),
                                 timeline.events.size(), gpu_works(timeline), cost_text(timeline));
    }
    for (const auto& issue : session->quality) {
      if (issue.id == "recorder") context.err << "warpmark: " << issue.example << '\n';
    }
  }
  if (!outcome.gpu_problem.empty()) context.err << "warpmark: no GPU counters: " << outcome.gpu_problem << '\n';
  return any;
}

Result<int> run(Context& context, const ParsedOptions& options) {
  profile::RecordOptions record;
  record.command = options.positionals();
  if (record.command.empty())
    return usage_error("there is no command to record", "warpmark profile -- python train.py");
  record.out = options.get("--out", "profile.wmrec");
  WM_ASSIGN(record.delay_s, time_of(options, "--delay", record.delay_s));
  WM_ASSIGN(record.duration_s, time_of(options, "--duration", record.duration_s));
  WM_ASSIGN(record.interval_s, time_of(options, "--interval", record.interval_s));
  record.whole_graphs = options.has("--whole-graphs");
  record.interrupted = &context.interrupted;
  std::error_code ignored;
  WM_ASSIGN(record.library, profile::find_inject_library(fs::read_symlink("/proc/self/exe", ignored),
                                                         context.environment("WARPMARK_INJECT_LIBRARY")));
  const char* named = context.environment("WARPMARK_CUPTI");
  record.cupti = named != nullptr ? named : profile::find_cupti("/", python_folders());

  WM_ASSIGN(const auto outcome, profile::record_program(record));
  WM_ASSIGN(const bool any, summarize(context, record.out, outcome));
  if (!any) {
    return environment_error(
        outcome.processes == 0 ? "the program made no CUDA call" : "nothing that the GPU did was recorded",
        outcome.processes == 0 ? "is there an NVIDIA driver, and does the program use the GPU?"
                               : "the program may have ended before the recording began: try --delay 0s --duration 0s");
  }
  context.err << "warpmark: next: warpmark analyze " << record.out.string() << '\n';
  return outcome.exit_code;
}

}  // namespace

extern const Command profile_command{
    .id = "profile",
    .summary = "record what a program does on the GPU",
    .details =
        "Runs a command, Python or native, and records kernels, copies, memsets, and the CUDA calls that launch, copy, "
        "wait "
        "or allocate, through CUPTI; beside it every 100 ms the GPUs' clocks, power, utilization and throttle reasons "
        "and "
        "the host's load. The command is not changed: CUDA itself loads the recorder (CUDA_INJECTION64_PATH).\n"
        "\n"
        "The program first runs untouched for --delay. Then its launches are counted without recording, with it for "
        "--duration, and without it again, so that the recording says how much slower it made the program. What was "
        "recorded survives a crash or a kill of the program.\n"
        "\n"
        "The exit code is the program's; 5 if nothing was recorded.",
    .options = kOptions,
    .positional = {"COMMAND", "the command and its arguments, after --", true, "<files>"},
    .examples =
        "warpmark profile -- python train.py --epochs 1\n"
        "warpmark profile --delay 30s --duration 5s -- torchrun train.py\n"
        "warpmark profile --delay 0s --duration 0s -- ./short_program",
    .run = run,
};

}  // namespace warpmark::apps
