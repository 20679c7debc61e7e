#include "evaluate/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "model/fields/forms.h"

namespace warpmark::evaluate {
namespace {

constexpr double kLongestWait_s = 30;
constexpr auto kPoll = std::chrono::milliseconds(100);
constexpr int kPatience = 8;  // items in turn that may fail after all their retries; more, and the model is gone

class Runner {
 public:
  Runner(const std::vector<Item>& items, Journal& journal, const MakeModel& make, const RunnerOptions& options)
      : items_(items), journal_(journal), make_(make), options_(options) {
    result_.failures.resize(items.size());
    result_.progress.of = items.size();
  }

  Result<RunnerResult> run(const std::function<void(const RunnerProgress&)>& progress) {
    std::vector<std::thread> threads;
    const auto wanted = static_cast<std::size_t>(std::max(1, options_.concurrency));
    running_ = std::min(wanted, std::max<std::size_t>(1, items_.size()));
    for (std::size_t i = running_.load(); i > 0; --i) {
      threads.emplace_back([this] {
        work();
        --running_;
      });
    }
    while (running_ > 0) {
      std::this_thread::sleep_for(kPoll);
      progress(seen());
    }
    for (auto& thread : threads) thread.join();
    if (fatal_) return *fatal_;
    result_.interrupted = is_interrupted();
    result_.gone = gone_;
    return result_;
  }

 private:
  [[nodiscard]] bool is_interrupted() const { return options_.interrupted != nullptr && options_.interrupted->load(); }
  [[nodiscard]] bool ends() const { return is_interrupted() || stop_.load(); }

  RunnerProgress seen() {
    const std::lock_guard lock(mutex_);
    return result_.progress;
  }

  void work() {
    auto model = make_();
    if (!model.ok()) {
      end_with(model.error());
      return;
    }
    for (std::size_t i = next_++; i < items_.size() && !ends(); i = next_++) answer(**model, i);
  }

  void end_with(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!fatal_) fatal_ = error;
    stop_ = true;
  }

  void answer(Model& model, std::size_t i) {
    const Item& item = items_[i];
    if (const Reply* known = journal_.find(item.hash); known != nullptr) {
      count(*known, true);
      return;
    }
    if (const std::string why = why_gone(); !why.empty()) return fail(i, "not asked: " + why);
    const auto request = with_pictures(item.request, item.pictures);
    if (!request.ok()) return fail(i, request.error().what);
    double wait_s = options_.first_wait_s;
    for (int attempt = 0; !ends(); ++attempt) {
      const AskResult asked = model.ask(item.api, *request, options_.deadline_s, options_.interrupted);
      if (asked.reply) {
        if (const Status kept = journal_.append(item.hash, *asked.reply); !kept.ok()) end_with(kept.error());
        count(*asked.reply, false);
        return;
      }
      if (ends()) return;
      if (asked.failure.is_ours) {
        end_with(environment_error(asked.failure.what, "check the address or the command"));
        return;
      }
      if (!asked.failure.may_pass || attempt >= options_.retries) {
        fail(i, asked.failure.what);
        if (asked.failure.may_pass) despair(asked.failure.what);
        return;
      }
      if (const std::string why = why_gone(); !why.empty()) return fail(i, asked.failure.what);
      pause(std::max(wait_s, std::min(asked.failure.wait_s, kLongestWait_s)));
      wait_s = std::min(2 * wait_s, kLongestWait_s);
    }
  }

