// The sizes of operators' inputs, where they were recorded: their texts repeat, and each is parsed once.
#pragma once

#include <vector>

#include "analyze/names/operator_shapes.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

class RecordedShapes {
 public:
  explicit RecordedShapes(const Timeline& timeline) : timeline_(timeline), parsed_(timeline.names.size()) {}

  /// Of the inputs of an operator; empty for other events, for kNoEvent, and where none were recorded.
  [[nodiscard]] const Shapes& of(EventIndex op) const;

 private:
  const Timeline& timeline_;
  mutable std::vector<Shapes> parsed_;  // by NameId, when first asked for
};

}  // namespace warpmark::analyze
