// Recording without CUPTI: PyTorch's own profiler, which the Python hook starts within the program. It needs no GPU.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "profile/collectors/record_program.h"
#include "warpmark/command.h"

namespace warpmark::apps {

class TorchRecorder {
 public:
  TorchRecorder() = default;
  ~TorchRecorder();
  TorchRecorder(const TorchRecorder&) = delete;
  TorchRecorder& operator=(const TorchRecorder&) = delete;

  /// Has the command load the hook, which records `steps` or `duration_s` after `warmup_steps`.
  [[nodiscard]] Status prepare(Context& context, profile::RecordOptions& record);
  /// Why there is no trace, after the program has ended.
  [[nodiscard]] Error nothing_recorded(const profile::RecordOutcome& outcome) const;

 private:
  std::filesystem::path folder_;  ///< of the hook, its plan and its reports; beside the recording
};

}  // namespace warpmark::apps
