#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "report/build/acceptance.h"
#include "report/build/across.h"
#include "session/new_session.h"
#include "validate/accept/acceptance.h"
#include "warpmark/command.h"
#include "warpmark/sessions/accept_machine.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_access.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kAcceptOptions[] = {
    {"--measure", "", "measure what the criteria need first"},
    {"--results", "RUN", "judge these results: a .json file, a session's id or last (default); several of one machine",
     true},
    {"--device", "DEVICE", "with --measure: cpu, cuda, cuda:N or all (default)"},
    {"--budget", "TIME", "with --measure: time for measuring (default: the file's)"},
    {"--rounds", "N", "with --measure: rounds over all cases (default: the file's)"},
    {"--across", "", "set the results of many nodes (.json files or sessions) against each other; names the slow ones"},
    {"--effect", "RATIO", "with --across: smallest slow-down that matters", to<&validate::AcrossOptions::effect>},
    {"--alpha", "P", "with --across: chance of calling any of equal nodes slow", to<&validate::AcrossOptions::alpha>},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--json", "[FILE]", "write the verdicts as JSON (warpmark.acceptance/1, warpmark.across/1)"},
    kHtmlOption,
    {"--out", "DIR", "write the report as .md and .html and the data as .json into a folder"},
    {"--db", "FILE|URL", "database of sessions (default: WARPMARK_DB or ~/.local/share/warpmark/warpmark.db)"},
    {"--no-store", "", "store neither the results of --measure nor the verdict"},
};

/// `name` is that of the files of --out, without extension.
Status show_acceptance(Context& context, const ParsedOptions& options, const std::string& name,
                       const report::Shown& shown) {
  WM_TRY(show(context, shown, options.get("--format", "text")));
  WM_TRY(write_named_files(options, shown));
  if (!options.has("--out")) return {};
  const std::filesystem::path folder = options.get("--out");
  WM_TRY(make_named_folder(folder));
  for (const char* extension : {"json", "md", "html"}) {
    WM_TRY(write_as(folder / (name + "." + extension), shown, extension));
  }
  return {};
}

int accept_exit_code(RowState state) {
  switch (state) {
    case RowState::pass: return kSuccess;
    case RowState::fail: return kGateFailed;
    case RowState::unreliable: return kEnvironment;
    case RowState::undecided:
    case RowState::not_measurable: return kInconclusive;
  }
  return kInconclusive;
}

int accept_exit_code(NodeState state) {
  switch (state) {
    case NodeState::normal: return kSuccess;
    case NodeState::slow:
    case NodeState::failed: return kGateFailed;
    case NodeState::undecided:
    case NodeState::missing: return kInconclusive;
    case NodeState::unreliable: return kEnvironment;
  }
  return kInconclusive;
}

struct JudgedNodes {
  Across across;
  std::vector<std::string> sessions;  ///< ids
};

Result<JudgedNodes> accept_across(Context& context, const ParsedOptions& options) {
  if (options.has("--measure") || options.has("--results"))
    return usage_error("--across judges the results that are given");
  WM_ASSIGN(const auto across, read_options<validate::AcrossOptions>(options));
  std::vector<validate::NodeResults> nodes;
  JudgedNodes judged;
  for (const auto& word : options.positionals()) {
    WM_ASSIGN(auto session, load_results(context, options, word));
    judged.sessions.push_back(session.id);
    nodes.push_back({word, std::move(session)});
  }
  if (nodes.empty())
    return usage_error("there are no results", "such as: warpmark accept --across node1.json node2.json");
  WM_ASSIGN(judged.across, validate::judge_across(nodes, across));
  judged.across.started = format_utc(wall_clock_s());
  judged.across.command = command_line_of(context);
  judged.across.build = session::build_info();
  return judged;
}

Result<int> run_accept(Context& context, const ParsedOptions& options) {
  const auto& words = options.positionals();
  WM_TRY(format_of(options));
  WM_TRY(check_outputs(options));
  if (options.has("--across")) {
    WM_ASSIGN(const auto judged, accept_across(context, options));
    const Across& across = judged.across;
    WM_TRY(show_acceptance(context, options, "across",
                           shown_as([&] { return to_json(across); }, report::build_report(across))));
    if (!options.has("--no-store")) {  // with the newest of their sessions: ids begin with their time
      remember_verdict(context, options, {.sessions = {std::ranges::max(judged.sessions)}, .commit = {}},
                       to_json(across), fmt::format("{} nodes: {}", judged.sessions.size(), name_of(overall(across))));
    }
    const auto state = overall(across);
    const auto unit = std::ranges::find_if(across.units, [&](const auto& each) { return each.state == state; });
    return exit_because(context, accept_exit_code(state),
                        unit == across.units.end() ? name_of(state) : unit->node + ": " + name_of(state));
  }
  if (words.size() != 1) {
    return usage_error(words.empty() ? "no criteria are named" : "one criteria file at a time",
                       "such as: warpmark accept cpu-smoke --measure; `warpmark list criteria` shows the bundled ones");
  }
  WM_ASSIGN(auto acceptance, accept_machine(context, options, words[0]));
  acceptance.command = command_line_of(context);
  WM_TRY(show_acceptance(context, options, "acceptance",
                         shown_as([&] { return to_json(acceptance); }, report::build_report(acceptance))));
  if (!options.has("--no-store")) {
    remember_verdict(context, options, {.sessions = split(acceptance.session, ' '), .commit = {}}, to_json(acceptance),
                     fmt::format("{}: {}", acceptance.name, name_of(overall(acceptance))));
  }
  if (context.interrupted) return kInterrupted;
  const auto state = overall(acceptance);
  const bool no_device = state == RowState::not_measurable && options.has("--measure") && acceptance.session.empty();
  const auto row = std::ranges::find_if(acceptance.rows, [&](const auto& each) { return each.state == state; });
  return exit_because(context, no_device ? kEnvironment : accept_exit_code(state),
                      row == acceptance.rows.end() ? name_of(state) : row->title + ": " + name_of(state));
}

}  // namespace

extern const Command accept_command{
    .id = "accept",
    .summary = "accept a machine or a release by a list of criteria",
    .details =
        "Checks results and facts of the machine (driver, ECC, links, memory, what doctor checks) against a YAML file "
        "of criteria: limits with units, or shares of the measured peak or of the vendor's datasheet "
        "(docs/acceptance.md). cpu-smoke, h100-sxm, a100-sxm and training-node are bundled.\n"
        "\n"
        "A measured value passes or fails only if its whole 95 % interval lies on one side of the limit; otherwise it "
        "is undecided. Disturbed results are unreliable and do not pass. The report contains the machine, the "
        "checksum of the criteria and fields for signatures.\n"
        "\n"
        "--across compares the results of many nodes (`warpmark run --json`) and names the nodes that are "
        "significantly slower than the others by --effect or more; no criteria are needed.\n"
        "\n"
        "Exit code 0: accepted; 1: a required criterion failed, or a node is slow; 3: a required criterion is "
        "undecided or not measurable; 5: unreliable, or --measure finds no such device.",
    .options = kAcceptOptions,
    .positional = {"CRITERIA|RUN", "a .yaml file or bundled criteria (`warpmark list criteria`); results of nodes",
                   true, "<files>"},
    .examples =
        "warpmark accept cpu-smoke --measure\n"
        "warpmark accept h100-sxm --measure --out acceptance/\n"
        "warpmark accept my-node.yaml --results results.json --format md\n"
        "warpmark accept --across node1.json node2.json node3.json node4.json",
    .run = run_accept,
};

}  // namespace warpmark::apps
