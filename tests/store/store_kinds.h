// Every kind of Store, for tests of what holds for all of them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "postgres_server.h"
#include "sample_data.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/memory_store.h"

namespace warpmark::store {

struct StoreKind {
  const char* name;
  std::unique_ptr<Store> (*make)(const std::filesystem::path& path);
};

inline constexpr StoreKind kKinds[] = {
    {"memory", [](const std::filesystem::path&) { return make_memory_store(); }},
    {"sqlite", [](const std::filesystem::path& path) { return open_sqlite(path).value(); }},
    {"postgres",
     [](const std::filesystem::path&) {
       return postgres_server().folder.empty() ? nullptr : open_postgres(new_postgres_database()).value();
     }},
};

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (store_ == nullptr) GTEST_SKIP() << postgres_server().why;
  }

  /// A session that is begun, with its runs appended.
  void keep(const Session& session) {
    ASSERT_TRUE(store_->begin(session).ok());
    for (const auto& run : session.runs) ASSERT_TRUE(store_->append_run(session.id, run).ok());
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_ = GetParam().make(folder_.file());
};

}  // namespace warpmark::store
