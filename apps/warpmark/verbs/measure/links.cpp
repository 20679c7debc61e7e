// The links between GPUs, and between GPUs and the host.
#include <fmt/format.h>

#include <ostream>

#include "base/json.h"
#include "base/units.h"
#include "collectives/links.h"
#include "warpmark/command.h"
#include "warpmark/sessions/session_output.h"
#include "warpmark/sessions/store_runs.h"
#include "warpmark/terminal/option_values.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
namespace {

constexpr OptionSpec kLinksOptions[] = {
    {"--bytes", "SIZE", "of one copy (default 256MiB)"},
    {"-n", "N", "copies of each kind (default 20)"},
    {"--json", "[FILE]", "write the results as JSON (warpmark.links/1)"},
    kHtmlOption,
    {"--out", "DIR", "write links.json, report.md and report.html"},
    {"--format", "FORMAT", "format of what is printed: text (default), md, html, json", false, "text md html json"},
    {"--no-store", "", "do not store the runs in the history"},
    {"--db", "FILE|URL", "database (default: WARPMARK_DB or your own file)"},
};

Result<int> run_links(Context& context, const ParsedOptions& options) {
  if (!options.positionals().empty()) return usage_error("links takes no argument", "see --help");
  collectives::LinkOptions link_options;
  if (options.has("--bytes")) {
    WM_ASSIGN(link_options.bytes, parse_bytes(options.get("--bytes")));
    if (link_options.bytes < 1 || link_options.bytes > (std::int64_t{16} << 30)) {
      return usage_error("--bytes is not between 1 B and 16 GiB");
    }
  }
  WM_ASSIGN(const auto repetitions, count_of(options, "-n", 20, 6, 10'000));
  link_options.repetitions = static_cast<int>(repetitions);
  WM_ASSIGN(const auto format, format_of(options));
  WM_TRY(check_outputs(options));
  WM_ASSIGN(const auto links, collectives::measure_gpu_links(link_options));
  const auto known = collectives::link_facts();
  const collectives::LinkFacts facts = known.ok() ? collectives::facts_of(links, *known) : collectives::LinkFacts{};
  const auto slow = collectives::slow_links(links, facts);
  const auto shown = shown_as(
      [&] {
        return collectives::to_json(collectives::LinksResult{links, facts, slow});
      },
      collectives::build_report(links, facts, slow));
  WM_TRY(show(context, shown, format));
  WM_TRY(write_report(options, "links", shown));
  WM_TRY(store_runs(context, options, collectives::runs_of(links, link_options.bytes), true,
                    fmt::format("{} copies of each kind", link_options.repetitions), format));
  if (slow.empty()) return kSuccess;
  return exit_because(context, kGateFailed, slow.front().where + ": " + slow.front().reason);
}

}  // namespace

extern const Command links_command{
    .id = "links",
    .summary = "measure the links between GPUs and to the host, and find slow ones",
    .details =
        "Copies between every pair of GPUs (write, read, both directions) and between each GPU and pinned host "
        "memory. Shows bandwidth with the confidence interval of its median, and latency. Each link is compared with "
        "what NVLink or PCIe of its generation and width can carry, and with the other links of its kind. Slow pairs "
        "are named and marked in the heat maps, next to the topology that NVML reports: NVLinks, current and maximum "
        "PCIe speed, NUMA nodes. Every cell is stored, so compare, check and trend detect a link that becomes slow.\n"
        "\n"
        "Exit code 0: no slow link; 1: a slow link; 5: no GPU.",
    .options = kLinksOptions,
    .examples =
        "warpmark links\n"
        "warpmark links --bytes 1GiB --out links/",
    .run = run_links,
};

}  // namespace warpmark::apps
