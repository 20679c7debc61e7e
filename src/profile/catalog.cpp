#include "profile/catalog.h"

// Every reader, in the order in which they are asked whether a file is theirs, and every writer. A new one is a line
// here.
#define WM_READERS(READER)       \
  READER(kKinetoReader)          \
  READER(kXlaTraceReader)        \
  READER(kNsysSqliteReader)      \
  READER(kNcuCsvReader)          \
  READER(kRocprofJsonReader)     \
  READER(kRocprofChromeReader)   \
  READER(kRocprofCsvReader)      \
  READER(kRocprofSqliteReader)   \
  READER(kNvidiaSmiDmonReader)   \
  READER(kNvidiaSmiQueryReader)  \
  READER(kNvidiaSmiReportReader) \
  READER(kDcgmDmonReader)        \
  READER(kNcclTestsReader)       \
  READER(kRecordingReader)
#define WM_WRITERS(WRITER) \
  WRITER(kChromeWriter)    \
  WRITER(kSqliteWriter)    \
  WRITER(kFoldedWriter)    \
  WRITER(kRecordingFormat)

namespace warpmark::profile {

#define WM_DECLARE_READER(reader) extern const TraceReader reader;
#define WM_DECLARE_WRITER(writer) extern const Writer writer;
WM_READERS(WM_DECLARE_READER)
WM_WRITERS(WM_DECLARE_WRITER)

#define WM_LIST(descriptor) &descriptor,

Catalog<TraceReader> readers() {
  static constexpr const TraceReader* kAll[] = {WM_READERS(WM_LIST)};
  return kAll;
}

Catalog<Writer> writers() {
  static constexpr const Writer* kAll[] = {WM_WRITERS(WM_LIST)};
  return kAll;
}

}  // namespace warpmark::profile
