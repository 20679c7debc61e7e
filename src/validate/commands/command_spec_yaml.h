// The project file's content as a part of another YAML file.
#pragma once

#include "base/yaml.h"
#include "validate/commands/command_spec.h"

namespace warpmark::validate {

/// As parse_command_spec, of a node of a file that is being read.
[[nodiscard]] Result<CommandSpec> read_command_spec(std::string_view file_name, const YAML::Node& node);

}  // namespace warpmark::validate
