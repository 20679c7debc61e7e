#include "analyze/rules/rules.h"

namespace warpmark::analyze {

Catalog<Rule> rules() {
#define WM_LIST_RULE(rule) &rule,
  static constexpr const Rule* kAll[] = {WM_RULES(WM_LIST_RULE)};
#undef WM_LIST_RULE
  return kAll;
}

}  // namespace warpmark::analyze
