#include "workers/hooked_program.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "generated/python_hook.h"

namespace warpmark::workers {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestReport = 256 << 20;
constexpr std::size_t kMostProcesses = 4096;
constexpr std::string_view kFileMark = "#file ";

std::string path_with(const fs::path& folder, const char* python_path) {
  const bool given = python_path != nullptr && *python_path != '\0';
  return folder.string() + (given ? std::string(":") + python_path : "");
}

constexpr std::string_view kPath = "PYTHONPATH=";

std::string base_name(const std::string& word) { return std::filesystem::path(word).filename().string(); }

/// Assignments of env follow its options and precede the program.
void keep_in_env(std::vector<std::string>& words, std::size_t env, const std::string& hook_folder,
                 const NamedValues& variables) {
  std::size_t i = env + 1;
  bool clears = false;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i] == "-i" || words[i] == "-" || words[i] == "--ignore-environment") clears = true;
    if (words[i] == "-u" || words[i] == "-C") ++i;  // with a value
  }
  const auto first = i;
  bool sets_path = false;
  for (; i < words.size() && words[i].find('=') != std::string::npos; ++i) {
    if (!words[i].starts_with(kPath)) continue;
    sets_path = true;
    words[i] = std::string(kPath) + hook_folder + ":" + words[i].substr(kPath.size());
  }
  if (!clears) return;
  for (const auto& [name, value] : variables) {
    if (name + "=" == kPath && sets_path) continue;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), name + "=" + value);
  }
}

void keep_in_shell(std::string& text, const std::string& hook_folder) {
  const auto quoted = shell_quote(hook_folder) + ":";
  for (std::size_t at = text.find(kPath); at != std::string::npos; at = text.find(kPath, at + kPath.size())) {
    const bool assigns = at == 0 || std::string_view(" \t\n;&|(").find(text[at - 1]) != std::string_view::npos;
    if (assigns) text.insert(at + kPath.size(), quoted);
  }
}

namespace fs = std::filesystem;

constexpr auto kBetweenPolls = std::chrono::milliseconds(2);

double seconds_now() { return static_cast<double>(monotonic_ns()) * 1e-9; }

}  // namespace

Status write_hook(const fs::path& folder) {
  WM_TRY(make_folder(folder));
  for (const auto& file : generated::kPythonHook) {
    const auto path = folder / std::string(file.name);
    std::error_code missing;
    if (fs::file_size(path, missing) == file.text.size() && !missing) {
      const auto there = read_file(path, kLargestReport);
      if (there.ok() && *there == file.text) continue;
    }
    WM_TRY(write_file(path, file.text));
  }
  return {};
}

NamedValues hook_variables(const fs::path& folder, const fs::path& plan, const fs::path& report,
                           const char* python_path) {
  return {{"PYTHONPATH", path_with(folder, python_path)},
          {"WARPMARK_HOOK", plan.string()},
          {"WARPMARK_HOOK_REPORT", report.string()}};
}

NamedValues stack_variables(const fs::path& folder, const fs::path& stacks, const char* python_path) {
  return {{"PYTHONPATH", path_with(folder, python_path)}, {"WARPMARK_STACKS", stacks.string()}};
}

std::string plan_text(const HookPlan& plan) {
  Json knobs = Json::object();
  for (const auto& [id, value] : plan.knobs) knobs[id] = value;
  Json json{{"version", kHookVersion},           {"knobs", knobs},
            {"warmup_steps", plan.warmup_steps}, {"window_steps", plan.window_steps},
            {"window_seconds", plan.window_s},   {"stop", plan.stop},
            {"measure", plan.measure},           {"sync_phases", plan.sync_phases}};
  if (plan.profile_steps > 0 || plan.profile_s > 0) {
    json["profile"] = {{"steps", plan.profile_steps},
                       {"seconds", plan.profile_s},
                       {"stacks", plan.profile_stacks},
                       {"folder", plan.profile_folder}};
  }
  if (!plan.dormant.empty()) json["dormant"] = plan.dormant;
  if (!plan.lab.empty()) json["lab"] = plan.lab;
  if (!plan.gate.empty()) json["gate"] = plan.gate;
  if (plan.graphs_alone) json["graphs_alone"] = true;
  if (plan.tuned) json["tuned"] = true;
  if (plan.seed) json["seed"] = *plan.seed;
  return dump_json(json) + "\n";
}

