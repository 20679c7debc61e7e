// What people and servers give to `warpmark load`: scenarios, objectives, laws of arrival, URLs, headers, chunks of
// JSON, outcomes of clients, pages of metrics, and profiles of a cloud.
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/url.h"
#include "serving/answers/chunk.h"
#include "serving/files/outcome_file.h"
#include "serving/results/slo.h"
#include "serving/results/telemetry.h"
#include "serving/traffic/arrivals.h"
#include "serving/traffic/scenario.h"
#include "serving/traffic/signing.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)warpmark::serving::parse_scenario(text).ok();
  (void)warpmark::serving::parse_slo(text).ok();
  (void)warpmark::serving::parse_arrivals(text, 1).ok();
  (void)warpmark::http::parse_url(text).ok();
  (void)warpmark::http::parse_header(text).ok();
  (void)warpmark::http::parse_response_head(text).ok();
  (void)warpmark::http::parse_request_head(text).ok();
  warpmark::serving::OutcomeReader outcome([](std::string) {});
  (void)outcome.take(text.substr(0, size / 2)).ok();
  (void)outcome.take(text.substr(size / 2)).ok();
  (void)outcome.finish().ok();
  (void)warpmark::serving::telemetry_of_page(text).ok();
  (void)warpmark::serving::parse_oci_profile(text, "DEFAULT", size % 2 == 0).ok();
  warpmark::serving::ChunkFacts facts;
  (void)warpmark::serving::scan_chunk(text, facts);
  return 0;
}
