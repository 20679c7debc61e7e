#include "serving/answers/record.h"

#include "model/fields/names.h"

namespace warpmark::serving {

constexpr auto kFaultNames =
    in_order(Fault::censored, "none", "connect", "tls", "timeout", "stall", "reset", "truncated", "http", "redirect",
             "bad_http", "bad_stream", "stream_error", "empty", "finish_reason", "censored");
const char* name_of(Fault fault) { return name_in(kFaultNames, static_cast<std::int64_t>(fault)); }

}  // namespace warpmark::serving
