// Records what a program does on the GPU, and what the machine did meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>

#include "analyze/analyze.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/record_program.h"
#include "profile/collectors/tools.h"
#include "profile/read_session.h"
#include "profile/recording/format.h"
#include "warpmark/ab/project_command.h"
#include "warpmark/command.h"
#include "warpmark/profiles/dormant.h"
#include "warpmark/profiles/gpu_recorder.h"
#include "warpmark/profiles/nvidia_tools.h"
#include "warpmark/profiles/profile_ranks.h"
#include "warpmark/profiles/rank_recordings.h"
#include "warpmark/profiles/recorded.h"
#include "warpmark/profiles/recorder.h"
#include "warpmark/profiles/torch_recorder.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/option_values.h"

namespace warpmark::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kUntilItIsCompleted = 600;  // s after a signal; the program is killed at the second one, or after 15 s

constexpr OptionSpec kProfileOptions[] = {
    {"--out", "FILE", "the recording (default profile.wmrec)"},
    {"--delay", "TIME", "run untouched this long after the first CUDA call (default: until the steps repeat)",
     to<&profile::RecordOptions::delay_s>},
    {"--duration", "TIME", "record this long; 0s records until the program ends",
     to<&profile::RecordOptions::duration_s>},
    {"--warmup-steps", "N", "instead of --delay: steps of the program that are not recorded",
     to<&profile::RecordOptions::warmup_steps>.within({1, kMostRecordedSteps})},
    {"--steps", "N", "instead of --duration: number of whole steps; steps are detected",
     to<&profile::RecordOptions::steps>.within({1, kMostRecordedSteps})},
    {"--capture-range", "NAME",
     "record only ranges of this name (NVTX, record_function), or cudaProfilerApi: from its Start to its Stop",
     to<&profile::RecordOptions::range>},
    {"--windows", "N", "short windows that measure the overhead of recording; 0: none",
     to<&profile::RecordOptions::windows>.within({0, 20})},
    {"--ncu", "K", "run again under ncu: adds metrics of the K costliest kernels"},
    {"--ncu-kernel", "REGEX", "ncu measures only kernels whose function name matches; implies --ncu (default all)"},
    {"--ncu-set", "NAME", "what ncu measures: a set of its sections (default detailed; ncu --list-sets)"},
    {"--ncu-section", "NAME", "a section of ncu's in addition to the set, or instead of it (ncu --list-sections)",
     true},
    {"--ncu-skip", "N", "launches of these kernels that ncu passes over (default two steps)"},
    {"--ncu-count", "N", "launches that ncu measures (default one step, 8 to 50 a kernel)"},
    {"--ncu-time", "TIME", "the run under ncu ends after this long (default 2m)"},
    {"--nsys", "", "record with nsys instead, and export what it recorded"},
    {"--gpu-metrics", "GPUS",
     "with --nsys: sample how busy SMs, tensor cores and memory are, of all GPUs or of 0,1 (needs the right to "
     "counters)"},
    {"--interval", "TIME", "between samples of the GPUs and the host; 0s takes none",
     to<&profile::RecordOptions::interval_s>},
    {"--whole-graphs", "",
     "one record for a CUDA graph, not one for each of its nodes: cheaper, but graphs made before may leave none",
     to<&profile::RecordOptions::whole_graphs>},
    {"--memory", "", "also a record of every allocation and release that reaches the driver",
     to<&profile::RecordOptions::memory>},
    {"--waits", "", "also CUPTI's own records of waits: on many programs they double the cost",
     to<&profile::RecordOptions::waits>},
    {"--ranks", "N", "start N ranks with mpirun or srun, record all, and align their clocks"},
    {"--hosts", "FILE", "hosts of the ranks, one a line (default ranks: one a host)"},
    {"--bind", "ADDRESS", "with --ranks: address of this machine at which ranks send recordings"},
    {"--launcher", "NAME", "mpirun, srun or auto (default)", false, "auto mpirun srun"},
    {"--launcher-arg", "WORD", "a further word for the launcher", true},
    {"--oversubscribe", "", "allow more ranks than processors"},
    {"--as-rank", "", "be one of the ranks; what the launcher starts"},
    {"--torch", "", "record with PyTorch's own profiler instead of CUPTI (default without an NVIDIA driver)"},
    {"--dormant", "", "start the command with a recorder that sleeps until --pid wakes it"},
    {"--pid", "N",
     "record a running program, started by --dormant, and its children; it keeps running. all: all of yours"},
    {"--shell", "", "run the command with /bin/sh -c"},
    {"--stop", "", "end the program once it has been recorded (default: it runs on to its end)",
     to<&profile::RecordOptions::stop>},
    {"--no-stacks", "", "leave stacks of the program's code out, Python's and C++'s: findings then name no lines"},
};

Status check_capture(const ParsedOptions& options) {
  if (!options.has("--capture-range")) return {};
  for (const char* other : {"--delay", "--duration", "--windows"}) {
    if (options.has(other)) {
      return usage_error(std::string(other) + " is not for --capture-range, whose ranges say when to record",
                         "leave it out; --warmup-steps and --steps count the ranges");
    }
  }
  return {};
}

