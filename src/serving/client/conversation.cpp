#include "serving/client/conversation.h"

#include <fmt/format.h>

#include "base/result.h"

namespace warpmark::serving {

std::string answer_mark(std::size_t turn) { return fmt::format("@@warpmark-answer-{}@@", turn); }

std::string with_answers(const PreparedRequest& request, const std::vector<std::string>& said) {
  std::string body = request.bytes.substr(request.body_at);
  for (std::size_t turn = 0; turn < said.size(); ++turn) {
    const std::string mark = answer_mark(turn);
    if (const auto at = body.find(mark); at != std::string::npos) body.replace(at, mark.size(), said[turn]);
  }
  constexpr std::string_view kLength = "Content-Length: ";
  std::string head = request.bytes.substr(0, request.body_at);
  const auto at = head.find(kLength);
  WM_CHECK(at != std::string::npos);  // all prepared requests have one
  const auto digits = at + kLength.size();
  head.replace(digits, head.find('\r', digits) - digits, std::to_string(body.size()));
  return head + body;
}

}  // namespace warpmark::serving
