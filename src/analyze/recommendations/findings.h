// How findings are put together: severity, facts, and the events that show them.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "analyze/evidence/severity.h"
#include "analyze/recommendations/rule.h"
#include "base/units.h"
#include "model/finding.h"

namespace warpmark::analyze {

/// A finding with severity and lost time filled in.
[[nodiscard]] Finding make_finding(const Rule& rule, double lost_ns, double step_ns, std::string title);
[[nodiscard]] inline std::string time_text(double ns) { return format_seconds(ns * 1e-9); }
[[nodiscard]] Fact time_fact(std::string id, const std::string& label, double ns);
[[nodiscard]] Fact share_fact(std::string id, const std::string& label, double ratio);
[[nodiscard]] Fact count_fact(std::string id, const std::string& label, double count);
/// "Moved per step: 1.2 GiB at 25.0 GB/s": bytes and time (ns) of copies in so many steps.
[[nodiscard]] Fact moved_fact(double bytes, double time_ns, double steps);
[[nodiscard]] EventReference reference(const RankEvidence& rank, EventIndex event);
/// The longest idle stretches of these parts as evidence: what the host did, else what the GPU did next.
void show_idle(const RankEvidence& rank, std::initializer_list<Part> parts, Finding& finding);
/// The longest works that `wanted` accepts.
void show_works(const RankEvidence& rank, const std::function<bool(std::size_t)>& wanted, Finding& finding);
/// What the host did in a part of the idle time, longest first.
struct Doing {
  std::string name;  ///< "tokenize (preprocess.py:10)", "aten::sort"; empty where nothing was recorded
  double ns = 0;     ///< a step
};
[[nodiscard]] std::vector<Doing> doings_in(const RankEvidence& rank, Part part);
/// What is known of the launching threads of the critical rank.
void show_main_thread(const Evidence& evidence, Finding& finding);
/// The share of the steps in which the GPU worked for others, if any.
void show_other_processes(const Evidence& evidence, Finding& finding);

}  // namespace warpmark::analyze
