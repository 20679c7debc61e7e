#include "profile/readers/text/json_scan.h"

namespace warpmark::profile {

const ScanFunctions& scan_functions() { return scalar_scan_functions(); }

}  // namespace warpmark::profile
