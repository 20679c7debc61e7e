// The project file's content as a part of another YAML file.
#pragma once

#include "base/yaml.h"
#include "validate/commands/command_spec.h"

namespace warpmark::validate {

/// As parse_command_spec, of a node of a file that is being read; or a command alone.
[[nodiscard]] Result<CommandSpec> read_command_spec(const YamlReader& reader, const YamlNode& node);

}  // namespace warpmark::validate
