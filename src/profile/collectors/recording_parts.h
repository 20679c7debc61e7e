// The folder in which the parts of a recording lie until it is complete: one of each process, and ours of the machine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "profile/collectors/record_program.h"
#include "profile/recording/writer.h"

namespace warpmark::profile {

class RecordingParts {
 public:
  /// Makes the folder; `command` is what is recorded. Environment error where it cannot be written.
  [[nodiscard]] static Result<RecordingParts> make(const std::filesystem::path& out, const std::string& command);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] recording::RecordingWriter& machine() { return *machine_; }
  /// Processes that began a part.
  [[nodiscard]] std::size_t begun() const;
  /// Every one of them has ended it: it leaves a mark beside it.
  [[nodiscard]] bool all_recorded() const;
  /// Removes the folder: nothing was recorded.
  void discard();
  /// Makes the recording of the parts, with the stacks, and removes the folder. `outcome` takes what it finds; no file
  /// is written where no process has a part.
  [[nodiscard]] Status complete(const RecordOptions& options, RecordOutcome& outcome);

 private:
  RecordingParts() = default;
  std::filesystem::path folder_;
  std::unique_ptr<recording::RecordingWriter> machine_;
};

}  // namespace warpmark::profile
