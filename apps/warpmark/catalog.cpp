// The verbs, in the order of --help.
#include "warpmark/command.h"

namespace warpmark::apps {

// clang-format off
#define WARPMARK_VERBS(X) \
  X(run)                  \
  X(compare)              \
  X(check)                \
  X(matrix)               \
  X(trend)                \
  X(bisect)               \
  X(accept)               \
  X(allclose)             \
  X(analyze)              \
  X(profile)              \
  X(convert)              \
  X(monitor)              \
  X(list)                 \
  X(doctor)               \
  X(report)               \
  X(history)              \
  X(completion)           \
  X(help)
// clang-format on

#define WARPMARK_DECLARE(name) extern const Command name##_command;
WARPMARK_VERBS(WARPMARK_DECLARE)
#undef WARPMARK_DECLARE

Catalog<Command> commands() {
#define WARPMARK_ROW(name) &name##_command,
  static constexpr const Command* kCommands[] = {WARPMARK_VERBS(WARPMARK_ROW)};
#undef WARPMARK_ROW
  return kCommands;
}

}  // namespace warpmark::apps
