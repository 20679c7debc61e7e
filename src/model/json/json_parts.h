// The tables of the model's results, for those that are parts of others, and for the schemas.
#pragma once

#include <string>
#include <utility>

#include "model/fields/fields.h"

namespace warpmark {

struct Acceptance;
struct Across;
struct Analysis;
struct Bisection;
struct Build;
struct Check;
struct Commit;
struct Comparison;
struct Disturbance;
struct Doctor;
struct Interval;
struct Machine;
struct MachineState;
struct MachineSummary;
struct Matrix;
struct MonthlySaving;
struct Optimization;
struct PricedOptimization;
struct PowerCaps;
struct ProfileDifference;
struct Ranged;
struct Results;
struct Run;
struct RunSpeedUp;
struct Scaling;
struct SizeFit;
struct StagedRun;
struct Trend;

using NamedText = std::pair<std::string, std::string>;

// Parts.
extern const RecordOf<NamedText> kNamedText;
extern const RecordOf<Machine> kMachine;
extern const RecordOf<Build> kBuild;
extern const RecordOf<Disturbance> kDisturbance;
extern const RecordOf<Interval> kCiInterval;  ///< ci_low, ci_high and ci_confidence, among the keys of what they bound
extern const RecordOf<Interval> kInterval;    ///< low, high and confidence
extern const RecordOf<Run> kRun;
extern const RecordOf<RunSpeedUp> kRunSpeedUp;
extern const RecordOf<StagedRun> kStagedRun;
extern const RecordOf<SizeFit> kSizeFit;
extern const RecordOf<Commit> kCommit;
extern const RecordOf<MonthlySaving> kMonthlySaving;
extern const RecordOf<Ranged> kRanged;

// Documents.
extern const RecordOf<Acceptance> kAcceptance;
extern const RecordOf<Across> kAcross;
extern const RecordOf<Analysis> kAnalysis;
extern const RecordOf<Bisection> kBisection;
extern const RecordOf<Check> kCheck;
extern const RecordOf<Comparison> kComparison;
extern const RecordOf<Doctor> kDoctor;
extern const RecordOf<MachineState> kMachineState;
extern const RecordOf<MachineSummary> kMachineSummary;
extern const RecordOf<Matrix> kMatrix;
extern const RecordOf<PricedOptimization> kOptimization;
extern const RecordOf<Optimization> kUnpricedOptimization;
extern const RecordOf<PowerCaps> kPowerCaps;
extern const RecordOf<ProfileDifference> kProfileDifference;
extern const RecordOf<Results> kResults;
extern const RecordOf<Scaling> kScaling;
extern const RecordOf<Trend> kTrend;

}  // namespace warpmark
