// Which session is meant by what a person typed. Shared by all stores, so that they answer alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace warpmark::store {

/// Matches shown in an error, at most.
inline constexpr std::size_t kShownMatches = 10;

/// The word that means the newest session.
inline constexpr const char* kLast = "last";

/// `matches`: ids that begin with `typed`, newest first, at least kShownMatches + 1 of them if there are so many.
/// `newest`: the id of the newest session, empty if there is none.
[[nodiscard]] Result<std::string> choose_session(const std::string& typed, std::span<const std::string> matches,
                                                 const std::string& newest);

/// Usage error for a name that cannot be a tag: empty, "last", with other characters than letters, digits, '.', '_',
/// '-' and '/', above 64 of them.
[[nodiscard]] Status check_tag(const std::string& name);

[[nodiscard]] Error tag_is_taken(const std::string& name, const std::string& session);
[[nodiscard]] Error no_such_tag(const std::string& name);
[[nodiscard]] Error tag_keeps(const std::string& session);
[[nodiscard]] Error not_begun(const std::string& session);
[[nodiscard]] Error no_such_run(const std::string& session, std::int64_t index);
[[nodiscard]] Error no_such_document(const std::string& session, std::int64_t index);

}  // namespace warpmark::store
