// Records what a program does on the GPU, and what the machine did meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "analyze/analyze.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/record_program.h"
#include "profile/collectors/tools.h"
#include "profile/read_session.h"
#include "profile/recording/convert.h"
#include "warpmark/command.h"
#include "warpmark/profiles/profile_ranks.h"
#include "warpmark/profiles/rank_recordings.h"
#include "warpmark/profiles/recorder.h"
#include "warpmark/profiles/timeline_facts.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr double kUntilItIsCompleted = 600;  // s after a signal; the program is killed at the second one, or after 15 s

constexpr OptionSpec kProfileOptions[] = {
    {"--out", "FILE", "the recording (default profile.wmrec)", false, "<files>"},
    {"--delay", "TIME", "run untouched this long after the first CUDA call (default: until the steps repeat)"},
    {"--duration", "TIME", "record this long (default 2s); 0s records until the program ends"},
    {"--warmup-steps", "N", "instead of --delay: steps of the program that are not recorded"},
    {"--steps", "N", "instead of --duration: so many whole steps; steps are found by themselves"},
    {"--capture-range", "NAME",
     "record only ranges of this name (NVTX, record_function), or cudaProfilerApi: from its Start to its Stop"},
    {"--windows", "N", "further short windows that tell what recording costs (default 4); 0 is none"},
    {"--ncu", "K", "afterwards run again under ncu: adds metrics of the K costliest kernels"},
    {"--ncu-kernel", "REGEX", "with or without --ncu: of the kernels whose function name holds this (default all)"},
    {"--ncu-set", "NAME", "what ncu measures: a set of its sections (default detailed; ncu --list-sets)"},
    {"--ncu-section", "NAME", "a section of ncu's beside the set, or instead of it (ncu --list-sections)", true},
    {"--ncu-skip", "N", "launches of these kernels that ncu passes over (default two steps)"},
    {"--ncu-count", "N", "launches that ncu measures (default one step, 8 to 50 a kernel)"},
    {"--nsys", "", "record with nsys instead, and export what it recorded"},
    {"--gpu-metrics", "GPUS",
     "with --nsys: sample how busy SMs, tensor cores and memory are, of all GPUs or of 0,1 (needs the right to "
     "counters)"},
    {"--interval", "TIME", "between samples of the GPUs and the host (default 100ms); 0s takes none"},
    {"--whole-graphs", "",
     "one record for a CUDA graph, not one for each of its nodes: cheaper, but graphs made before may leave none"},
    {"--memory", "", "also a record of every allocation and release that reaches the driver"},
    {"--waits", "", "also CUPTI's own records of waits: on many programs they double the cost"},
    {"--ranks", "N", "start so many ranks with mpirun or srun, record all, and align their clocks"},
    {"--hosts", "FILE", "hosts of the ranks, one a line (default ranks: one a host)", false, "<files>"},
    {"--bind", "ADDRESS", "with --ranks: address of this machine at which ranks send recordings"},
    {"--launcher", "NAME", "mpirun, srun or auto (default)", false, "auto mpirun srun"},
    {"--launcher-arg", "WORD", "a further word for the launcher", true},
    {"--oversubscribe", "", "allow more ranks than processors"},
    {"--as-rank", "", "be one of the ranks; what the launcher starts"},
    {"--stop", "", "end the program once it has been recorded (default: it runs on to its end)"},
    {"--no-stacks", "", "leave stacks of the program's code out, Python's and C++'s: findings then name no lines"},
};

Result<double> time_of(const ParsedOptions& options, const char* name, double otherwise) {
  return options.has(name) ? parse_duration_s(options.get(name)) : Result<double>(otherwise);
}

std::string cost_text(const Timeline& timeline) {
  if (fact(timeline, "inflation").empty()) return "its own cost could not be measured";
  const auto percent = [&](const char* key) { return std::strtod(fact(timeline, key).c_str(), nullptr) * 100; };
  return fmt::format("the program ran {:.1f} % slower while recorded ({:.1f} to {:.1f} %)", percent("inflation"),
                     percent("inflation_low"), percent("inflation_high"));
}

struct Recorded {
  bool gpu_work = false;
  std::string problem;  ///< that the recorder met; empty if none
};

/// Of processes without any record beside one that has them. Helpers (compilers, loaders) only initialize CUDA.
void warn_of_idle_processes(Context& context, const std::vector<DataQualityIssue>& issues) {
  for (const auto& issue : issues) {
    const bool helper = issue.example == "the program ended before the recording began" ||
                        issue.example == "the GPU did nothing while it was recorded";
    if (issue.id == "recorder" && !helper) context.err << "warpmark: of another process: " << issue.example << '\n';
  }
}

