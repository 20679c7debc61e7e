// The names of the model's enumerations, as JSON and people see them.
#pragma once

#include "model/cost.h"
#include "model/fields/names.h"
#include "model/health.h"
#include "model/metric.h"
#include "model/run.h"

namespace warpmark {

inline constexpr auto kBetterNames = in_order(Better::neither, "lower", "higher", "neither");
constexpr Names names_of(Better) { return kBetterNames; }

inline constexpr Name kOutcomeNames[] = {
    {Outcome::passed, "passed"},           {Outcome::failed, "failed"},   {Outcome::unreliable, "unreliable"},
    {Outcome::unreliable, "mistrusted"},  // in stores and files of before
    {Outcome::unsupported, "unsupported"}, {Outcome::skipped, "skipped"}, {Outcome::error, "error"}};
constexpr Names names_of(Outcome) { return kOutcomeNames; }

inline constexpr auto kErrorKindNames =
    in_order(ErrorKind::internal, "usage", "environment", "data", "unsupported", "internal");
constexpr Names names_of(ErrorKind) { return kErrorKindNames; }

inline constexpr auto kModeNames = in_order(Mode::graph, "cold", "hot", "graph");
constexpr Names names_of(Mode) { return kModeNames; }

inline constexpr auto kBoundNames = in_order(Bound::unknown, "memory", "compute", "latency", "link", "unknown");
constexpr Names names_of(Bound) { return kBoundNames; }

inline constexpr auto kHealthNames = in_order(HealthState::unknown, "good", "info", "warning", "bad", "unknown");
constexpr Names names_of(HealthState) { return kHealthNames; }

}  // namespace warpmark
