// Everything that was measured, as the model writes it.
#include "base/json.h"
#include "model/json/json.h"
#include "report/formats/reporter.h"
#include "report/results/speedups.h"
#include "report/results/stages.h"

namespace warpmark::report {

extern const SessionWriter kJsonWriter{"json", "warpmark.results/1, everything that was measured", "json",
                                       [](const Session& session) {
                                         Json json = to_json(session);
                                         if (const auto speedups = speedups_of(session); !speedups.empty()) {
                                           json["speedups"] = to_json(speedups);
                                         }
                                         if (const auto stages = stages_of(session); !stages.empty()) {
                                           json["stages"] = to_json(stages);
                                         }
                                         if (const auto sizes = size_fits_of(session); !sizes.empty()) {
                                           json["sizes"] = to_json(sizes);
                                         }
                                         return dump_json(json) + "\n";
                                       }};

}  // namespace warpmark::report
