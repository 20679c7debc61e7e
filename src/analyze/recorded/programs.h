// Which of the profiles that were given are of one run of one program: only those meet in collectives, and can be set
// against one another.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/profile_session.h"

namespace warpmark::analyze {

/// Of each rank of the session the number of its program, from 0 in the order of the ranks. Ranks of one program were
/// recorded at the same time, are as many as each of them says, and no two are the same one. A rank without work of the
/// GPU meets nobody: it is of the first program.
[[nodiscard]] std::vector<std::size_t> programs_of(const ProfileSession& session, const std::vector<WorkList>& lists);

[[nodiscard]] std::size_t program_count(const std::vector<std::size_t>& programs);

/// Ranks that the program had, those that were not read included; 0 if unknown.
[[nodiscard]] int world_size(const ProfileSession& session);

}  // namespace warpmark::analyze
