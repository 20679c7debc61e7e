// SQLite databases of AMD's profilers: rocpd of rocprofv3 (tables rocpd_kernel_dispatch...), with or without a UUID
// behind each table's name; RPD of rocmProfileData (rocpd_op, rocpd_api); results.db of the first rocprof (OPS, HIP).
#pragma once

#include "profile/readers/nsys/nsys_tables.h"
#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kRocprofSqliteReader;

/// Whether the tables are of one of these tools.
[[nodiscard]] bool is_rocprof_database(const NsysTables& tables);
[[nodiscard]] Status read_rocprof_tables(const NsysTables& tables, ProfileSession& session);

}  // namespace warpmark::profile
