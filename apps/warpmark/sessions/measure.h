// Measuring what another verb needs, with everything that `warpmark run` does: plan, progress, store, ceilings.
#pragma once

#include <memory>

#include "model/run.h"
#include "store/store.h"
#include "warpmark/command.h"
#include "warpmark/sessions/run_request.h"

namespace warpmark::apps {

/// The session, incomplete after Ctrl-C. `store` may be nullptr: nothing is kept then. Usage error where the request
/// names nothing that can be measured.
[[nodiscard]] Result<Session> measure_request(Context& context, RunRequest request,
                                              std::unique_ptr<store::Store> store);

}  // namespace warpmark::apps
