// Growing text with the padding behind it that json_scan.h needs.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "profile/readers/text/json_scan.h"

namespace warpmark::profile {

class PaddedText {
 public:
  PaddedText() { resize(0); }
  PaddedText(PaddedText&& other) noexcept
      : text_(std::move(other.text_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PaddedText& operator=(PaddedText&& other) noexcept {
    text_ = std::move(other.text_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  /// New characters have no value yet.
  void resize(std::size_t size) {
    if (size + kScanPadding > capacity_) {
      const std::size_t capacity = std::max(size + kScanPadding, capacity_ + capacity_ / 2);
      std::unique_ptr<char[]> larger(new char[capacity]);
      if (size_ > 0) std::memcpy(larger.get(), text_.get(), size_);
      text_ = std::move(larger);
      capacity_ = capacity;
    }
    size_ = size;
    std::memset(text_.get() + size_, kScanSentinel, kScanPadding);
  }
  void append(std::string_view more) {
    const std::size_t old = size_;
    resize(size_ + more.size());
    if (!more.empty()) std::memcpy(text_.get() + old, more.data(), more.size());
  }
  void clear() { *this = PaddedText(); }

  [[nodiscard]] char* begin() { return text_.get(); }
  [[nodiscard]] char* end() { return text_.get() + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view view() const { return {text_.get(), size_}; }

 private:
  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace warpmark::profile