  void pause(double seconds) const {
    const std::int64_t until = monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
    while (monotonic_ns() < until && !ends()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  void count(const Reply& reply, bool cached) {
    const std::lock_guard lock(mutex_);
    auto& progress = result_.progress;
    in_vain_ = cached ? in_vain_ : 0;
    ++progress.done;
    progress.cached += cached ? 1 : 0;
    progress.prompt_tokens += reply.prompt_tokens.value_or(0);
    progress.output_tokens += reply.output_tokens.value_or(0);
  }

  /// A model that died answers none of the others either, and waiting for each of them would take hours.
  void despair(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (++in_vain_ <= std::max(kPatience, 2 * options_.concurrency)) return;
    if (gone_.empty()) gone_ = fmt::format("{} items in turn had no answer: {}", in_vain_, what);
  }

  std::string why_gone() {
    const std::lock_guard lock(mutex_);
    return gone_;
  }

  void fail(std::size_t i, const std::string& what) {
    const std::lock_guard lock(mutex_);
    result_.failures[i] = what;
    ++result_.progress.done;
    ++result_.progress.failed;
  }

  const std::vector<Item>& items_;
  Journal& journal_;
  const MakeModel& make_;
  const RunnerOptions& options_;
  RunnerResult result_;
  std::optional<Error> fatal_;
  int in_vain_ = 0;   ///< items in turn without an answer
  std::string gone_;  ///< why nobody is asked any more; empty while the model answers
  std::mutex mutex_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> stop_{false};
};

constexpr std::int64_t kMostJournalBytes = std::int64_t{8} << 30;

/// A line of the journal.
struct Answered {
  std::string hash;
  Reply reply;
};
constexpr auto has_tokens = [](const Answered& answered) { return !answered.reply.tokens.empty(); };
constexpr Field kAnsweredFields[] = {
    field<&Answered::hash>("hash"),
    field<&Answered::reply, &Reply::text>("text"),
    field<&Answered::reply, &Reply::latency_s>("latency_s"),
    field<&Answered::reply, &Reply::finish_reason>("finish_reason").unless_empty(),
    field<&Answered::reply, &Reply::prompt_tokens>("prompt_tokens"),
    field<&Answered::reply, &Reply::output_tokens>("output_tokens"),
    field<&Answered::reply, &Reply::tokens>("tokens").when(has_tokens),
    field<&Answered::reply, &Reply::token_logprobs>("token_logprobs").when(has_tokens),
    field<&Answered::reply, &Reply::extra>("extra").formed(kAnyJson).when(
        [](const Answered& answered) { return !answered.reply.extra.is_null(); }),
};
constexpr RecordOf<Answered> kAnswered{"answer", "", kAnsweredFields};

}  // namespace

Result<RunnerResult> ask_all(const std::vector<Item>& items, Journal& journal, const MakeModel& make,
                             const RunnerOptions& options, const std::function<void(const RunnerProgress&)>& progress) {
  return Runner(items, journal, make, options).run(progress);
}

Result<std::unique_ptr<Journal>> Journal::open(const std::filesystem::path& path) {
  auto file = LineFile::open(path);
  if (!file.ok()) return environment_error(file.error().what, "name a folder that you can write with --run-dir");
  std::unique_ptr<Journal> journal(new Journal(std::move(*file)));
  WM_ASSIGN(const std::string text, journal->file_.read(kMostJournalBytes));
  WM_TRY(each_filled_line(text, path.string(), [&](std::string_view line, const std::string& place) -> Status {
    WM_ASSIGN(const Json json, parse_json(line, place));
    auto answered = read(kAnswered, json);
    if (!answered.ok()) {
      return data_error(place + " is no answer of a run: " + answered.error().what,
                        "name another folder with --run-dir");
    }
    journal->replies_.insert_or_assign(answered->hash, std::move(answered->reply));
    return {};
  }));
  return journal;
}

const Reply* Journal::find(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = replies_.find(hash);
  return found == replies_.end() ? nullptr : &found->second;
}

Status Journal::append(const std::string& hash, const Reply& reply) {
  const std::string line = dump_json(write(kAnswered, Answered{hash, reply}), -1);
  const std::lock_guard lock(mutex_);
  if (const auto written = file_.append(line); !written.ok()) {
    return environment_error(written.error().what,
                             "free some disk space; answers so far are kept, and the run resumes from there");
  }
  replies_.insert_or_assign(hash, reply);
  return {};
}

std::size_t Journal::size() const {
  const std::lock_guard lock(mutex_);
  return replies_.size();
}

}  // namespace warpmark::evaluate
