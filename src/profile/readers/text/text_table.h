// Texts of one parsing thread, each kept once, as raw as they stand in the file. Unescaping waits until the threads'
// results are joined, and so is done once for each different text.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace warpmark::profile {

/// Ids are dense and count from 0. What at() and drain() give points to memory that stays until clear(). Not thread
/// safe.
class TextTable {
 public:
  TextTable();
  [[nodiscard]] std::uint32_t intern(std::string_view text);
  /// Texts added since the last call, in the order of their ids.
  void drain(std::vector<std::string_view>& into);
  /// Memory held, bytes.
  [[nodiscard]] std::size_t memory() const { return memory_; }
  /// Forgets all texts and gives the memory that held them to the caller, who keeps it while views are in use.
  [[nodiscard]] std::vector<std::shared_ptr<char[]>> clear();

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = 0;  ///< plus one; 0 is free
  };
  std::string_view keep(std::string_view text);
  void grow();

  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::vector<std::shared_ptr<char[]>> chunks_;
  std::size_t chunk_left_ = 0;
  char* chunk_at_ = nullptr;
  std::size_t drained_ = 0;
  std::size_t memory_ = 0;
};

}  // namespace warpmark::profile
