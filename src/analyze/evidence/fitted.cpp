// What of a loss is counted.
// Moved by a third, each tells by the scores whether it still matters: bench/score_analysis.py --refit. So they are
// data of the program, and no other file sees their values when it is compiled.
#include "analyze/evidence/fitted.h"

namespace warpmark::analyze {

// Of what fusing could save: passes over memory are part of every program, and how far a compiler gets is not known
// beforehand, where a wait or a copy was recorded as it is. The gain has an interval for that.
const double kSurelyReached = 0.5;

// Of the time of products in TF32: the step may be slower by as much for the casts.
const double kTf32Forgiven = 0.13;

// Of the host's time of an update of parameters one by one, and of one by lists.
const double kHostLeftOfUpdates = 0.1;
const double kHostLeftOfForeach = 0.5;

}  // namespace warpmark::analyze
