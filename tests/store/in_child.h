// Code in a child process, for what cannot be undone: dying, giving up rights, mounting.
#pragma once

#include <sys/types.h>

#include <functional>

#include <filesystem>

namespace warpmark::store {

/// What a child returns where the machine does not let it do its test.
inline constexpr int kSkipped = 77;

/// Starts `body` in a child, which ends with its return value as exit status.
[[nodiscard]] pid_t start_child(const std::function<int()>& body);

/// Exit status of a child, or 128 + the signal that ended it.
[[nodiscard]] int wait_for(pid_t child);

[[nodiscard]] int in_child(const std::function<int()>& body);

/// A file system of this size over `folder`, seen by this process alone and gone with it. False if not allowed.
[[nodiscard]] bool mount_small_disk(const std::filesystem::path& folder, int kibibytes);

}  // namespace warpmark::store
