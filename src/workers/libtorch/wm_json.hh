// Just enough JSON for the worker's protocol, as nobody's node need have a library for it.
#pragma once

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Value {
  enum class Kind { nothing, truth, number, text, list, object } kind = Kind::nothing;
  double number = 0;
  std::string text;
  std::vector<Value> list;
  std::map<std::string, Value> object;

  const Value& at(const std::string& name) const {
    const auto found = object.find(name);
    if (found == object.end()) throw std::runtime_error("the question has no '" + name + "'");
    return found->second;
  }
  double number_or(const std::string& name, double otherwise) const {
    const auto found = object.find(name);
    return found == object.end() ? otherwise : found->second.number;
  }
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : text_(text) {}
  Value read() {
    Value value = any();
    skip();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error("the question is no JSON"); }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(const char* expected) {
    const std::string wanted = expected;
    if (text_.compare(at_, wanted.size(), wanted) != 0) return false;
    at_ += wanted.size();
    return true;
  }
  Value any() {
    skip();
    Value value;
    if (at_ >= text_.size()) fail();
    if (take('{')) {
      value.kind = Value::Kind::object;
      if (take('}')) return value;
      do {
        skip();
        const std::string name = string();
        if (!take(':')) fail();
        value.object[name] = any();
      } while (take(','));
      if (!take('}')) fail();
    } else if (take('[')) {
      value.kind = Value::Kind::list;
      if (take(']')) return value;
      do value.list.push_back(any());
      while (take(','));
      if (!take(']')) fail();
    } else if (text_[at_] == '"') {
      value.kind = Value::Kind::text;
      value.text = string();
    } else if (word("true") || word("false")) {
      value.kind = Value::Kind::truth;
      value.number = text_[at_ - 2] == 'u' ? 1 : 0;
    } else if (!word("null")) {
      char* end = nullptr;
      value.kind = Value::Kind::number;
      value.number = std::strtod(text_.c_str() + at_, &end);
      if (end == text_.c_str() + at_) fail();
      at_ = static_cast<std::size_t>(end - text_.c_str());
    }
    return value;
  }
  /// Names and paths: escapes but for \u of ASCII are kept as they are written.
  std::string string() {
    if (!take('"')) fail();
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_++];
    }
    if (!take('"')) fail();
    return out;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

inline std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + '"';
}

inline std::string number_text(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}
