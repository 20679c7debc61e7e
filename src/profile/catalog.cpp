#include "profile/catalog.h"

#include <array>

#include "profile/readers/dcgm_dmon.h"
#include "profile/readers/kineto.h"
#include "profile/readers/nccl_tests.h"
#include "profile/readers/ncu_csv.h"
#include "profile/readers/nsys_sqlite.h"
#include "profile/readers/nvidia_smi_dmon.h"

namespace warpmark::profile {
namespace {

constexpr std::array kReaders{
    &kKinetoReader, &kNsysSqliteReader, &kNcuCsvReader, &kNvidiaSmiDmonReader, &kDcgmDmonReader, &kNcclTestsReader,
};

}  // namespace

Catalog<TraceReader> readers() { return kReaders; }

}  // namespace warpmark::profile
