// In which order commits follow one another, for histories that were measured in another: newest first, or in parts.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/queries.h"

namespace warpmark::validate {

struct CommitOrder {
  /// How many commits of the list come before it: 0 is the newest, its parents come later. Empty: nothing is known.
  std::unordered_map<std::string, std::int64_t> age;
  bool complete = true;  ///< false where a shallow clone ends before the history does
  [[nodiscard]] bool contains(const std::string& commit) const { return age.contains(commit); }
};

/// Sorts points, newest first, by their commits, and those of one commit by time. Points whose commits are not in the
/// order keep their places.
void sort_by_commits(std::vector<store::RunPoint>& points, const CommitOrder& order);

}  // namespace warpmark::validate
