#include "report/formats/catalog.h"

#include <array>

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

}  // namespace warpmark::report
