#include "warpmark/sessions/store_runs.h"

#include <fmt/format.h>

#include <ostream>

#include "session/new_session.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {

Status store_runs(Context& context, const ParsedOptions& options, std::vector<Run> runs, bool complete,
                  const std::string& stopped_because, const std::string& format) {
  if (options.has("--no-store") || runs.empty()) return {};
  WM_ASSIGN(const auto store, open_store(context, options));
  Session session = session::new_session(command_line_of(context));
  WM_TRY(store->begin(session));
  for (auto& run : runs) {
    run.id = fmt::format("{}.{}", session.id, run.index);
    run.started = session.started;
    run.repro = command_line_of(context);
    run.stopped_because = stopped_because;
  }
  WM_TRY(store->append_runs(session.id, runs));
  if (complete) WM_TRY(store->finish(session.id, {}));
  if (format == "text") context.err << stored_note(session.id);
  return {};
}

}  // namespace warpmark::apps
