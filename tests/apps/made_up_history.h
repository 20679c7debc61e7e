// A history whose numbers a test made up, measured by real commands.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "store/sqlite/sqlite_store.h"

namespace warpmark::apps {

/// The numbers of a history are made up; the machine's clock and load are not, and a change of them since would rightly
/// make every verdict "unreliable". Readings that the history lacks are not judged. To be called before each verdict.
inline void forget_readings(const std::filesystem::path& database) {
  const auto kept_path = database.string() + ".kept";
  {
    const auto measured = store::open_sqlite(database).value();
    const auto kept = store::open_sqlite(kept_path).value();
    auto listed = *measured->sessions({.hostname = "", .fingerprint = "", .commit = "", .limit = 1000});
    for (auto summary = listed.rbegin(); summary != listed.rend(); ++summary) {
      const auto stored = measured->load(summary->id).value();
      ASSERT_TRUE(kept->begin(stored.session).ok());
      for (warpmark::Run run : stored.session.runs) {
        run.environment.readings.clear();
        ASSERT_TRUE(kept->append_run(stored.session.id, run).ok());
      }
      ASSERT_TRUE(kept->finish(stored.session.id, stored.session.ceilings).ok());
    }
  }
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(database.string() + part);
  std::filesystem::rename(kept_path, database);
}

}  // namespace warpmark::apps
