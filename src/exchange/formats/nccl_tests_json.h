// JSON that nccl-tests 2.17 and newer write by -J.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "profile/readers/logs/nccl_log.h"

namespace warpmark::exchange {

[[nodiscard]] bool is_nccl_tests_json(const Json& json);
/// As the log of the same run would be read. Data error that names what is missing.
[[nodiscard]] Result<profile::NcclLog> nccl_log_from_json(const Json& json);

}  // namespace warpmark::exchange
