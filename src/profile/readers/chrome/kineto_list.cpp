// Cutting needs no understanding of the text: a block ends before the last '{' that looks like the begin of an event.
// Should it have been something else (a list of objects within an event's args), the parser sees its block end within
// an event; then the block's rest is read again together with the next block. So a wrong cut costs time and nothing
// else.
#include "profile/readers/chrome/kineto_merge.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "profile/readers/chrome/kineto_parse.h"
#include "profile/readers/text/padded_text.h"

namespace warpmark::profile {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kMostBlockBytes = 64 << 20;   // if no place to cut is found
constexpr std::size_t kMostPendingBytes = 8 << 20;  // of one event; what is longer is taken for broken
constexpr std::size_t kMostRestBytes = 256 << 20;   // of what follows the list

struct Block {
  PaddedText text;
  EventBatch batch;
  BlockStop stop;
  std::size_t parser = 0;
  bool parsed = false;
};

/// Fills blocks from the source. One thread.
class Cutter {
 public:
  Cutter(ByteSource& source, std::string first, std::size_t block_bytes)
      : source_(source), carry_(std::move(first)), block_bytes_(block_bytes) {}

  /// False at the end of the text.
  Result<bool> fill(Block& block) {
    block.text.resize(0);
    block.text.append(carry_);
    carry_.clear();
    while (!over_) {
      const std::size_t have = block.text.size();
      const std::size_t wanted = std::max(block_bytes_, 2 * have);  // doubled: the search begins anew every time
      block.text.resize(wanted);
      WM_ASSIGN(const std::size_t got, source_.read({block.text.begin() + have, wanted - have}));
      block.text.resize(have + got);
      if (have + got < wanted) {
        over_ = true;
        break;
      }
      const char* cut = last_event(block.text.begin(), block.text.end());
      if (cut == nullptr && block.text.size() < kMostBlockBytes) continue;
      if (cut == nullptr) break;
      carry_.assign(cut, static_cast<std::size_t>(block.text.end() - cut));
      block.text.resize(static_cast<std::size_t>(cut - block.text.begin()));
      break;
    }
    return block.text.size() > 0;
  }
  /// After fill(): nothing follows.
  [[nodiscard]] bool over() const { return over_; }

 private:
  ByteSource& source_;
  std::string carry_;
  const std::size_t block_bytes_;
  bool over_ = false;
};

/// The threads and what they share. Blocks are handed out in order; take() gives them back parsed, in order.
class Pipeline {
 public:
  /// `first` is a block that the cutter has filled.
  Pipeline(Cutter& cutter, std::unique_ptr<Block> first, std::size_t parsers, const XlaRows* xla)
      : cutter_(cutter), xla_(xla) {
    unparsed_.push_back(first.get());
    in_order_.push_back(std::move(first));
    for (std::size_t i = 0; i < parsers * 2; ++i) free_.push_back(std::make_unique<Block>());
    threads_.emplace_back([this] { cut(); });
    for (std::size_t i = 0; i < parsers; ++i) threads_.emplace_back([this, i] { parse(i); });
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// nullptr after the last block.
  std::unique_ptr<Block> take() {
    std::unique_lock lock(mutex_);
    await(lock, [&] { return in_order_.empty() ? cut_all_ : in_order_.front()->parsed; });
    if (in_order_.empty()) return nullptr;
    auto block = std::move(in_order_.front());
    in_order_.pop_front();
    return block;
  }

  void give_back(std::unique_ptr<Block> block) {
    block->batch = EventBatch();
    block->parsed = false;
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(block));
    }
    changed_.notify_all();
  }

  /// After take() gave nullptr: why the text could not be read to its end.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void cut() {
    for (;;) {
      std::unique_ptr<Block> block;
      {
        std::unique_lock lock(mutex_);
        await(lock, [&] { return stopping_ || !free_.empty(); });
        if (stopping_) return;
        block = std::move(free_.back());
        free_.pop_back();
      }
      const Result<bool> filled = cutter_.fill(*block);
      {
        const std::lock_guard lock(mutex_);
        if (filled.ok() && *filled) {
          unparsed_.push_back(block.get());
          in_order_.push_back(std::move(block));
        } else {
          cut_all_ = true;
          if (!filled.ok()) error_ = filled.error();
        }
      }
      changed_.notify_all();
      if (!filled.ok() || !*filled) return;
    }
  }

  void parse(std::size_t number) {
    KinetoParser parser(scan_functions(), xla_);
    for (;;) {
      Block* block = nullptr;
      {
        std::unique_lock lock(mutex_);
        await(lock, [&] { return stopping_ || !unparsed_.empty() || cut_all_; });
        if (stopping_ || unparsed_.empty()) break;
        block = unparsed_.front();
        unparsed_.pop_front();
      }
      block->parser = number;
      block->stop = parser.parse(block->text.begin(), block->text.end(), Ending::more_follows, block->batch);
      {
        const std::lock_guard lock(mutex_);
        block->parsed = true;
      }
      changed_.notify_all();
    }
    std::unique_lock lock(mutex_);  // the batches point into the parser's texts
    await(lock, [&] { return stopping_; });
  }

  /// Until `ready`. With time limits, as the wait without one is a symbol that the libstdc++ of GCC 11 lacks.
  template <typename Ready>
  void await(std::unique_lock<std::mutex>& lock, Ready ready) {
    while (!changed_.wait_for(lock, std::chrono::seconds(10), ready)) {
    }
  }

  Cutter& cutter_;  ///< of the cutting thread
  const XlaRows* const xla_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Block>> free_;
  std::deque<Block*> unparsed_;
  std::deque<std::unique_ptr<Block>> in_order_;
  std::optional<Error> error_;
  bool cut_all_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Takes the blocks in order and reads again what a wrong cut or a broken event has left.
