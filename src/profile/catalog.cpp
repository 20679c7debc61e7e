#include "profile/catalog.h"

#include <array>

#include "profile/readers/chrome/kineto.h"
#include "profile/readers/chrome/xla_trace.h"
#include "profile/readers/logs/dcgm_dmon.h"
#include "profile/readers/logs/nccl_tests.h"
#include "profile/readers/logs/nvidia_smi_dmon.h"
#include "profile/readers/ncu/ncu_csv.h"
#include "profile/readers/nsys/nsys_sqlite.h"
#include "profile/recording/convert.h"
#include "profile/recording/reader.h"
#include "profile/writers/chrome.h"
#include "profile/writers/sqlite.h"

namespace warpmark::profile {
namespace {

constexpr std::array kReaders{
    &kKinetoReader,        &kXlaTraceReader, &kNsysSqliteReader, &kNcuCsvReader,
    &kNvidiaSmiDmonReader, &kDcgmDmonReader, &kNcclTestsReader,  &kRecordingReader,
};

constexpr std::array kWriters{&kChromeWriter, &kSqliteWriter, &kRecordingFormat};

}  // namespace

Catalog<TraceReader> readers() { return kReaders; }
Catalog<Writer> writers() { return kWriters; }

}  // namespace warpmark::profile