/// Says what was recorded, one line a process.
Recorded summarize(Context& context, const profile::RecordOutcome& outcome, const ProfileSession& session) {
  Recorded recorded;
  const auto look_at = [&](const std::vector<DataQualityIssue>& issues) {
    for (const auto& issue : issues) {
      if (issue.id == "recorder" && recorded.problem.empty()) recorded.problem = issue.example;
    }
  };
  for (const auto& timeline : session.ranks) {
    recorded.gpu_work = recorded.gpu_work || gpu_works(timeline) > 0;
    context.err << fmt::format("warpmark: process {}: {} events, {} on the GPU; {}\n", fact(timeline, "process"),
                               timeline.events.size(), gpu_works(timeline), cost_text(timeline));
    look_at(timeline.quality);
  }
  if (!recorded.gpu_work) {
    look_at(session.quality);
  } else {
    warn_of_idle_processes(context, session.quality);
  }
  for (const auto id : outcome.still_running) {
    context.err << fmt::format("warpmark: process {} outlives the command: what it did later is not recorded\n", id);
  }
  if (!outcome.stacks_problem.empty()) context.err << "warpmark: no lines of code: " << outcome.stacks_problem << '\n';
  if (!outcome.gpu_problem.empty()) context.err << "warpmark: no GPU counters: " << outcome.gpu_problem << '\n';
  return recorded;
}

/// Why a recording holds nothing of the GPU, and what to do.
Error nothing_recorded(const profile::RecordOutcome& outcome, const std::string& problem, bool whole_graphs) {
  if (outcome.processes == 0) {
    return environment_error("the program made no CUDA call",
                             "is there an NVIDIA driver (nvidia-smi), and does the program use the GPU?");
  }
  if (problem.find("CUPTI") != std::string::npos) {
    return environment_error(problem,
                             "install it with pip install nvidia-cuda-cupti (or the CUDA toolkit), or name libcupti.so "
                             "in WARPMARK_CUPTI");
  }
  if (whole_graphs && problem.empty()) {  // seen with CUPTI 13.0 and graphs made before the recording began
    return environment_error("nothing that the GPU did was recorded",
                             "CUDA graphs may leave no record as a whole: try without --whole-graphs");
  }
  if (!outcome.still_running.empty() && problem.empty()) {
    return environment_error("the command ended before what it started had been recorded",
                             "record a command that waits for its processes: a daemon in the foreground");
  }
  if (problem.find("range called") != std::string::npos || problem.find("cudaProfilerStart") != std::string::npos) {
    return environment_error(problem, "ranges of NVTX and of PyTorch's record_function count, spelled alike");
  }
  return environment_error(problem.empty() ? "nothing that the GPU did was recorded" : problem,
                           "record all of a short program that repeats nothing with --delay 0s --duration 0s");
}

std::string unmeasured_text(const std::vector<std::string>& kernels, const ProfileSession& measured) {
  std::vector<std::string> missing;
  for (const auto& kernel : kernels) {
    const bool found = std::any_of(measured.kernels.begin(), measured.kernels.end(),
                                   [&](const auto& profile) { return profile::function_name(profile.name) == kernel; });
    if (!found) missing.push_back(kernel);
  }
  return missing.empty() ? "" : "; none of " + join(missing, ", ");
}

constexpr const char* kNcuOptions[] = {"--ncu-set", "--ncu-section", "--ncu-skip", "--ncu-count"};

bool asks_for_ncu(const ParsedOptions& options) { return options.has("--ncu") || options.has("--ncu-kernel"); }

/// Before the program runs for nothing.
Status check_ncu_options(const ParsedOptions& options) {
  WM_TRY(count_of(options, "--ncu", 0, 1, kMostSteps));
  WM_TRY(count_of(options, "--ncu-skip", 0, 0, kMostSteps));
  WM_TRY(count_of(options, "--ncu-count", 1, 1, kMostSteps));
  WM_TRY(profile::matching_names({}, options.get("--ncu-kernel")));
  for (const char* option : kNcuOptions) {
    if (options.has(option) && !asks_for_ncu(options)) {
      return usage_error(std::string(option) + " is for a run under ncu",
                         "add --ncu 5 for the five costliest kernels, or --ncu-kernel REGEX");
    }
  }
  return {};
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
  WM_ASSIGN(const std::int64_t most, count_of(options, "--ncu", kMostSteps, 1, kMostSteps));
  if (most < std::ssize(kernels)) kernels.resize(static_cast<std::size_t>(most));
  return kernels;
}

