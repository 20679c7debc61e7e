#include "watch/dashboard/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::watch {
namespace {

constexpr std::size_t kMostKeys = 32;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// application/x-www-form-urlencoded, as URLSearchParams writes it.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i] == '+' ? ' ' : text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    out += c;
  }
  return out;
}

}  // namespace

Result<Query> Query::parse(std::string_view text, std::initializer_list<const char*> known) {
  Query query;
  for (const auto& part : split(text, '&')) {
    if (part.empty()) continue;
    const auto equals = std::min(part.find('='), part.size());
    const auto key = decoded(std::string_view(part).substr(0, equals));
    const auto value = decoded(std::string_view(part).substr(std::min(equals + 1, part.size())));
    if (!key || !value) return usage_error("the query cannot be read", "text is percent-encoded UTF-8");
    if (std::none_of(known.begin(), known.end(), [&](const char* name) { return *key == name; })) {
      const std::vector<std::string> names(known.begin(), known.end());
      return usage_error("this does not take '" + *key + "'",
                         names.empty() ? "it takes no query" : "it takes " + join(names, ", "));
    }
    if (!query.values_.emplace(*key, *value).second) return usage_error("'" + *key + "' is given twice");
    if (query.values_.size() > kMostKeys) return usage_error("the query is too long");
  }
  return query;
}

std::string Query::get(const std::string& key, const std::string& fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? fallback : found->second;
}

Result<std::int64_t> Query::count(const std::string& key, std::int64_t fallback, std::int64_t least,
                                  std::int64_t most) const {
  if (!has(key)) return fallback;
  const auto number = parse_integer(get(key));
  if (!number.ok() || *number < least || *number > most) {
    return usage_error(fmt::format("{} cannot be '{}'", key, get(key)),
                       fmt::format("give a whole number from {} to {}", least, most));
  }
  return *number;
}

}  // namespace warpmark::watch
