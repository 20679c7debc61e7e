#include "warpmark/sessions/running_mark.h"

#include <ostream>

#include "store/location.h"
#include "warpmark/sessions/store_access.h"

namespace warpmark::apps {
namespace {

Result<store::RunningMark> make_mark(Context& context, const ParsedOptions& options, const Session& session) {
  WM_ASSIGN(const auto location, store_location(context, options));
  WM_ASSIGN(const auto folder, store::folder_beside(location, context.environment));
  return store::RunningMark::make(folder, {.session = session.id,
                                           .started = session.started,
                                           .hostname = session.machine.hostname,
                                           .phase = "begins",
                                           .updated_at = {}});
}

}  // namespace

std::optional<store::RunningMark> running_mark(Context& context, const ParsedOptions& options, const Session& session) {
  auto mark = make_mark(context, options, session);
  if (mark.ok()) return std::move(*mark);
  context.err << "warpmark: this session does not appear as running: " << mark.error().what << '\n';
  return std::nullopt;
}

}  // namespace warpmark::apps
