// The verbs, by what one wants of them, in the order of --help.
#include "warpmark/command.h"

namespace warpmark::apps {

// clang-format off
#define WARPMARK_VERBS(X)       \
  X("measure",       run)       \
  X("measure",       collective)\
  X("measure",       links)     \
  X("measure",       net)       \
  X("measure",       load)      \
  X("find out why",  profile)   \
  X("find out why",  analyze)   \
  X("find out why",  monitor)   \
  X("make faster",   optimize)  \
  X("make faster",   scale)     \
  X("make faster",   plan)      \
  X("prove",         compare)   \
  X("prove",         validate)  \
  X("prove",         matrix)    \
  X("prove",         eval)      \
  X("prove",         allclose)  \
  X("prove",         mllog)     \
  X("guard",         check)     \
  X("guard",         trend)     \
  X("guard",         bisect)    \
  X("guard",         accept)    \
  X("guard",         watch)     \
  X("guard",         exporter)  \
  X("guard",         dashboard) \
  X("share",         report)    \
  X("share",         history)   \
  X("share",         convert)   \
  X("share",         generate)  \
  X("share",         mcp)       \
  X("look up",       doctor)    \
  X("look up",       list)      \
  X("look up",       completion)\
  X("look up",       help)
// clang-format on

#define WARPMARK_DECLARE(group, name) extern const Command name##_command;
WARPMARK_VERBS(WARPMARK_DECLARE)
#undef WARPMARK_DECLARE

Catalog<Command> commands() {
#define WARPMARK_ROW(group, name) &name##_command,
  static constexpr const Command* kCommands[] = {WARPMARK_VERBS(WARPMARK_ROW)};
#undef WARPMARK_ROW
  return kCommands;
}

std::span<const char* const> verb_groups() {
#define WARPMARK_GROUP(group, name) group,
  static constexpr const char* kGroups[] = {WARPMARK_VERBS(WARPMARK_GROUP)};
#undef WARPMARK_GROUP
  return kGroups;
}

}  // namespace warpmark::apps
