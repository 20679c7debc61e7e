// Events that are no JSON. PyTorch and Kineto have written unescaped quotes in names and paths (pytorch#146900,
// kineto#1459), invalid escapes (kineto#336), control characters and bytes of other encodings (pytorch#136180), and
// files that end anywhere (pytorch#33961). The order and layout of fields is regular enough to tell where a string must
// end.
#include <array>

#include "profile/readers/chrome/kineto_fields.h"
#include "profile/readers/text/key_table.h"

namespace warpmark::profile {
namespace {

constexpr KeyTable kFirstKeys{std::array{
    KeyEntry<bool>{"ph", true}, KeyEntry<bool>{"name", true}, KeyEntry<bool>{"cat", true}, KeyEntry<bool>{"ts", true},
    KeyEntry<bool>{"pid", true}, KeyEntry<bool>{"tid", true}, KeyEntry<bool>{"args", true}, KeyEntry<bool>{"id", true},
    KeyEntry<bool>{"dur", true}, KeyEntry<bool>{"s", true}, KeyEntry<bool>{"bp", true}}};
constexpr std::size_t kLongestKey = 64;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

const char* over_space(const char* p, const char* end) {
  while (p < end && is_space(*p)) ++p;
  return p;
}

char before(const char* p, const char* begin, const char*& place) {
  while (p > begin && is_space(p[-1])) --p;
  place = p > begin ? p - 1 : begin;
  return p > begin ? p[-1] : '\0';
}

/// True if `p` is at `"key":`. The key's text goes to `key`.
bool at_key(const char* p, const char* end, std::string_view& key) {
  if (p >= end || *p != '"') return false;
  const char* begin = ++p;
  while (p < end && *p != '"' && *p != '\n' && p - begin <= static_cast<std::ptrdiff_t>(kLongestKey)) ++p;
  if (p >= end || *p != '"') return false;
  key = {begin, static_cast<std::size_t>(p - begin)};
  p = over_space(p + 1, end);
  return p < end && *p == ':';
}

/// Whether the '{' at `p` begins an event: its first key is one of an event's, and it is no value of a key and no first
/// element of a list within one.
bool begins_event(const char* p, const char* begin, const char* end) {
  std::string_view key;
  if (!at_key(over_space(p + 1, end), end, key) || !kFirstKeys.find(key)) return false;
  const char* place = nullptr;
  const char previous = before(p, begin, place);
  return previous != ':' && previous != '[';
}

/// Whether the quote at `p` can be the end of a value: what follows continues the object or closes it.
bool ends_value(const char* p, const char* end) {
  const char* after = over_space(p + 1, end);
  if (after >= end || *after == '}' || *after == ']') return true;
  std::string_view key;
  if (*after == ',') return at_key(over_space(after + 1, end), end, key);
  return after > p + 1 && at_key(after, end, key) && kFirstKeys.find(key);  // only the comma is missing
}

class Repair {
 public:
  Repair(std::string_view text, const ScanFunctions& scan)
      : p_(text.data()), end_(text.data() + text.size()), scan_(scan) {}

  EventFields fields() {
    while (p_ < end_) {
      std::string_view key;
      if (*p_ == '}') in_args_ = false;
      if (!at_key(p_, end_, key)) {
        ++p_;
        continue;
      }
      p_ = over_space(key.data() + key.size() + 1, end_);
      p_ = over_space(p_ + 1, end_);  // behind the ':'
      if (p_ >= end_) break;
      member(key);
    }
    return fields_;
  }

 private:
  void member(std::string_view key) {
    if (*p_ == '{' && key == "args" && !in_args_) {
      in_args_ = true;
      ++p_;
      return;
    }
    RawValue value;
    if (!read(value)) return;
    if (in_args_) {
      set_argument(fields_.args, key, value);
    } else {
      set_field(fields_, key, value);
    }
  }

  bool read(RawValue& value) {
    const char* begin = p_;
    if (*p_ == '"') {
      const char* q = p_ + 1;
      while (q < end_ && !no_string_ends_ && !(*q == '"' && ends_value(q, end_))) ++q;
      if (q >= end_) no_string_ends_ = true;    // nor will one from further on: look no more
      if (no_string_ends_) return ++p_, false;  // what follows may still hold fields
      value = {'"', {begin + 1, static_cast<std::size_t>(q - begin - 1)}};
      p_ = q + 1;
      return true;
    }
    if (*p_ == '[' || *p_ == '{') {
      const char* stop = nullptr;
      const char* behind = tries_left_ > 0 ? scan_.skip_nested(p_ + 1, end_, &stop) : nullptr;
      if (behind == nullptr || behind > end_) return --tries_left_, ++p_, false;
      value = {*begin, {begin, static_cast<std::size_t>(behind - begin)}};
      p_ = behind;
      return true;
    }
    while (p_ < end_ && *p_ != ',' && *p_ != '}' && *p_ != ']' && *p_ != '"' && !is_space(*p_)) ++p_;
    value = {0, {begin, static_cast<std::size_t>(p_ - begin)}};
    return p_ > begin;
  }

  const char* p_;
  const char* const end_;
  const ScanFunctions& scan_;
  EventFields fields_;
  bool in_args_ = false;
  bool no_string_ends_ = false;
  int tries_left_ = 16;  ///< for brackets that are not closed: each is a search to the end
};

}  // namespace

EventFields repair_fields(std::string_view text, const ScanFunctions& scan) { return Repair(text, scan).fields(); }

const char* next_event(const char* p, const char* end) {
  const char* begin = p;
  while (++p < end) {
    p = static_cast<const char*>(std::memchr(p, '{', static_cast<std::size_t>(end - p)));
    if (p == nullptr) return nullptr;
    if (begins_event(p, begin, end)) return p;
  }
  return nullptr;
}

const char* last_event(const char* begin, const char* end) {
  for (const char* p = end; p > begin;) {
    p = static_cast<const char*>(memrchr(begin, '{', static_cast<std::size_t>(p - begin)));
    if (p == nullptr || p == begin) return nullptr;
    const char* comma = nullptr;
    const char* brace = nullptr;
    std::string_view key;
    if (before(p, begin, comma) == ',' && before(comma, begin, brace) == '}' &&
        at_key(over_space(p + 1, end), end, key) && kFirstKeys.find(key)) {
      return p;
    }
  }
  return nullptr;
}

}  // namespace warpmark::profile
