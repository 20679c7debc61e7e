// Who keeps others from writing a database, from /proc/locks (proc(5)). Only read: opening the files to ask with fcntl
// would drop this process's own locks on them when closed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark::store {

/// Ids of processes with a write lock on one of the inodes, by the text of /proc/locks. Pure.
[[nodiscard]] std::vector<int> lock_holders_in(std::string_view proc_locks, const std::vector<std::string>& inodes);

/// "process 1234 (python3)", or "another process" where the system does not tell. Never this process.
[[nodiscard]] std::string describe_lock_holders(const std::filesystem::path& database);

}  // namespace warpmark::store
