#include "collectives/start/launch.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "device/machine.h"

namespace warpmark::collectives {
namespace {

namespace fs = std::filesystem;

std::string on_path(const char* (*environment)(const char* name), const std::string& program) {
  const char* path = environment("PATH");
  for (const auto& folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const auto candidate = fs::path(folder) / program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

int allowed_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

/// Sibling threads of one core count once.
int allowed_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &set)) continue;
    cores.insert(first_line(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)));
  }
  return static_cast<int>(cores.size());
}

Error no_launcher(const std::string& name) {
  return environment_error(fmt::format("{} is not installed: ranks cannot be started", name),
                           "apt-get install openmpi-bin, or load your cluster's MPI module");
}

std::vector<std::string> mpirun_words(const LaunchOptions& options, const LaunchPlace& place) {
  std::vector<std::string> words{place.mpirun, "-n", std::to_string(options.ranks)};
  // Open MPI refuses root, as which containers run; who runs us as root has decided that already.
  if (place.is_root) words.push_back("--allow-run-as-root");
  if (!options.hosts.empty()) {
    words.insert(words.end(), {"--hostfile", options.hosts});
  } else if (options.ranks > place.cpus) {
    words.push_back("--oversubscribe");
  } else if (options.ranks > place.cores) {
    // Its slots are cores. Ranks on sibling threads are no oversubscription, which would make them yield while waiting.
    words.push_back("--use-hwthread-cpus");
  }
  for (const auto& [name, value] : options.environment) words.insert(words.end(), {"-x", name});
  words.insert(words.end(), options.more.begin(), options.more.end());
  return words;
}

/// Splits a stream into lines and sorts ours from the others.
class Listener {
 public:
  explicit Listener(std::function<void(const Message&)> notify) : notify_(std::move(notify)) {}

  void hear(std::string_view piece) {
    line_ += piece;
    for (auto end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      take(line_.substr(0, end));
      line_.erase(0, end + 1);
    }
    constexpr std::size_t kLongest = 256 << 20;
    if (line_.size() > kLongest) line_.clear();
  }
  void end() {
    if (!line_.empty()) take(std::exchange(line_, {}));
  }
  [[nodiscard]] const std::string& others() const { return others_; }

 private:
  void take(const std::string& line) {
    if (const auto message = message_of(line)) return notify_(*message);
    constexpr std::size_t kMost = 64 << 10;
    if (others_.size() < kMost) others_ += line + "\n";
  }

  std::function<void(const Message&)> notify_;
  std::string line_;
  std::string others_;
};

/// What the ranks tell, as it comes.
class Ear {
 public:
  Ear(const LaunchOptions& options, double timeout_s) : options_(options), timeout_s_(timeout_s) {}

  void hear(const Message& message) {
    heard_ns_ = monotonic_ns();
    patience_s_ = timeout_s_ + 5;
    const auto json = parse_json(message.text, "a rank's message");
    if (!json.ok()) return;
    if (message.kind == "head") {
      if (auto head = head_from_json(*json); head.ok()) {
        outcome_.sweep.head = std::move(*head);
        if (options_.on_head) options_.on_head(*outcome_.sweep.head);
      }
    } else if (message.kind == "row") {
      if (auto row = row_from_json(*json); row.ok()) {
        outcome_.sweep.rows.push_back(std::move(*row));
        if (options_.on_row) options_.on_row(outcome_.sweep.rows.back());
      }
    } else if (message.kind == "done") {
      outcome_.sweep.complete = true;
    } else if (message.kind == "stuck") {
      outcome_.stuck.push_back({json->value("process", 0), json->value("host", ""), json->value("doing", "")});
      if (stuck_since_ns_ == 0) stuck_since_ns_ = monotonic_ns();
    } else if (message.kind == "error" && !outcome_.fault) {
      outcome_.fault =
          Error{static_cast<ErrorKind>(json->value("kind", 1)), json->value("what", ""), json->value("hint", "")};
    }
  }

