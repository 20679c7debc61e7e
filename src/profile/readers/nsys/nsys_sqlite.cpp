// The SQLite file that `nsys export --type sqlite` makes of an Nsight Systems report.
// Schema: the documentation of Nsight Systems, "SQLite Schema Reference"; probed against a 2024.6 export. One process
// with CUDA work becomes one timeline, so that a report of a whole node becomes its ranks.
#include "profile/readers/nsys/nsys_events.h"
#include "profile/readers/rocprof/rocprof_sqlite.h"
#include "profile/timeline_builder.h"
#include "profile/trace_reader.h"

namespace warpmark::profile {
namespace {

Sniff sniff(std::string_view head) {
  if (!head.starts_with("SQLite format 3")) return {};
  // The first page holds the begin of the schema; which tables fit is a matter of luck, but these are made early.
  for (const char* word : {"CUPTI_ACTIVITY_KIND", "StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE",
                           "EXPORT_META_DATA", "ENUM_NSYS_EVENT_TYPE", "TARGET_INFO_", "NVTX_EVENTS", "OSRT_API"}) {
    if (head.find(word) != std::string_view::npos) return {95, ""};
  }
  return {20, ""};
}

Status read(ByteSource& source, const ReadOptions&, ProfileSession& session) {
  WM_ASSIGN(const NsysTables tables, NsysTables::open(source));
  const bool is_nsys = tables.has("StringIds") || tables.has("CUPTI_ACTIVITY_KIND_KERNEL") || tables.has("NVTX_EVENTS");
  if (!is_nsys && tables.has("raw_events") && tables.has("launch_shapes")) {
    return data_error(
        "these are the tables that warpmark convert --to sqlite writes: for sqlite3, not to be read again",
        "give the profile that they were made of");
  }
  if (!is_nsys && is_rocprof_database(tables)) return read_rocprof_tables(tables, session);
  if (!is_nsys) {
    return data_error("this SQLite database is no export of Nsight Systems: the table StringIds is missing",
                      "make it with: nsys export --type sqlite --force-overwrite true FILE.nsys-rep");
  }
  NsysEvents events(tables);
  WM_TRY(events.read());
  events.finish(session);
  if (!source.damage().empty()) count_issue(session.quality, source.damage_id(), source.damage());
  return {};
}

}  // namespace

extern const TraceReader kNsysSqliteReader = {"nsys_sqlite", "Nsight Systems, nsys export --type sqlite", sniff, read};

}  // namespace warpmark::profile
