#include "serving/answers/record.h"

namespace warpmark::serving {

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::connect: return "connect";
    case Fault::tls: return "tls";
    case Fault::timeout: return "timeout";
    case Fault::stall: return "stall";
    case Fault::reset: return "reset";
    case Fault::truncated: return "truncated";
    case Fault::http_status: return "http";
    case Fault::redirect: return "redirect";
    case Fault::bad_http: return "bad_http";
    case Fault::bad_stream: return "bad_stream";
    case Fault::stream_error: return "stream_error";
    case Fault::empty: return "empty";
    case Fault::finish: return "finish_reason";
    case Fault::censored: return "censored";
  }
  return "unknown";
}

}  // namespace warpmark::serving
