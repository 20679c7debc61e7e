#include "model/names.h"

#include <array>
#include <utility>

namespace warpmark {
namespace {

template <typename Value, std::size_t N>
using Names = std::array<std::pair<Value, const char*>, N>;

constexpr Names<Better, 3> kBetter{
    {{Better::lower, "lower"}, {Better::higher, "higher"}, {Better::neither, "neither"}}};
constexpr Names<Outcome, 6> kOutcome{{{Outcome::passed, "passed"},
                                      {Outcome::failed, "failed"},
                                      {Outcome::unreliable, "unreliable"},
                                      {Outcome::unsupported, "unsupported"},
                                      {Outcome::skipped, "skipped"},
                                      {Outcome::error, "error"}}};
constexpr Names<ErrorKind, 5> kFault{{{ErrorKind::usage, "usage"},
                                      {ErrorKind::environment, "environment"},
                                      {ErrorKind::data, "data"},
                                      {ErrorKind::unsupported, "unsupported"},
                                      {ErrorKind::internal, "internal"}}};
constexpr Names<Mode, 3> kMode{{{Mode::cold, "cold"}, {Mode::hot, "hot"}, {Mode::graph, "graph"}}};
constexpr Names<Bound, 5> kBound{{{Bound::memory, "memory"},
                                  {Bound::compute, "compute"},
                                  {Bound::latency, "latency"},
                                  {Bound::link, "link"},
                                  {Bound::unknown, "unknown"}}};
constexpr Names<HealthState, 5> kHealth{{{HealthState::good, "good"},
                                         {HealthState::info, "info"},
                                         {HealthState::warning, "warning"},
                                         {HealthState::bad, "bad"},
                                         {HealthState::unknown, "unknown"}}};

template <typename Value, std::size_t N>
const char* find_name(const Names<Value, N>& names, Value value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <typename Value, std::size_t N>
std::optional<Value> find_value(const Names<Value, N>& names, std::string_view text) {
  for (const auto& [value, name] : names) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(Better better) { return find_name(kBetter, better); }
const char* name_of(Outcome outcome) { return find_name(kOutcome, outcome); }
const char* name_of(ErrorKind kind) { return find_name(kFault, kind); }
const char* name_of(Mode mode) { return find_name(kMode, mode); }
const char* name_of(Bound bound) { return find_name(kBound, bound); }
const char* name_of(HealthState state) { return find_name(kHealth, state); }

std::optional<Better> better_from(std::string_view text) { return find_value(kBetter, text); }
std::optional<Outcome> outcome_from(std::string_view text) {
  if (text == "mistrusted") return Outcome::unreliable;  // in stores and files of before
  return find_value(kOutcome, text);
}
std::optional<ErrorKind> error_kind_from(std::string_view text) { return find_value(kFault, text); }
std::optional<Mode> mode_from(std::string_view text) { return find_value(kMode, text); }
std::optional<Bound> bound_from(std::string_view text) { return find_value(kBound, text); }

}  // namespace warpmark
