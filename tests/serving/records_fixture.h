// Records of requests for tests: into a spool and out again.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "serving/records/record_spool.h"

namespace warpmark::serving {

/// As a load that ended has them.
inline RequestRecords stored(const std::vector<RequestRecord>& records) {
  auto spool = RecordSpool::open({});
  EXPECT_TRUE(spool.ok()) << spool.error().what;
  RecordWriter writer(**spool);
  for (const auto& record : records) writer.add(record);
  writer.flush();
  auto finished = (*spool)->finish(1);
  EXPECT_TRUE(finished.ok()) << finished.error().what;
  return std::move(*finished);
}

inline std::vector<RequestRecord> all_of(const RequestRecords& records) {
  std::vector<RequestRecord> all;
  for (const auto& record : records) all.push_back(record);
  EXPECT_TRUE(records.status().ok());
  return all;
}

}  // namespace warpmark::serving