/// Measures kernels in a second run and adds what was found to the recording.
Status add_kernel_metrics(Context& context, const ParsedOptions& options, const std::string& ncu,
                          const profile::RecordOptions& record, const ProfileSession& session) {
  WM_ASSIGN(const auto kernels, kernels_to_measure(options, session));
  if (kernels.empty()) return {};
  const fs::path csv = record.out.string() + ".ncu.csv";
  auto window = profile::launch_window(session, kernels);
  WM_ASSIGN(window.skip, count_of(options, "--ncu-skip", window.skip, 0, kMostSteps));
  WM_ASSIGN(window.count, count_of(options, "--ncu-count", window.count, 1, kMostSteps));
  const profile::NcuMetrics metrics{options.get("--ncu-set"), options.all("--ncu-section")};
  context.err << fmt::format("warpmark: running again under ncu, at most {} launches of {}\n", window.count,
                             join(kernels, ", "));
  WM_ASSIGN(const int code,
            profile::run_to_the_end(profile::ncu_command(ncu, metrics, kernels, window, csv, record.command),
                                    &context.interrupted));
  const std::vector<fs::path> files{csv};
  auto measured = profile::read_session(files);
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
  return code;
}

Status check_capture(const ParsedOptions& options) {
  if (!options.has("--capture-range")) return {};
  if (options.get("--capture-range").empty()) {
    return usage_error("--capture-range wants the name of a range",
                       "as in nvtxRangePush(\"epoch\"), or cudaProfilerApi");
  }
  for (const char* other : {"--delay", "--duration", "--windows"}) {
    if (options.has(other)) {
      return usage_error(std::string(other) + " is not for --capture-range, whose ranges say when to record",
                         "leave it out; --warmup-steps and --steps count the ranges");
    }
  }
  return {};
}

Result<profile::RecordOptions> record_options(Context& context, const ParsedOptions& options) {
  profile::RecordOptions record;
  record.command = options.positionals();
  if (record.command.empty()) {
    return usage_error("there is no command to record", "warpmark profile -- python train.py");
  }
  record.out = options.get("--out", "profile.wmrec");
  WM_ASSIGN(record.delay_s, time_of(options, "--delay", record.delay_s));
  WM_ASSIGN(record.duration_s, time_of(options, "--duration", record.duration_s));
  WM_ASSIGN(record.interval_s, time_of(options, "--interval", record.interval_s));
  WM_ASSIGN(record.warmup_steps, count_of(options, "--warmup-steps", 0, 1, kMostSteps));
  WM_ASSIGN(record.steps, count_of(options, "--steps", 0, 1, kMostSteps));
  WM_ASSIGN(record.windows, count_of(options, "--windows", record.windows, 0, 20));
  WM_TRY(check_ncu_options(options));
  WM_TRY(check_capture(options));
  record.range = options.get("--capture-range");
  record.whole_graphs = options.has("--whole-graphs");
  record.memory = options.has("--memory");
  record.waits = options.has("--waits");
  record.stop = options.has("--stop");
  if (record.stop && record.duration_s == 0 && record.steps == 0 && record.range.empty()) {
    return usage_error("--stop needs an end of the recording: --duration 0s records until the program ends",
                       "leave out --duration 0s");
  }
  record.interrupted = &context.interrupted;
  record.interrupts = &interrupt_count();
  record.signal_reached_program = interrupt_from_terminal;
  record.say = [&context](const std::string& text) { context.err << "warpmark: " << text << '\n' << std::flush; };
  return record;
}

/// What the recording says first, on standard error as the program's output is on the other.
void show_top_finding(Context& context, const ProfileSession& session, const fs::path& out) {
  const Analysis analysis = analyze::analyze(session, {.tables = false});
  context.err << "warpmark: " << analysis.verdict << '\n';
  context.err << "warpmark: more: warpmark analyze " << shell_quote(out.string()) << '\n';
}

