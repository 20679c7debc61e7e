// The query of a request: "limit=20&text=a%20b".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpmark::watch {

class Query {
 public:
  /// Usage error for a broken percent sign, control characters, more than 32 keys, a key given twice, or one that is
  /// not `known`.
  [[nodiscard]] static Result<Query> parse(std::string_view text, std::initializer_list<const char*> known);

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] std::string get(const std::string& key, const std::string& fallback = {}) const;
  /// Usage error for what is no whole number between the bounds.
  [[nodiscard]] Result<std::int64_t> count(const std::string& key, std::int64_t fallback, std::int64_t least,
                                           std::int64_t most) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace warpmark::watch
