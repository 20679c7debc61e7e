// What `warpmark run` was asked for, from its options: pure, so that resuming can ask again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/run.h"
#include "session/run_session.h"
#include "store/store.h"
#include "warpmark/command.h"
#include "workloads/suite.h"

namespace warpmark::apps {

struct RunRequest {
  std::string suite_name;  ///< empty if workloads were named
  std::vector<workloads::SuiteEntry> entries;
  std::vector<workloads::SuiteCommand> commands;  ///< of the suite, after its cases
  std::string device = "all";
  std::vector<std::string> plugins;
  session::SessionOptions session;
  bool ceilings = true;
};

extern const std::span<const OptionSpec> kRunOptions;
extern const PositionalSpec kRunPositional;

/// --set and --sweep. Usage error for texts that are not of their form.
[[nodiscard]] Result<workloads::SuiteEntry> overrides_of(const ParsedOptions& options);

/// Usage or data error for options, suites and units that make no sense.
[[nodiscard]] Result<RunRequest> run_request(const ParsedOptions& options);

// Measuring what another verb needs, with everything that `warpmark run` does: plan, progress, store, ceilings.

/// The session, incomplete after Ctrl-C. `store` may be nullptr: nothing is kept then. Usage error where the request
/// names nothing that can be measured.
[[nodiscard]] Result<Session> measure_request(Context& context, RunRequest request,
                                              std::unique_ptr<store::Store> store);

}  // namespace warpmark::apps
