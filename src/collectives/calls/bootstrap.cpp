#include "collectives/calls/bootstrap.h"

namespace warpmark::collectives {
namespace {

class Solo final : public Bootstrap {
 public:
  [[nodiscard]] int process() const override { return 0; }
  [[nodiscard]] int processes() const override { return 1; }
  [[nodiscard]] int local_process() const override { return 0; }
  Status barrier() override { return {}; }
  Result<std::vector<double>> all_gather(std::span<const double> mine) override {
    return std::vector<double>(mine.begin(), mine.end());
  }
  Status broadcast(std::span<std::byte>, int) override { return {}; }
  Result<std::int64_t> clock_offset_ns() override { return std::int64_t{0}; }
};

}  // namespace

std::unique_ptr<Bootstrap> solo_bootstrap() { return std::make_unique<Solo>(); }

Result<std::vector<std::string>> gather_texts(Bootstrap& bootstrap, const std::string& mine, std::size_t most) {
  std::vector<double> letters(most, 0);
  for (std::size_t i = 0; i < mine.size() && i < most; ++i) letters[i] = static_cast<unsigned char>(mine[i]);
  WM_ASSIGN(const auto all, bootstrap.all_gather(letters));
  std::vector<std::string> texts;
  for (std::size_t at = 0; at + most <= all.size(); at += most) {
    std::string text;
    for (std::size_t i = at; i < at + most && all[i] > 0; ++i) text += static_cast<char>(static_cast<int>(all[i]));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace warpmark::collectives