/// Empty where no command was given.
Result<std::vector<std::string>> command_of(const ParsedOptions& options) {
  if (options.positionals().empty()) return std::vector<std::string>();
  return words_of(options, options.positionals());
}

Result<profile::RecordOptions> record_options(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(auto record, read_options<profile::RecordOptions>(options));
  WM_ASSIGN(record.command, command_of(options));
  if (record.command.empty() != options.has("--pid")) {
    return options.has("--pid")
               ? usage_error("--pid records a program that runs: it takes no command", "leave out what is behind --")
               : usage_error("there is no command to record", "warpmark profile -- python train.py");
  }
  record.out = options.get("--out", "profile.wmrec");
  WM_TRY(check_ncu_options(options));
  WM_TRY(check_capture(options));
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

/// Options of CUPTI's recorder, which PyTorch's profiler has not.
constexpr const char* kOfCupti[] = {"--delay", "--capture-range", "--windows", "--ncu",   "--ncu-kernel",
                                    "--nsys",  "--whole-graphs",  "--memory",  "--waits", "--no-stacks"};
/// Options that --dormant and --pid do not take.
constexpr const char* kOfOwnStart[] = {"--capture-range", "--ncu", "--ncu-kernel", "--nsys", "--stop"};
/// Options that --dormant does not take either: what starts the ranks starts it.
constexpr const char* kOfRanks[] = {"--ranks", "--hosts", "--as-rank"};

template <std::size_t n>
const char* first_given(const ParsedOptions& options, const char* const (&names)[n]) {
  const auto found = std::find_if(std::begin(names), std::end(names), [&](auto name) { return options.has(name); });
  return found == std::end(names) ? nullptr : *found;
}

/// Whether PyTorch's profiler is to record: where it is asked for, or there is no other and no other is asked for.
Result<bool> records_with_torch(Context& context, const ParsedOptions& options) {
  const char* other = first_given(options, kOfCupti);
  const bool torch = options.has("--torch");
  if (torch && other != nullptr) return usage_error(std::string(other) + " is not for --torch", "leave one out");
  return torch || (other == nullptr && !has_gpu_recorder(context.environment("WARPMARK_CUPTI")));
}

/// What the recording says first, on standard error as the program's output is on the other.
void show_top_finding(Context& context, const ProfileSession& session, const fs::path& out) {
  context.err << "warpmark: " << analyze::analyze(session, {.tables = false}).verdict
              << "\nwarpmark: more: warpmark analyze " << shell_quote(out.string()) << '\n';
}

/// "a step: 93 % waiting for data, 2 % forward, ..."; empty where they are not known. Its time is in the verdict.
std::string phases_text(const std::string& phases) {
  const auto json = parse_json(phases, "phases");
  if (!json.ok() || !json->is_object()) return {};
  const auto number = [&](const char* key) { return json->value(key, 0.0); };
  const double seconds = number("seconds");
  if (!(number("steps") > 0) || !(seconds > 0)) return {};
  std::string text = fmt::format("a step: {:.0f} % waiting for data", 100 * number("data") / seconds);
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    text += fmt::format(", {:.0f} % {}", 100 * number(phase) / seconds, phase);
  }
  return text;
}

/// What was recorded with PyTorch's profiler, or while a program ran.
Result<int> show_recorded(Context& context, const profile::RecordOutcome& outcome, const fs::path& out,
                          const std::vector<std::string>& command) {
  const std::vector<fs::path> files{out};
  WM_ASSIGN(const auto session, profile::read_session(files));
  const Recorded recorded = summarize(context, outcome, session);
  if (!recorded.problem.empty()) context.err << "warpmark: " << recorded.problem << '\n';
  if (const auto phases = phases_text(outcome.phases); !phases.empty()) {
    context.err << "warpmark: " << phases << '\n';
    if (!command.empty()) {
      context.err << "warpmark: settings that could help: warpmark optimize --list-knobs -- " << command_line(command)
                  << '\n';
    }
  }
  show_top_finding(context, session, out);
  return kSuccess;
}

Result<int> record_torch(Context& context, profile::RecordOptions& record) {
  TorchRecorder torch;
  const auto command = record.command;
  WM_TRY(torch.prepare(context, record));
  set_grace(kUntilItIsCompleted);
  WM_ASSIGN(const auto outcome, profile::record_program(record));
  if (outcome.processes == 0) return torch.nothing_recorded(outcome);
  WM_TRY(show_recorded(context, outcome, record.out, command));
  return outcome.interrupted ? kSuccess : command_exit_code(context, outcome.exit_code);
}

Result<profile::RecordOutcome> record_pid(Context& context, const ParsedOptions& options,
                                          profile::RecordOptions& record) {
  if (!options.has("--windows")) record.windows = 0;  // what it costs shows next to it, and no further disturbance
  set_grace(kUntilItIsCompleted);
  return record_dormant(context, options.get("--pid"), record);
}