Result<std::string> collect_reports(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure)) {
    if (entry->path().extension() == ".jsonl" && files.size() < kMostProcesses) files.push_back(entry->path());
  }
  if (failure) return environment_error("cannot read the folder " + folder.string() + ": " + failure.message());
  std::sort(files.begin(), files.end());
  std::string raw;
  for (const auto& file : files) {
    WM_ASSIGN(const auto text, read_file(file, kLargestReport));
    const auto whole = text.rfind('\n');
    raw += std::string(kFileMark) + file.filename().string() + "\n";
    if (whole != std::string::npos) raw += text.substr(0, whole + 1);
  }
  return raw;
}

Result<std::vector<ProgramReport>> parse_reports(const std::string& raw) {
  std::vector<ProgramReport> reports;
  std::size_t begin = raw.starts_with(kFileMark) ? 0 : std::string::npos;
  while (begin != std::string::npos) {
    const auto line_end = raw.find('\n', begin);
    if (line_end == std::string::npos) break;
    const auto name = raw.substr(begin + kFileMark.size(), line_end - begin - kFileMark.size());
    const auto next = raw.find("\n" + std::string(kFileMark), line_end == 0 ? 0 : line_end - 1);
    const auto text = raw.substr(line_end + 1, next == std::string::npos ? next : next - line_end);
    WM_ASSIGN(auto report, parse_report(text, name));
    reports.push_back(std::move(report));
    begin = next == std::string::npos ? next : next + 1;
  }
  return reports;
}

Result<HookedRun> run_hooked(const HookedCommand& command, const fs::path& hook, const fs::path& scratch) {
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  WM_TRY(make_folder(scratch));
  const auto plan = scratch / "plan.json";
  WM_TRY(write_file(plan, plan_text(command.plan)));
  NamedValues variables = command.environment;
  const auto given =
      std::find_if(variables.begin(), variables.end(), [](const auto& v) { return v.first == "PYTHONPATH"; });
  const std::string theirs = given == variables.end() ? "" : given->second;
  if (given != variables.end()) variables.erase(given);
  const char* inherited = std::getenv("PYTHONPATH");
  for (auto& variable : hook_variables(hook, plan, scratch, theirs.empty() ? inherited : theirs.c_str())) {
    variables.push_back(std::move(variable));
  }
  HookedRun run;
  const auto words = keep_variables(command.words, hook.string(), variables);
  auto output = run_process(words, {.deadline_s = command.deadline_s,
                                    .directory = command.directory,
                                    .like_terminal = true,
                                    .environment = variables,
                                    .own_group = true,
                                    .interrupted = command.interrupted});
  if (output.ok()) {
    run.output = std::move(*output);
  } else if (output.error().code == ErrorCode::deadline) {
    run.ending = Ending::timed_out;
    run.output.wall_s = command.deadline_s;
  } else {
    return output.error();
  }
  WM_ASSIGN(run.raw, collect_reports(scratch));
  WM_ASSIGN(run.reports, parse_reports(run.raw));
  fs::remove_all(scratch, ignored);
  return run;
}

std::vector<std::string> keep_variables(std::vector<std::string> words, const std::string& hook_folder,
                                        const NamedValues& variables) {
  constexpr std::size_t kLaunchers = 4;  // words before env, as those of taskset
  for (std::size_t i = 0; i < std::min(words.size(), kLaunchers); ++i) {
    const auto name = base_name(words[i]);
    if (name == "env") {
      keep_in_env(words, i, hook_folder, variables);
      return words;
    }
    if ((name == "sh" || name == "bash" || name == "dash") && i + 2 < words.size() && words[i + 1] == "-c") {
      keep_in_shell(words[i + 2], hook_folder);
      return words;
    }
  }
  return words;
}

