// What a recording holds, for people.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "model/profile/timeline.h"
#include "profile/collectors/record_program.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct Recorded {
  bool gpu_work = false;
  std::string problem;     ///< that the recorder met; empty if none
  std::string problem_id;  ///< id of its issue (profile/recording/format.h)
};

/// Whether an issue of a timeline is this problem of the recorder (profile/recording/format.h).
[[nodiscard]] bool is_problem(std::string_view issue_id, const char* problem);

/// Prints one line per process.
[[nodiscard]] Recorded summarize(Context& context, const profile::RecordOutcome& outcome,
                                 const ProfileSession& session);

/// Of a program that failed before anything was recorded; nothing where it did not fail.
[[nodiscard]] std::optional<Error> failed_program(const profile::RecordOutcome& outcome);

/// Why a recording holds nothing of the GPU, and what to do.
[[nodiscard]] Error nothing_recorded(const profile::RecordOutcome& outcome, const Recorded& recorded,
                                     bool whole_graphs);

/// The text of a fact of the recording, or empty.
[[nodiscard]] inline std::string fact(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return {};
}

[[nodiscard]] inline std::int64_t gpu_works(const Timeline& timeline) {
  return std::count_if(timeline.events.kind.begin(), timeline.events.kind.end(), is_gpu_work);
}

}  // namespace warpmark::apps