  /// Others that wait, too, get two seconds to say so.
  [[nodiscard]] bool should_stop() const {
    return (stuck_since_ns_ != 0 && monotonic_ns() - stuck_since_ns_ > 2'000'000'000) || silent();
  }
  /// Not even process 0, which says once a second that it lives, is heard.
  [[nodiscard]] bool silent() const { return static_cast<double>(monotonic_ns() - heard_ns_) * 1e-9 > patience_s_; }
  [[nodiscard]] Outcome take() { return std::move(outcome_); }

 private:
  const LaunchOptions& options_;
  double timeout_s_;
  Outcome outcome_;
  std::int64_t stuck_since_ns_ = 0;
  std::int64_t heard_ns_ = monotonic_ns();
  double patience_s_ = 120 + timeout_s_;  ///< starting on many hosts takes its time
};

/// The last lines that say something, for an end that nobody explained.
std::string crash_message(const std::string& text) {
  std::vector<std::string> kept;
  for (const auto& line : split(text, '\n')) {
    const auto reported = trim(line);
    if (reported.empty() || reported.find_first_not_of("-=*") == std::string_view::npos) continue;
    kept.emplace_back(reported);
  }
  if (kept.size() > 6) kept.erase(kept.begin(), kept.end() - 6);
  return join(kept, " / ");
}

Error ended_badly(const ProcessOutput& output, const std::string& others) {
  const std::string death = death_in(others);
  if (!death.empty()) {
    return environment_error("a rank died: " + death, "its host's kernel log (dmesg) shows whether memory ran out");
  }
  if (output.exit_code > 128) {
    return environment_error(fmt::format("the process of the ranks was ended by signal {} ({})", output.exit_code - 128,
                                         ::strsignal(output.exit_code - 128)),
                             "its host's kernel log (dmesg) shows whether memory ran out");
  }
  return environment_error(
      fmt::format("the ranks ended with exit code {}: {}", output.exit_code, crash_message(others)),
      "run the same with --launcher-arg --display-map to see where ranks are started");
}

}  // namespace

LaunchPlace launch_place(const char* (*environment)(const char* name)) {
  LaunchPlace place;
  place.is_root = ::geteuid() == 0;
  place.in_slurm_job = environment("SLURM_JOB_ID") != nullptr && environment("SLURM_STEP_ID") == nullptr;
  place.cpus = allowed_cpus();
  place.cores = allowed_cores();
  place.mpirun = on_path(environment, "mpirun");
  place.srun = on_path(environment, "srun");
  return place;
}

Result<std::vector<std::string>> launcher_words(const LaunchOptions& options, const LaunchPlace& place) {
  const bool automatic = options.launcher == "auto";
  if (options.launcher == "srun" || (automatic && place.in_slurm_job && !place.srun.empty())) {
    if (place.srun.empty()) return no_launcher("srun");
    std::vector<std::string> words{place.srun, "-n", std::to_string(options.ranks), "--kill-on-bad-exit=1"};
    const bool chosen = std::any_of(options.more.begin(), options.more.end(),
                                    [](const auto& word) { return word.starts_with("--mpi"); });
    if (!chosen) words.push_back("--mpi=pmix");
    words.insert(words.end(), options.more.begin(), options.more.end());
    return words;
  }
  if (!automatic && options.launcher != "mpirun") {
    return usage_error("there is no launcher '" + options.launcher + "'", "launchers: auto, mpirun, srun");
  }
  if (place.mpirun.empty()) return no_launcher("mpirun");
  if (options.hosts.empty() && !place.in_slurm_job && options.ranks > place.cpus && !options.oversubscribe) {
    return usage_error(fmt::format("{} ranks are more than the {} processors here", options.ranks, place.cpus),
                       "name more hosts with --hosts, or measure ranks that share processors with --oversubscribe");
  }
  return mpirun_words(options, place);
}