/// Within a job that is started or recorded on several hosts.
Result<int> record_one_rank(Context& context, const ParsedOptions& options, profile::RecordOptions record) {
  return record_as_rank(context, std::move(record),
                        [&](profile::RecordOptions& here) -> Result<profile::RecordOutcome> {
                          if (options.has("--pid")) return record_pid(context, options, here);
                          StacksFolder stacks;
                          if (!options.has("--no-stacks")) WM_TRY(stacks.prepare(context, here, true));
                          WM_TRY(find_recorder(context, here));
                          return profile::record_program(here);
                        });
}

Status check_own_start(const ParsedOptions& options) {
  if (!options.has("--dormant") && !options.has("--pid")) return {};
  const char* asker = options.has("--dormant") ? "--dormant" : "--pid";
  const char* other = first_given(options, kOfOwnStart);
  if (other == nullptr && options.has("--dormant")) other = first_given(options, kOfRanks);
  if (other != nullptr) return usage_error(std::string(other) + " is not for " + asker, "leave one of them out");
  if (options.has("--pid") && (options.has("--hosts") || options.has("--ranks")) && options.get("--pid") != "all") {
    return usage_error("--pid " + options.get("--pid") + " is a process of one machine",
                       "with --hosts give --pid all: the programs of yours that were started with --dormant");
  }
  return {};
}

Result<int> run_profile(Context& context, const ParsedOptions& options) {
  WM_TRY(check_own_start(options));
  if (options.has("--dormant")) {
    if (options.has("--pid")) return usage_error("--dormant starts a program, --pid records one that runs", "give one");
    WM_ASSIGN(const auto command, command_of(options));
    return start_dormant(context, command,
                         options.has("--torch") || !has_gpu_recorder(context.environment("WARPMARK_CUPTI")));
  }
  WM_ASSIGN(auto record, record_options(context, options));
  if (options.has("--as-rank")) return record_one_rank(context, options, std::move(record));
  WM_TRY(check_rank_options(options));
  // The recorder sits in the program and has nobody to tell that it cannot write.
  WM_TRY(check_writable(record.out));
  if (std::error_code none; fs::exists(record.out, none) && !fs::is_regular_file(record.out, none)) {
    return usage_error(record.out.string() + " is no file: a recording is put together in one",
                       "name a file with --out");
  }
  if (options.has("--gpu-metrics") && !options.has("--nsys")) {
    return usage_error("--gpu-metrics is for --nsys: only Nsight Systems samples these counters while a program runs",
                       "add --nsys; without it the driver's own utilization is sampled (--interval)");
  }
  if (options.has("--ranks") || options.has("--hosts"))
    return record_ranks(context, options, kProfileOptions, record.out);
  if (options.has("--pid")) {
    WM_ASSIGN(const auto outcome, record_pid(context, options, record));
    if (outcome.processes == 0) return nothing_recorded(outcome, {}, record.whole_graphs);
    return show_recorded(context, outcome, record.out, {});
  }
  if (options.has("--nsys")) {
    for (const char* ours :
         {"--ncu", "--ncu-kernel", "--steps", "--warmup-steps", "--windows", "--memory", "--waits", "--no-stacks"}) {
      if (options.has(ours)) return usage_error(std::string(ours) + " is not for --nsys", "leave one of them out");
    }
    return record_with_nsys(context, options, record);
  }
  WM_ASSIGN(const bool with_torch, records_with_torch(context, options));
  if (with_torch) return record_torch(context, record);
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
  if (outcome.processes == 0) return nothing_recorded(outcome, {}, record.whole_graphs);
  const std::vector<fs::path> files{record.out};
  const auto session = profile::read_session(files);
  if (!session.ok()) return session.error();
  const Recorded recorded = summarize(context, outcome, *session);
  if (is_problem(recorded.problem_id, profile::recording::kOtherProfiler)) {
    context.err << "warpmark: " << recorded.problem << '\n';
    return command_exit_code(context, outcome.exit_code);
  }
  if (!recorded.gpu_work) return nothing_recorded(outcome, recorded, record.whole_graphs);
  if (!recorded.problem.empty()) context.err << "warpmark: " << recorded.problem << '\n';
  show_top_finding(context, *session, record.out);  // first: ncu takes minutes
  if (asks_for_ncu(options)) WM_TRY(add_kernel_metrics(context, options, ncu, record, *session));
  return outcome.stopped || outcome.interrupted ? kSuccess : command_exit_code(context, outcome.exit_code);
}

}  // namespace

extern const Command profile_command{
    .id = "profile",
    .summary = "record what a program does on the GPU, or in PyTorch without one",
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
        "Without an NVIDIA driver, or with --torch, PyTorch's own profiler records the steps of a Python program: "
        "after --warmup-steps (3), --steps of them or as many as take --duration, 64 at most.\n"
        "\n"
        "--dormant starts a program with a recorder that sleeps, and --pid records it at any time while it runs, as "
        "often as you like, and analyzes the recording. CUPTI is not loaded until then. --pid all --hosts FILE "
        "records a job that runs on several hosts (docs/recording.md).\n"
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
        "warpmark profile --dormant -- python train.py\n"
        "warpmark profile --pid 4711 --duration 2s\n"
        "warpmark profile --delay 0s --duration 0s -- ./short_program",
    .run = run_profile,
};

}  // namespace warpmark::apps
