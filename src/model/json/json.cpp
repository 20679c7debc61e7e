// Session and Ceiling as JSON; the parts are in json_run.cpp and json_machine.cpp.
#include "model/json/json.h"

#include "base/json.h"
#include "model/json/json_parts.h"

namespace warpmark {
namespace {

constexpr Field kCeilingFields[] = {
    field<&Ceiling::id>("id", "bandwidth, flop_rate, link, launch").within(kAtLeastOne),
    field<&Ceiling::device>("device").within(kAtLeastOne),
    field<&Ceiling::scope>("scope", "Memory level, data type or link.").unless_empty(),
    field<&Ceiling::value>("value"),
    field<&Ceiling::unit>("unit").within(kAtLeastOne),
    field<&Ceiling::source>("source", "The workload and parameters that reached it.").unless_empty(),
    field<&Ceiling::unreliable>("unreliable", "The machine was disturbed, and nothing reached this limit undisturbed.")
        .unless_empty()
        .formerly("mistrusted"),
};
constexpr RecordOf<Ceiling> kCeiling{"ceiling", "A limit of the machine, measured in the same session.",
                                     kCeilingFields};

constexpr Field kSessionFields[] = {
    field<&Session::id>("id").within(kAtLeastOne),
    field<&Session::started>("started", "UTC, ISO 8601.").within(kAtLeastOne),
    field<&Session::command>("command").unless_empty(),
    field<&Session::commit>("commit", "Of the repository in the working directory.").unless_empty(),
    field<&Session::branch>("branch").unless_empty(),
    field<&Session::dirty>("dirty").added_later(),
    field<&Session::complete>("complete", "false when interrupted.").added_later(),
    field<&Session::machine>("machine", "", kMachine),
    field<&Session::build>("build", "", kBuild),
    field<&Session::ceilings>("ceilings", "", kCeiling).added_later(),
    field<&Session::runs>("runs", "", kRun).added_later(),
};
constexpr RecordOf<Session> kSession{"session", "", kSessionFields, kResultsSchema};

constexpr Field kResultsFields[] = {
    derived(nullptr, "", kSession, [](const Results& results) -> const Session& { return results.session; }),
    field<&Results::speedups>(
        "speedups", "Results against a baseline of the same session that differs in one parameter alone.", kRunSpeedUp)
        .unless_empty(),
    field<&Results::stages>("stages", "Of commands in stages: what each takes.", kStagedRun).unless_empty(),
    field<&Results::sizes>("sizes", "Of a command at three sizes or more: the fixed cost, and that of an item.",
                           kSizeFit)
        .unless_empty(),
};

}  // namespace

constexpr RecordOf<Results> kResults{
    "results",
    "Everything one invocation of `warpmark run` measured. SI units; a key that is absent was not measured or does not "
    "apply. No NaN, no infinity.",
    kResultsFields, kResultsSchema};

Json to_json(const Ceiling& ceiling) { return write(kCeiling, ceiling); }
Json to_json(const Session& session) { return write(kSession, session); }
Json to_json(const Results& results) { return write(kResults, results); }
Result<Ceiling> ceiling_from_json(const Json& json) { return read(kCeiling, json); }
Result<Session> session_from_json(const Json& json) { return read(kSession, json); }

}  // namespace warpmark
