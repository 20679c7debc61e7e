// What `warpmark profile` and the verbs that record along need before a program runs.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "profile/collectors/record_program.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// The library that is injected, and CUPTI. Environment error where they are not.
Status find_recorder(Context& context, profile::RecordOptions& record);
/// CUPTI alone, for a program that runs: it has the library, or PyTorch's own profiler. Environment error where
/// WARPMARK_CUPTI names no file.
Status find_cupti(Context& context, profile::RecordOptions& record);

/// A folder beside the recording, which is removed with this.
class StacksFolder {
 public:
  StacksFolder() = default;
  ~StacksFolder();
  StacksFolder(const StacksFolder&) = delete;
  StacksFolder& operator=(const StacksFolder&) = delete;

  /// Has Python programs load the hook: with the sampler, which does nothing until the recorder tells it to, or only
  /// with what passes ranges on.
  Status prepare(Context& context, profile::RecordOptions& record, bool samples);

 private:
  std::filesystem::path path_;
};

}  // namespace warpmark::apps
