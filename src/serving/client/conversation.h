// A conversation that is going on: what makes its history a true prefix of each next turn. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serving/client/load_plan.h"

namespace warpmark::serving {

struct Conversation {
  std::uint64_t serial = 0;       ///< at its beginning, the same in every turn
  std::vector<std::string> said;  ///< the answers so far, as they stand between the quotes of a JSON string
};

/// Stands in a prepared body where the answer to turn `turn` will be: as text between the quotes of a JSON string.
[[nodiscard]] std::string answer_mark(std::size_t turn);

/// The request with the answers in the place of their marks, and its new length.
[[nodiscard]] std::string with_answers(const PreparedRequest& request, const std::vector<std::string>& said);

}  // namespace warpmark::serving
