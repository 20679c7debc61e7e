// A source as what a stream of the standard library reads from, and so nlohmann's parser.
#pragma once

#include <streambuf>
#include <vector>

#include "profile/source.h"

namespace warpmark::profile {

class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource& source) : source_(source), bytes_(1 << 16) {}
  /// Of the source: at an error the stream ends.
  [[nodiscard]] const Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    const auto read = source_.read(bytes_);
    if (!read.ok()) status_ = read.error();
    if (!read.ok() || read.value() == 0) return traits_type::eof();
    setg(bytes_.data(), bytes_.data(), bytes_.data() + read.value());
    return traits_type::to_int_type(*gptr());
  }

 private:
  ByteSource& source_;
  std::vector<char> bytes_;
  Status status_;
};

}  // namespace warpmark::profile
