// Files of tests/data/exchange, and texts, as sessions.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "exchange/import.h"

namespace warpmark::exchange {

inline const std::string kData = std::string(WARPMARK_SOURCE_DIR) + "/tests/data/exchange/";

inline std::string bytes_of(const std::string& name) {
  std::ifstream file(kData + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Result<std::vector<Session>> read_text(const std::string& text, const ImportOptions& options = {},
                                              const std::string& folder = {}) {
  auto document = open_document("input", text);
  if (!document.ok()) return document.error();
  document->folder = folder;
  return import_results(*document, options);
}

/// The one session of a file that must be readable.
inline Session read_one(const std::string& text, const ImportOptions& options = {}, const std::string& folder = {}) {
  const auto sessions = read_text(text, options, folder);
  EXPECT_TRUE(sessions.ok()) << (sessions.ok() ? "" : sessions.error().what);
  if (!sessions.ok() || sessions->size() != 1) {
    ADD_FAILURE() << "not one session";
    return {};
  }
  return sessions->front();
}

inline Session read_data(const std::string& name, const ImportOptions& options = {}) {
  return read_one(bytes_of(name), options, kData);
}

inline const Metric& metric_of(const Run& run, std::string_view id) {
  for (const Metric& metric : run.metrics) {
    if (metric.id == id) return metric;
  }
  ADD_FAILURE() << run.workload << " has no " << id;
  static const Metric none;
  return none;
}

inline std::string note_of(const Run& run, std::string_view name) {
  for (const auto& [key, text] : run.notes) {
    if (key == name) return text;
  }
  return "(none)";
}

inline Exported written(const std::string& format, const Session& session) {
  const auto exported = find_in(formats(), format)->write(session);
  EXPECT_TRUE(exported.ok()) << format << ": " << (exported.ok() ? "" : exported.error().what);
  return exported.ok() ? *exported : Exported{};
}

}  // namespace warpmark::exchange
