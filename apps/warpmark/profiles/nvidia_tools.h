// `warpmark profile` with Nsight Compute, which runs the command again, and with Nsight Systems instead of our
// recorder.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/profile/profile_session.h"
#include "profile/collectors/record_program.h"
#include "warpmark/command.h"

namespace warpmark::apps {

inline constexpr std::int64_t kMostRecordedSteps = 1'000'000'000;

[[nodiscard]] bool asks_for_ncu(const ParsedOptions& options);

/// Before the program runs for nothing.
[[nodiscard]] Status check_ncu_options(const ParsedOptions& options);

/// Measures kernels in a second run and adds what was found to the recording.
[[nodiscard]] Status add_kernel_metrics(Context& context, const ParsedOptions& options, const std::string& ncu,
                                        const profile::RecordOptions& record, const ProfileSession& session);

[[nodiscard]] Result<int> record_with_nsys(Context& context, const ParsedOptions& options,
                                           const profile::RecordOptions& record);

}  // namespace warpmark::apps
