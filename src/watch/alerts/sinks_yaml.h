// The part of a file of rules that says who is told.
#pragma once

#include <string>

#include "base/result.h"
#include "base/yaml.h"
#include "watch/alerts/rules.h"

namespace warpmark::watch {

/// One entry of `sinks`. Secrets are named here and never written; an address that is itself one (Slack, Teams) has to
/// be named as well.
[[nodiscard]] Result<Sink> read_sink(const YamlReader& yaml, const YAML::Node& node);

/// A name of a rule or a sink: up to 100 letters, digits, '_', '-' and '.'.
[[nodiscard]] Result<std::string> name_in(const YamlReader& yaml, const YAML::Node& node, const std::string& what);

}  // namespace warpmark::watch
