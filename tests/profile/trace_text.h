// Traces as text, and reading them from memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "profile/read_session.h"
#include "profile/source.h"

namespace warpmark::profile::test {

/// As PyTorch 2.x writes around its events.
inline std::string trace_of(std::string_view events, std::string_view base = "1000000000000") {
  return "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"H100\", \"numSms\": 132}],\n"
         "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": " +
         std::string(base) + ",\n  \"traceEvents\": [\n  " + std::string(events) +
         "\n  ],\n  \"traceName\": \"test\"\n}\n";
}

/// An operator on thread 2 of process 1, with its own fields first.
inline std::string op(std::string_view name, std::string_view ts, std::string_view dur = "1.000") {
  return "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" + std::string(name) +
         "\", \"pid\": 1, \"tid\": 2,\n    \"ts\": " + std::string(ts) + ", \"dur\": " + std::string(dur) +
         ",\n    \"args\": {\n      \"External id\": 7\n    }\n  }";
}

inline Result<ProfileSession> read_text(std::string_view text, const ReadOptions& options = {}) {
  const auto source = memory_source(text, "test");
  return read_source(*source, options);
}

/// The one timeline of a text that must be readable.
inline Timeline timeline_of(std::string_view text, const ReadOptions& options = {}) {
  auto session = read_text(text, options);
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().what) << " in " << text.substr(0, 400);
  if (!session.ok() || session->ranks.size() != 1) return {};
  return std::move(session->ranks[0]);
}

inline std::int64_t issue_count(const Timeline& timeline, std::string_view id) {
  for (const auto& issue : timeline.quality) {
    if (issue.id == id) return issue.count;
  }
  return 0;
}

inline std::string fact(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return "";
}

/// Start on the file's own clock.
inline std::int64_t clock_start(const Timeline& timeline, std::size_t i) {
  return timeline.events.start[i] + timeline.origin_ns;
}

}  // namespace warpmark::profile::test
