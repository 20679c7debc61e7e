// The schemas of watch are those that their tables make.
#include <gtest/gtest.h>

#include "support/expect_schema.h"
#include "watch/alerts/replay.h"
#include "watch/alerts/state.h"
#include "watch/dashboard/answers.h"
#include "watch/dashboard/documents.h"
#include "watch/dashboard/live.h"

namespace warpmark::watch {
namespace {

TEST(WatchSchemas, are_those_of_the_tables) {
  testing_support::expect_schema(kMessage);
  testing_support::expect_schema(kKeptState);
  testing_support::expect_schema(kReplay);
  const std::initializer_list<const Record*> pages{&kSessionsPage, &kRunsPage,   &kDocumentsPage, &kCasesPage,
                                                   &kFilesPage,    &kSeriesPage, &kChangesPage,   &kPairPage,
                                                   &kReportPage,   &kLivePage};
  for (const Record* page : pages) testing_support::expect_schema(*page);
}

}  // namespace
}  // namespace warpmark::watch