/// The process, and the thread that waits for it.
class GatedRuns::One {
 public:
  One(HookedCommand command, const fs::path& hook, const fs::path& folder) : folder_(folder) {
    command.plan.gate = gate().string();
    command.deadline_s = 365 * 86400.0;  // whoever leads the turns ends it
    command.interrupted = &stop_;
    thread_ = std::thread([this, command = std::move(command), hook] {
      const Status made = make_folder(gate());
      result_ = made.ok() ? run_hooked(command, hook, folder_ / "run") : Result<HookedRun>(made.error());
      ended_.store(true);
    });
  }
  ~One() {
    stop();
    if (thread_.joinable()) thread_.join();
  }
  One(One&&) = delete;
  One& operator=(One&&) = delete;

  [[nodiscard]] bool ended() const { return ended_.load(); }
  [[nodiscard]] bool waits() const {
    std::error_code ignored;
    return fs::exists(gate() / "ready", ignored);
  }
  [[nodiscard]] Status go() { return write_file(gate() / "go", ""); }
  void stop() { stop_.store(true); }
  /// Until it has ended, but no longer than this; then it is killed.
  void await_end(double deadline_s, const std::atomic<bool>* interrupted) {
    const double until_s = seconds_now() + deadline_s;
    while (!ended()) {
      late_ = late_ || seconds_now() > until_s;
      if (late_ || (interrupted != nullptr && interrupted->load())) stop();
      std::this_thread::sleep_for(kBetweenPolls);
    }
    thread_.join();
  }
  [[nodiscard]] GatedRun take(double deadline_s, double turn_s) {
    GatedRun gated{.run = std::move(*result_), .turn_s = turn_s};
    gated.cpu_before_s = std::strtod(first_line(gate() / "ready").c_str(), nullptr);
    if (late_ && !gated.run.ok()) {
      HookedRun timed_out;
      timed_out.ending = Ending::timed_out;
      timed_out.output.wall_s = deadline_s;
      gated.run = std::move(timed_out);
    }
    return gated;
  }

 private:
  [[nodiscard]] fs::path gate() const { return folder_ / "gate"; }

  fs::path folder_;
  std::atomic<bool> stop_ = false, ended_ = false;
  bool late_ = false;
  std::optional<Result<HookedRun>> result_;
  std::thread thread_;
};

GatedRuns::GatedRuns(std::vector<HookedCommand> commands, const fs::path& hook, fs::path scratch,
                     const std::atomic<bool>* interrupted)
    : scratch_(std::move(scratch)), interrupted_(interrupted), began_s_(seconds_now()) {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
  for (auto& command : commands) {
    all_.push_back(std::make_unique<One>(std::move(command), hook, scratch_ / std::to_string(all_.size())));
  }
}

GatedRuns::~GatedRuns() {
  for (const auto& one : all_) one->stop();
  all_.clear();
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

void GatedRuns::await_all(double most_s) {
  const double until_s = seconds_now() + most_s;
  const auto stands = [](const auto& one) { return one->ended() || one->waits(); };
  while (!std::all_of(all_.begin(), all_.end(), stands) && seconds_now() < until_s &&
         !(interrupted_ != nullptr && interrupted_->load())) {
    std::this_thread::sleep_for(kBetweenPolls);
  }
}

bool GatedRuns::waits(std::size_t i) const { return all_[i]->waits() && !all_[i]->ended(); }

GatedRun GatedRuns::turn(std::size_t i, double deadline_s) {
  One& one = *all_[i];
  const bool has_turn = one.waits() && !one.ended();
  const double turn_s = has_turn ? seconds_now() : began_s_;
  const Status gone = has_turn ? one.go() : Status();
  if (!gone.ok()) one.stop();
  one.await_end(has_turn ? deadline_s : 0, interrupted_);
  GatedRun run = one.take(deadline_s, seconds_now() - turn_s);
  if (!gone.ok()) run.run = gone.error();
  return run;
}

}  // namespace warpmark::workers
