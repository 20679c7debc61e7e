// Everything that was measured, as the model writes it.
#include "base/json.h"
#include "model/json/json.h"
#include "report/formats/reporter.h"
#include "report/results/speedups.h"
#include "report/results/stages.h"

namespace warpmark::report {

extern const SessionWriter kJsonWriter{
    "json", "warpmark.results/1, everything that was measured", "json", [](const Session& session) {
      return dump_json(to_json(Results{session, speedups_of(session), stages_of(session), size_fits_of(session)})) +
             "\n";
    }};

}  // namespace warpmark::report
