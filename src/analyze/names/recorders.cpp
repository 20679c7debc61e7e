#include "analyze/names/recorders.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

bool is_of_kineto(std::string_view format) { return contains_any(format, {"kineto", "pytorch", "chrome"}); }

bool is_of_nsight(std::string_view format) { return contains_any(format, {"nsys", "nsight"}); }

}  // namespace warpmark::analyze