class Joiner {
 public:
  Joiner(KinetoMerge& merge, std::size_t own_number, const XlaRows* xla)
      : merge_(merge), own_number_(own_number), parser_(scan_functions(), xla) {}

  void add(const Block& block) {
    text_.bytes += static_cast<std::int64_t>(block.text.size());
    if (ended_) {
      merge_.skip(block.parser, block.batch);
      if (text_.rest.size() < kMostRestBytes) text_.rest += block.text.view();
    } else if (pending_.size() > 0) {
      merge_.skip(block.parser, block.batch);
      pending_.append(block.text.view());
      if (pending_.size() > kMostPendingBytes) {
        read_pending(Ending::too_long);
      } else if (pending_.size() >= 2 * read_in_vain_) {  // not after every block, which would take square time
        read_pending(Ending::more_follows);
      }
    } else {
      merge_.add(block.parser, block.batch);
      const auto at = static_cast<std::size_t>(block.stop.at - block.text.view().data());
      after(block.stop.why, block.text.view().substr(at));
    }
  }

  /// Of a text in one piece.
  void add_all(PaddedText text) {
    text_.bytes += static_cast<std::int64_t>(text.size());
    pending_ = std::move(text);
  }

  EventListText finish() {
    if (!ended_ && pending_.size() > 0) read_pending(Ending::final);
    return std::move(text_);
  }

 private:
  void read_pending(Ending ending) {
    EventBatch batch;
    PaddedText text = std::move(pending_);
    pending_.clear();
    const BlockStop stop = parser_.parse(text.begin(), text.end(), ending, batch);
    merge_.add(own_number_, batch);
    after(stop.why, text.view().substr(static_cast<std::size_t>(stop.at - text.begin())));
  }

  void after(BlockStop::Why why, std::string_view left) {
    if (why == BlockStop::Why::incomplete) {
      pending_.append(left);
      read_in_vain_ = left.size();
    } else if (why == BlockStop::Why::end_of_list) {
      ended_ = true;
      text_.rest = std::string(left);
    }
  }

  KinetoMerge& merge_;
  const std::size_t own_number_;
  KinetoParser parser_;
  PaddedText pending_;
  std::size_t read_in_vain_ = 0;  ///< so much of the beginning of pending_
  EventListText text_;
  bool ended_ = false;
};

std::size_t parse_threads(int threads) {
  const auto useful = std::clamp<unsigned>(std::thread::hardware_concurrency(), 1, 8);
  return threads > 0 ? static_cast<std::size_t>(std::min(threads, 64)) : useful;
}

}  // namespace

std::size_t parsers_needed(const ReadOptions& options) { return parse_threads(options.threads) + 1; }

Result<EventListText> read_event_list(ByteSource& source, std::string first, const ReadOptions& options,
                                      KinetoMerge& merge, const XlaRows* xla) {
  const std::size_t parsers = parse_threads(options.threads);
  Joiner joiner(merge, parsers, xla);
  Cutter cutter(source, std::move(first), options.block_bytes > 0 ? options.block_bytes : kBlockBytes);
  auto block = std::make_unique<Block>();
  WM_ASSIGN(const bool any, cutter.fill(*block));
  if (any && cutter.over()) joiner.add_all(std::move(block->text));
  if (!any || cutter.over()) return joiner.finish();
  Pipeline pipeline(cutter, std::move(block), parsers, xla);
  while (auto parsed = pipeline.take()) {
    joiner.add(*parsed);
    pipeline.give_back(std::move(parsed));
  }
  if (pipeline.error()) return *pipeline.error();
  return joiner.finish();
}

}  // namespace warpmark::profile
