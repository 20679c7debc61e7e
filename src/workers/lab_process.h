// One living process of a hooked program in which settings are switched between steps: it is asked to time blocks of
// steps under settings, to compare answers at the same state, and to record (docs/optimize.md, "The lab"). Commands
// and answers are files in a folder; each rank answers.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "workers/hooked_program.h"

namespace warpmark::workers {

/// Of one thread. The process ends with this object.
class LabProcess {
 public:
  /// Starts the command; `scratch` is made anew and removed at the end. The command's plan says how long the probe is;
  /// its lab folder, deadline and `interrupted` are set here.
  LabProcess(HookedCommand command, const std::filesystem::path& hook, std::filesystem::path scratch,
             const std::atomic<bool>* interrupted);
  ~LabProcess();
  LabProcess(LabProcess&&) = delete;
  LabProcess& operator=(LabProcess&&) = delete;

  /// Until every rank takes commands, the process ended, no process has loaded the hook after `unheard_s`, or
  /// `deadline_s` is over. Whether it takes commands.
  bool await_ready(double deadline_s, double unheard_s);
  [[nodiscard]] bool heard() const;  ///< a process has loaded the hook
  [[nodiscard]] bool ended() const;
  /// What the processes have reported so far, in the form of HookedRun::raw.
  [[nodiscard]] Result<std::string> reports() const;

  /// The ranks' answers as an array; where the process ends or is late instead, an object {"crashed": how, "variant":
  /// the one that was on, or -1}, and it takes no more commands. Environment error when interrupted.
  [[nodiscard]] Result<Json> ask(const Json& command, double deadline_s);

  /// How the process ended: ends it if it has not. Once.
  [[nodiscard]] Result<HookedRun> end();

 private:
  struct Process;
  [[nodiscard]] std::filesystem::path lab() const;
  [[nodiscard]] std::size_t count(const char* prefix) const;

  std::filesystem::path scratch_;
  const std::atomic<bool>* interrupted_;
  std::unique_ptr<Process> process_;
  int commands_ = 0;
  std::size_t ranks_ = 1;
};

}  // namespace warpmark::workers
