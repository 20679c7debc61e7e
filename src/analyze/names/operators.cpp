#include "analyze/names/operators.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

bool reads_value(std::string_view op) { return op == "aten::item"; }

bool accumulates_gradients(std::string_view range) { return holds_any(range, {"AccumulateGrad"}); }

}  // namespace warpmark::analyze
