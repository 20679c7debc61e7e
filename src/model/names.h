// The texts of the model's enumerations, as JSON and people see them.
#pragma once

#include <optional>
#include <string_view>

#include "model/cost.h"
#include "model/health.h"
#include "model/metric.h"
#include "model/run.h"

namespace warpmark {

[[nodiscard]] const char* name_of(Better better);
[[nodiscard]] const char* name_of(Outcome outcome);
[[nodiscard]] const char* name_of(ErrorKind kind);
[[nodiscard]] const char* name_of(Mode mode);
[[nodiscard]] const char* name_of(Bound bound);
[[nodiscard]] const char* name_of(HealthState state);

/// nullopt if the text names no such value.
[[nodiscard]] std::optional<Better> better_from(std::string_view text);
[[nodiscard]] std::optional<Outcome> outcome_from(std::string_view text);
[[nodiscard]] std::optional<ErrorKind> error_kind_from(std::string_view text);
[[nodiscard]] std::optional<Mode> mode_from(std::string_view text);
[[nodiscard]] std::optional<Bound> bound_from(std::string_view text);

}  // namespace warpmark
