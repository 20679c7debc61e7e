#include "report/formats/catalog.h"

#include <array>

#include "base/json.h"
#include "model/json/json.h"
#include "report/results/speedups.h"
#include "report/results/stages.h"

namespace warpmark::report {

extern const Reporter kTextReporter;
extern const Reporter kMarkdownReporter;
extern const Reporter kHtmlReporter;
extern const SessionWriter kJsonWriter;
extern const SessionWriter kGoogleBenchmarkWriter;

Catalog<Reporter> reporters() {
  static constexpr std::array kReporters{&kTextReporter, &kMarkdownReporter, &kHtmlReporter};
  return kReporters;
}

Catalog<SessionWriter> session_writers() {
  static constexpr std::array kWriters{&kJsonWriter, &kGoogleBenchmarkWriter};
  return kWriters;
}

extern const SessionWriter kJsonWriter{
    "json", "warpmark.results/1, everything that was measured", "json", [](const Session& session) {
      return dump_json(to_json(Results{session, speedups_of(session), stages_of(session), size_fits_of(session)})) +
             "\n";
    }};

}  // namespace warpmark::report
