// Shows what the machine is doing, in a terminal and in files, until it is told to stop.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <ostream>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "device/machine.h"
#include "monitor/sampler.h"
#include "report/formats/render.h"
#include "report/results/machine_state.h"
#include "warpmark/command.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

struct MonitorRequest {
  double interval_s = 1;
  std::optional<double> duration_s;
  std::size_t processes = 10;
  bool once = false;
  bool summary = false;
  std::string csv, json_lines;
};

constexpr OptionSpec kMonitorOptions[] = {
    {"--interval", "TIME", "between two samples, at least 50ms", to<&MonitorRequest::interval_s>.within({0.05})},
    {"--duration", "TIME", "end after this long; without it, Ctrl-C ends it", to<&MonitorRequest::duration_s>},
    {"--processes", "N", "processes shown in addition to those that use a GPU",
     to<&MonitorRequest::processes>.within({0, 1000})},
    {"--csv", "FILE", "append a row for the host and one for each GPU; - is the output", to<&MonitorRequest::csv>},
    {"--jsonl", "FILE", "append a line of JSON with everything; - is the output", to<&MonitorRequest::json_lines>},
    {"--summary", "", "end with the minimum, mean and maximum of each figure, for the host and each GPU",
     to<&MonitorRequest::summary>},
    {"--json", "[FILE]", "at the end, write that as JSON (warpmark.monitor_summary/1)"},
    {"--once", "", "look twice, one interval apart, show that and end", to<&MonitorRequest::once>},
};

/// A log that is a file, or the output.
class Log {
 public:
  [[nodiscard]] Status open(Context& context, const std::string& path, const std::string& header) {
    if (path == "-") {
      out_ = &context.out;
    } else {
      WM_TRY(check_folder_of(path));
      file_.open(path, std::ios::app);
      if (!file_) return environment_error("cannot write " + path, "choose a file in a folder that you can write");
      out_ = &file_;
    }
    const bool fresh = path == "-" || file_.tellp() == 0;
    return fresh ? write(header) : Status();
  }
  [[nodiscard]] bool is_open() const { return out_ != nullptr; }
  /// Handed to the kernel at once: what was logged is there when the machine's trouble ends us.
  [[nodiscard]] Status write(const std::string& text) {
    *out_ << text << std::flush;
    return *out_ ? Status() : environment_error("the log cannot be written any more", "is the disk full?");
  }

 private:
  std::ofstream file_;
  std::ostream* out_ = nullptr;
};

struct Logs {
  Log csv;
  Log json_lines;
};

Status open_logs(Context& context, const MonitorRequest& request, Logs& logs) {
  if (request.csv == "-" && request.json_lines == "-") {
    return usage_error("--csv and --jsonl cannot both be the output", "name a file for one of them");
  }
  if (!request.csv.empty()) WM_TRY(logs.csv.open(context, request.csv, monitor::csv_header()));
  if (!request.json_lines.empty()) WM_TRY(logs.json_lines.open(context, request.json_lines, ""));
  return {};
}

Status log(const MachineState& state, Logs& logs) {
  if (logs.csv.is_open()) WM_TRY(logs.csv.write(monitor::csv_rows(state)));
  if (logs.json_lines.is_open()) WM_TRY(logs.json_lines.write(dump_json(to_json(state), -1) + "\n"));
  return {};
}

/// The view in a terminal's second screen, redrawn in place; the first comes back when it is left.
class Screen {
 public:
  explicit Screen(Context& context) : context_(context) {
    set_crash_messages(kLeave, kLeave);
    context_.out << kEnter << std::flush;
  }
  ~Screen() {
    context_.out << kLeave << std::flush;
    set_crash_messages("", "");
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void draw(const MachineState& state, const report::UtilizationHistory& history) {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const int width = known ? std::max<int>(40, size.ws_col) : context_.width;
    const int lines = known ? std::max<int>(5, size.ws_row) - 1 : 0;
    const std::string text = report::render_machine_state(
        state, history, {.width = width, .color = context_.color, .unicode = context_.unicode}, lines);
    std::string frame = "\x1b[H";
    for (const char c : text) frame += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
    context_.out << frame << "\x1b[J" << std::flush;
  }

 private:
  // The second screen, without a cursor, lines cut at its edge instead of wrapped.
  static constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
  static constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
  Context& context_;
};

/// Whether the output is a terminal that moves its cursor when asked to.
bool can_redraw(const Context& context) {
  const char* kind = context.environment("TERM");
  return context.out_is_terminal && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

/// False if it was interrupted meanwhile.
bool wait_until(std::int64_t monotonic, const std::atomic<bool>& interrupted) {
  while (!interrupted.load()) {
    const auto left_ns = monotonic - monotonic_ns();
    if (left_ns <= 0) return true;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::int64_t>(left_ns, 100'000'000)));
  }
  return false;
}

