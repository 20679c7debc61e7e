// Forms of values that many tables have.
#pragma once

#include "model/fields/fields.h"

namespace warpmark {

extern const Form kAnyJson;       ///< of a Json, as it is
extern const Form kNumberOrNull;  ///< of a real number, null for NaN

}  // namespace warpmark
