#include "analyze/evidence/attributions.h"

#include <algorithm>

namespace warpmark::analyze {

Attributions::Attributions(const RankEvidence& rank) {
  for (std::size_t i = 0; i < kParts; ++i) whole_[i] = rank.part_ns(static_cast<Part>(i));
  left_ = whole_;
}

double Attributions::attribute(AttributedTo by, std::initializer_list<Part> parts, double ns) {
  double missing = ns;
  for (const Part part : parts) {
    const double given = std::clamp(missing, 0.0, left_[index(part)]);
    left_[index(part)] -= given;
    attributed_[index(by)][index(part)] += given;
    missing -= given;
  }
  return missing > kRoundingNs ? ns - missing : ns;
}

}  // namespace warpmark::analyze