Outcome launch_sweep(const Plan& plan, const LaunchOptions& options, const LaunchPlace& place,
                     const std::string& program) {
  Ear ear(options, plan.timeout_s);
  std::vector<std::string> words;
  if (options.launcher != "none") {
    auto launcher = launcher_words(options, place);
    if (!launcher.ok()) return {.sweep = {}, .stuck = {}, .interrupted = false, .fault = launcher.error()};
    words = std::move(*launcher);
  }
  Plan reported = plan;
  reported.launcher = ::getpid();
  reported.launcher_host = device::host_name();
  words.insert(words.end(),
               {program, "collective", info_of(plan.kind).id, "--as-rank", dump_json(to_json(reported), -1)});
  if (options.launcher == "none") words.push_back("--alone");
  Listener out([&](const Message& message) { ear.hear(message); });
  Listener err([&](const Message& message) { ear.hear(message); });
  const auto ended = run_process(words, {.deadline_s = options.deadline_s,
                                         .directory = {},
                                         .environment = options.environment,
                                         .own_group = true,
                                         .interrupted = options.interrupted,
                                         .should_stop = [&] { return ear.should_stop(); },
                                         .on_out = [&](std::string_view piece) { out.hear(piece); },
                                         .on_err = [&](std::string_view piece) { err.hear(piece); },
                                         .grace_s = 3});
  out.end();
  err.end();
  const bool silent = ear.silent();
  Outcome outcome = ear.take();
  outcome.interrupted = options.interrupted != nullptr && options.interrupted->load();
  if (outcome.interrupted || outcome.fault) return outcome;
  if (!outcome.stuck.empty()) {
    const int processes = options.launcher == "none" ? 1 : options.ranks;
    outcome.fault = stuck_error(outcome.stuck, processes, plan.timeout_s);
  } else if (!ended.ok() && silent) {
    outcome.fault = environment_error(fmt::format("rank 0 does not answer any more since {:g} s", plan.timeout_s + 5),
                                      "it is stopped, or its host is gone; all ranks were ended");
  } else if (!ended.ok()) {
    outcome.fault = ended.error();
  } else if (ended->exit_code != 0 || !outcome.sweep.complete) {
    outcome.fault = ended_badly(*ended, err.others() + out.others());
  }
  return outcome;
}

Error stuck_error(const std::vector<Stuck>& stuck, int processes, double timeout_s) {
  std::set<int> waiting;
  for (const auto& item : stuck) waiting.insert(item.rank);
  std::vector<std::string> silent;
  for (int rank = 0; rank < processes; ++rank) {
    if (!waiting.contains(rank)) silent.push_back(std::to_string(rank));
  }
  const std::string doing = stuck.empty() ? "" : stuck.front().doing;
  if (!silent.empty() && !stuck.empty()) {
    return environment_error(fmt::format("rank {} does not answer: rank {} on {} waits for it since {:g} s in {}",
                                         join(silent, ", "), stuck.front().rank, stuck.front().host, timeout_s, doing),
                             "look at that process and its host; all ranks were ended");
  }
  return environment_error(fmt::format("no rank got on for {:g} s: {}", timeout_s, doing),
                           "every rank waits for another: a link or a firewall between hosts, or a fault of the "
                           "library; NCCL_DEBUG=INFO shows more. -T allows more time");
}

std::string death_in(const std::string& text) {
  for (const auto& line : split(text, '\n')) {
    for (const char* mark : {"mpirun noticed that process rank", "prterun noticed that process rank"}) {
      const auto at = line.find(mark);
      if (at == std::string::npos) continue;
      const auto next = text.find(line) + line.size() + 1;
      const auto end = text.find('\n', next);
      const std::string rest(next < text.size() ? trim(text.substr(next, end - next)) : "");
      return std::string(trim(line.substr(at + std::string_view("mpirun noticed that ").size()))) +
             (line.back() == '.' || rest.starts_with("-") ? "" : " " + rest);
    }
    if (line.find("srun: error:") != std::string::npos && line.find("task") != std::string::npos) return line;
  }
  return {};
}

}  // namespace warpmark::collectives
