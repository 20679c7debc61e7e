#include "analyze/recorded/recorded_shapes.h"

namespace warpmark::analyze {

const Shapes& RecordedShapes::of(EventIndex op) const {
  static const Shapes kNone;
  if (op == kNoEvent || timeline_.events.kind[op] != EventKind::op) return kNone;
  const NameId id = timeline_.events.detail[op];
  if (id == 0 || id >= parsed_.size()) return kNone;
  if (parsed_[id].empty()) parsed_[id] = parse_shapes(timeline_.names.at(id));
  return parsed_[id];
}

}  // namespace warpmark::analyze
