// All that can be learned of a program in one report: recording, bottlenecks, proven speedups, scaling.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/report.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// One verb of the report, with its whole command line.
struct ReportPart {
  std::string heading;
  std::vector<std::string> words;
};

/// What is run for `command`, in this order. Files go into `folder`. `gpus` ("1,2,4") fills {gpus} in the command,
/// as `scale` does; without it nothing is reported of scaling.
[[nodiscard]] std::vector<ReportPart> parts_of_program_report(const std::vector<std::string>& command,
                                                              const std::string& folder, const std::string& budget,
                                                              const std::string& gpus, bool gpu_recorder, bool ncu);

/// Runs the parts and collects what each shows under its heading. One without a result is a paragraph with the reason.
[[nodiscard]] Result<Report> report_of_program(Context& context, const ParsedOptions& options,
                                               const std::vector<std::string>& command);

}  // namespace warpmark::apps
