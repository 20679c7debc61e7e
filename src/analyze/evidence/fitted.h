// What of a loss is counted: the values and what they rest on stand in fitted.cpp.
#pragma once

namespace warpmark::analyze {

extern const double kSurelyReached;  ///< of what fusing could save at best

extern const double kTf32Forgiven;  ///< of products in TF32

extern const double kHostLeftOfUpdates;  ///< of the host's time for updates one by one, together
extern const double kHostLeftOfForeach;  ///< for updates by lists

}  // namespace warpmark::analyze
