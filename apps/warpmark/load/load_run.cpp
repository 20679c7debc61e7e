// `warpmark load run`: what is seen of a load test while it runs and at its end.
#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "loadtest/clients.h"
#include "loadtest/options.h"
#include "loadtest/pages/load_page.h"
#include "loadtest/pages/load_text.h"
#include "loadtest/pages/load_verdict.h"
#include "loadtest/run_load.h"
#include "report/formats/render.h"
#include "warpmark/load/load.h"
#include "warpmark/load/load_live.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/terminal/interrupt.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {

Result<int> load_run(Context& context, const ParsedOptions& options) {
  WM_ASSIGN(const auto request, loadtest::request_of(options));
  std::optional<LoadDashboard> dashboard;
  const loadtest::Surroundings around{
      .environment = context.environment,
      .interrupted = context.interrupted,
      .words = context.words,
      .command = command_line_of(context),
      .note = [&](const std::string& text) { context.err << text << '\n'
                                                         << std::flush; },
      .live =
          [&](const loadtest::RunningLoad& load, const serving::LiveCounters& counters) {
            if (!dashboard) dashboard.emplace(context, load);
            dashboard->show(counters);
          },
      .live_ended =
          [&] {
            if (dashboard) dashboard->clear();
            dashboard.reset();
          },
      .measured =
          [&](const serving::ScenarioResult& result) {  // the page comes when all are measured
            if (context.quiet) return;
            context.err << fmt::format("{}, {}: {}; client {}\n", result.scenario, loadtest::level_text(result),
                                       loadtest::numbers_text(result), result.client.verdict())
                        << std::flush;
          },
      .needs_time = set_grace};
  if (loadtest::is_load_client(around)) {
    WM_TRY(loadtest::load_as_client(request, around));
    return kSuccess;
  }
  WM_ASSIGN(const auto test, loadtest::run_load(request, around));
  if (test.report.id.empty()) {
    context.err << "warpmark: interrupted before the load began\n";
    return kInterrupted;
  }
  if (test.ended.ok() || !test.report.scenarios.empty()) {
    context.out << report::render(loadtest::whole_page_of(test.report), "text", render_options(context)) << std::flush;
  }
  if (!test.ended.ok()) return test.ended.error();
  if (test.stored) context.err << stored_note(test.report.id);
  if (test.interrupted) context.err << "warpmark: interrupted; what was measured is kept\n";
  if (test.interrupted) return kInterrupted;
  const auto verdict = loadtest::verdict_of(test.report);
  return exit_because(context, verdict.code, verdict.reason);
}

}  // namespace warpmark::apps
