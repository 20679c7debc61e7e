#include "report/catalog.h"

#include <array>

#include "base/json.h"
#include "model/json.h"
#include "report/build.h"
#include "report/google_benchmark.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/text.h"

namespace warpmark::report {
namespace {

constexpr Reporter kText{
    "text", "tables for a terminal", "txt",
    [](const Session& session, const RenderOptions& options) { return render_text(build_report(session), options); }};

constexpr Reporter kMarkdown{"md", "GitHub-flavoured markdown", "md", [](const Session& session, const RenderOptions&) {
                               return render_markdown(build_report(session));
                             }};

constexpr Reporter kHtml{
    "html", "one self-contained HTML file with plots", "html",
    [](const Session& session, const RenderOptions&) { return render_html(build_report(session)); }};

constexpr Reporter kJson{
    "json", "warpmark.results/1, everything that was measured", "json",
    [](const Session& session, const RenderOptions&) { return dump_json(to_json(session)) + "\n"; }};

constexpr Reporter kGoogleBenchmark{
    "google-benchmark", "JSON as written by Google Benchmark", "json",
    [](const Session& session, const RenderOptions&) { return dump_json(google_benchmark_json(session)) + "\n"; }};

constexpr std::array<const Reporter*, 5> kReporters{&kText, &kMarkdown, &kHtml, &kJson, &kGoogleBenchmark};

}  // namespace

Catalog<Reporter> reporters() { return kReporters; }

}  // namespace warpmark::report