Result<int> run_profile(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto record, record_options(context, options));
  if (options.has("--as-rank")) return record_as_rank(context, std::move(record), !options.has("--no-stacks"));
  WM_TRY(check_rank_options(options));
  // The recorder sits in the program and has nobody to tell that it cannot write.
  WM_TRY(check_writable(record.out));
  if (std::error_code none; fs::exists(record.out, none) && !fs::is_regular_file(record.out, none)) {
    return usage_error(record.out.string() + " is no file: a recording is put together in one",
                       "name a file with --out");
  }
  if (options.has("--gpu-metrics") && !options.has("--nsys")) {
    return usage_error("--gpu-metrics is for --nsys: only Nsight Systems samples these counters beside a program",
                       "add --nsys; without it the driver's own utilization is sampled (--interval)");
  }
  if (options.has("--ranks") || options.has("--hosts"))
    return record_ranks(context, options, kProfileOptions, record.out);
  if (options.has("--nsys")) {
    for (const char* ours :
         {"--ncu", "--ncu-kernel", "--steps", "--warmup-steps", "--windows", "--memory", "--waits", "--no-stacks"}) {
      if (options.has(ours)) return usage_error(std::string(ours) + " is not for --nsys", "leave one of them out");
    }
    return record_with_nsys(context, options, record);
  }
  std::string ncu;
  if (asks_for_ncu(options)) {  // before the program runs for nothing
    const char* path = context.environment("PATH");
    WM_ASSIGN(ncu, profile::find_tool("ncu", path != nullptr ? path : ""));
  }
  WM_TRY(find_recorder(context, record));
  StacksFolder stacks;
  if (!options.has("--no-stacks") || !record.range.empty()) {
    WM_TRY(stacks.prepare(context, record, !options.has("--no-stacks")));
  }
  set_grace(kUntilItIsCompleted);  // the recording is put together after the program has ended
  WM_ASSIGN(const auto outcome, profile::record_program(record));
  if (outcome.processes == 0) return nothing_recorded(outcome, "", record.whole_graphs);
  const std::vector<fs::path> files{record.out};
  const auto session = profile::read_session(files);
  if (!session.ok()) return session.error();
  const Recorded recorded = summarize(context, outcome, *session);
  if (recorded.problem.starts_with("another profiler")) {
    context.err << "warpmark: " << recorded.problem << '\n';
    return outcome.exit_code;
  }
  if (!recorded.gpu_work) return nothing_recorded(outcome, recorded.problem, record.whole_graphs);
  if (!recorded.problem.empty()) context.err << "warpmark: " << recorded.problem << '\n';
  if (asks_for_ncu(options)) WM_TRY(add_kernel_metrics(context, options, ncu, record, *session));
  show_top_finding(context, *session, record.out);
  return outcome.stopped || outcome.interrupted ? kSuccess : outcome.exit_code;
}

}  // namespace

extern const Command profile_command{
    .id = "profile",
    .summary = "record what a program does on the GPU",
    .details =
        "Runs a command, Python or native, and records kernels, copies, memsets, CUDA calls that launch, copy, wait "
        "or allocate, and NVTX ranges. Every 100 ms it also samples clocks, power, utilization and throttle reasons "
        "of the GPUs, and the load of the host. The command is not changed: CUDA loads the recorder "
        "(CUDA_INJECTION64_PATH), which uses CUPTI.\n"
        "\n"
        "The program first runs without recording until its steps repeat, or until 2 s of launches have shown no "
        "steps, or for --delay. Then launches are counted without recording, with recording for --duration, and "
        "--windows more of each: the difference is the profiler overhead. If start-up was recorded, the steps are "
        "recorded instead. Without steps, the program is recorded again after four times as long. The program then "
        "runs to its end; --stop ends it after the recording.\n"
        "\n"
        "Every recording ends with an answer: after Ctrl-C, SIGTERM, a crash or a kill of the program it is completed "
        "from what was written, and the first finding is printed. Ctrl-C goes to the program, which may take 15 s to "
        "end; a second Ctrl-C kills it. If warpmark itself is killed, analyze FILE.parts reads the data.\n"
        "\n"
        "--capture-range records what the program marks: the first range of that name, or cudaProfilerStart to "
        "cudaProfilerStop. --warmup-steps skips steps and --steps limits them.\n"
        "\n"
        "--ncu and --ncu-kernel run the command a second time under Nsight Compute. --nsys records the whole program, "
        "or counts --delay from its start. If another profiler holds CUPTI, only the counters are recorded.\n"
        "\n"
        "--ranks and --hosts start the program on several ranks through mpirun or srun, record each rank, estimate "
        "clock offsets from exchanged messages, and merge the recordings (docs/scale.md).\n"
        "\n"
        "The exit code is the program's, 0 after --stop and Ctrl-C; 5 if nothing was recorded.",
    .options = kProfileOptions,
    .positional = {"COMMAND", "the command and its arguments, after --", true, "<files>"},
    .examples =
        "warpmark profile -- python train.py --epochs 1\n"
        "warpmark profile --delay 30s --duration 5s -- torchrun train.py\n"
        "warpmark profile --warmup-steps 50 --steps 20 --ncu 5 -- python train.py\n"
        "warpmark profile --capture-range 'epoch 2' -- python train.py\n"
        "warpmark profile --ncu-kernel 'gemm|softmax' --ncu-set full -- ./program\n"
        "warpmark profile --hosts hosts.txt --ranks 16 -- python train.py\n"
        "warpmark profile --delay 0s --duration 0s -- ./short_program",
    .run = run_profile,
};

}  // namespace warpmark::apps