/// Starting the driver takes seconds where no other program uses it.
constexpr double kFirstList_s = 10;

monitor::Moment now() { return {static_cast<std::int64_t>(wall_clock_s() * 1e9), monotonic_ns()}; }

void print_snapshot(Context& context, const MachineState& state, const report::UtilizationHistory& history) {
  context.out << report::render_machine_state(state, history, render_options(context), 0);
}

/// Also after Ctrl-C, which is how most watching ends.
/// Beside a log that is the output, which programs read, the summary goes where people look.
Result<int> show_summary(Context& context, const ParsedOptions& options, const MonitorRequest& request,
                         bool log_to_output, const MachineSummary& summary) {
  if (request.summary) {
    (log_to_output ? context.err : context.out)
        << report::render(report::build_report(summary), "text", render_options(context)) << std::flush;
  }
  WM_TRY(write_json(options, to_json(summary)));
  return kSuccess;
}

Result<int> run_monitor(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto request, read_options<MonitorRequest>(options));
  Logs logs;
  WM_TRY(open_logs(context, request, logs));
  const bool logging = logs.csv.is_open() || logs.json_lines.is_open();
  const bool log_to_output = request.csv == "-" || request.json_lines == "-";
  monitor::GpuPollOptions poll{.interrupted = &context.interrupted};
  if (request.once) poll.first_list_s = kFirstList_s;
  monitor::Sampler sampler({.host = device::host_name(), .processes = request.processes, .gpus = std::move(poll)},
                           monitor::nvml_source());
  report::UtilizationHistory history;
  monitor::Summarizer summarizer;
  if (options.has("--json")) WM_TRY(check_folder_of(options.get("--json")));
  std::optional<Screen> screen;
  if (can_redraw(context) && !log_to_output && !request.once) screen.emplace(context);
  const bool print_each = !screen && !logging && !request.summary;

  const std::int64_t began = monotonic_ns();
  const auto interval_ns = static_cast<std::int64_t>(request.interval_s * 1e9);
  for (std::int64_t probe = 0;; ++probe) {
    const MachineState state = sampler.sample(now());
    history.add(state);
    summarizer.add(state);
    WM_TRY(log(state, logs));
    const bool last = request.once && probe == 1;
    if (screen) screen->draw(state, history);
    if (last || (print_each && !request.once)) print_snapshot(context, state, history);
    if (print_each && !request.once) context.out << '\n' << std::flush;
    if (last) break;
    // Looks that came too late are left out rather than made up for.
    const std::int64_t next = began + ((monotonic_ns() - began) / interval_ns + 1) * interval_ns;
    if (request.duration_s && static_cast<double>(next - began) * 1e-9 > *request.duration_s + 1e-9) break;
    if (!wait_until(next, context.interrupted)) break;
  }
  screen.reset();
  return show_summary(context, options, request, log_to_output, summarizer.summary());
}

}  // namespace

extern const Command monitor_command{
    .id = "monitor",
    .summary = "show GPU, CPU and process activity live",
    .details =
        "Shows, once a second: utilization of CPUs and GPUs, memory, clocks, power, temperature, PCIe and NVLink "
        "traffic, GPU throttling, and the processes that use GPUs and CPUs. In a terminal the view is redrawn in "
        "place; otherwise it is printed repeatedly, unless a log is written.\n"
        "\n"
        "--csv and --jsonl append every sample to their files, in SI units without prefixes (docs/metrics.md). "
        "Overhead is below 1 % of a core. Works without a GPU.\n"
        "\n"
        "--summary prints min, mean and max of utilization, memory, power, clocks and temperature per GPU at the end, "
        "also after Ctrl-C. Run it next to a program to see how the program uses the machine.\n"
        "\n"
        "Ctrl-C ends it with exit code 0.",
    .options = kMonitorOptions,
    .examples =
        "warpmark monitor\n"
        "warpmark monitor --csv night.csv --interval 10s\n"
        "warpmark monitor --jsonl - --duration 1m | jq .gpus\n"
        "warpmark monitor --summary --interval 500ms --duration 1m\n"
        "warpmark monitor --once",
    .run = run_monitor,
};

}  // namespace warpmark::apps
