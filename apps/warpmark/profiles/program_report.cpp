#include "warpmark/profiles/program_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/collectors/tools.h"
#include "report/formats/render.h"
#include "warpmark/profiles/gpu_recorder.h"
#include "warpmark/scaling/scale_runs.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

/// With the last of "1,2,4" in the command; `scale` names what is no number.
std::vector<std::string> on_most_gpus(std::vector<std::string> command, const std::string& gpus) {
  const auto most = parse_integer(gpus.substr(gpus.rfind(',') + 1));
  if (!most.ok()) return command;
  for (auto& word : command) word = fill_workers(std::move(word), static_cast<int>(*most));
  return command;
}

/// What a verb shows, or why it shows nothing.
std::vector<Report> shown_by(Context& context, const ReportPart& part, std::string& why) {
  std::vector<Report> shown;
  Context inner{.out = context.out,
                .err = context.err,
                .err_is_terminal = context.err_is_terminal,
                .unicode = context.unicode,
                .width = context.width,
                .environment = context.environment,
                .interrupted = context.interrupted,
                .words = part.words,
                .collect = [&shown](const report::Shown& one) { shown.push_back(one.report); }};
  context.err << "warpmark " << command_line(part.words) << '\n';
  const int code = run_command_line(inner);
  why = inner.why.empty() ? meaning_of_exit(code) : inner.why;
  return shown;
}

}  // namespace

std::vector<ReportPart> parts_of_program_report(const std::vector<std::string>& command, const std::string& folder,
                                                const std::string& budget, const std::string& gpus, bool gpu_recorder,
                                                bool ncu) {
  const auto with_command = [&](std::vector<std::string> words, const std::vector<std::string>& last) {
    words.emplace_back("--");
    words.insert(words.end(), last.begin(), last.end());
    return words;
  };
  const auto whole = gpus.empty() ? command : on_most_gpus(command, gpus);
  const std::string recording = folder + "/program.wmrec";
  std::vector<std::string> record{"profile", "--stop", "--out", recording};
  if (gpu_recorder) record.emplace_back("--memory");
  if (gpu_recorder && ncu) record.insert(record.end(), {"--ncu", "5"});
  std::vector<ReportPart> parts{
      {"", with_command(record, whole)},  // shows nothing of its own
      {"Bottlenecks", {"analyze", recording, "--json", folder + "/analysis.json"}},
      {"Proven speedup",
       with_command({"optimize", "--budget", budget, "--json", folder + "/optimization.json"}, whole)}};
  if (!gpus.empty()) {
    parts.push_back({"Scaling", with_command({"scale", "--gpus", gpus, "--json", folder + "/scaling.json"}, command)});
  }
  return parts;
}

Result<Report> report_of_program(Context& context, const ParsedOptions& options,
                                 const std::vector<std::string>& command) {
  const std::string folder = options.get("--out", "warpmark-report");
  WM_TRY(make_named_folder(folder));
  const char* path = context.environment("PATH");
  const bool ncu = profile::find_tool("ncu", path != nullptr ? path : "").ok();
  std::string unrecorded;  // why there is no recording
  std::error_code none;
  std::filesystem::remove(folder + "/program.wmrec", none);  // of an earlier report
  Report all{"Report of " + command_line(command), "files: " + folder, {}};
  for (const auto& part : parts_of_program_report(command, folder, options.get("--budget", "5m"), options.get("--gpus"),
                                                  has_gpu_recorder(context.environment("WARPMARK_CUPTI")), ncu)) {
    if (context.interrupted.load()) break;
    std::string why;
    const bool without_recording = part.words.front() == "analyze" && !unrecorded.empty();
    const auto shown = without_recording ? std::vector<Report>() : shown_by(context, part, why);
    if (without_recording) why = "nothing was recorded (" + unrecorded + ")";
    if (part.heading.empty()) {
      if (!std::filesystem::exists(folder + "/program.wmrec", none)) unrecorded = why;
      continue;
    }
    std::vector<Block> first;
    if (shown.empty()) first.emplace_back(Paragraph{"No result: " + why + ".", Tone::warning});
    for (const Report& one : shown) {
      if (!one.subtitle.empty()) first.emplace_back(Paragraph{one.subtitle, Tone::quiet});
    }
    const std::size_t place = all.sections.size();
    for (const Report& one : shown) all.sections.insert(all.sections.end(), one.sections.begin(), one.sections.end());
    if (first.empty() && place < all.sections.size()) {
      all.sections[place].heading = part.heading;
    } else {
      const auto at = all.sections.begin() + static_cast<std::ptrdiff_t>(place);
      all.sections.insert(at, {part.heading, std::move(first), false, false});
    }
  }
  return all;
}

}  // namespace warpmark::apps
