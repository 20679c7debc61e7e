// What a verb is asked for, declared once: a struct, whose members have the defaults, and a table of the options that
// give them. Words of the command line are read into the struct by it, and help, completion and the tools for agents
// show it. A new option is a member of the struct and one line of its table:
//
//   inline constexpr OptionSpec kCheckOptions[] = {
//       {"--threshold", "RATIO", "smallest change that counts", to<&CheckRequest::threshold>},
//       {"--run", "RUN", "what to check", to<&CheckRequest::runs>},
//   };
//
// The member's type decides what is read: a bool is a flag that turns its default round, or 0 and 1 where it has a
// placeholder; a list takes the option several times (numbers also as 1,2,4), an optional has no default. The
// placeholder says how a double is written: TIME and SECONDS are durations, RATIO, R and P are a ratio between 0 and 1
// unless the row has a range, else it is a number.
#pragma once

#include "base/options.h"
#include "model/fields/fields.h"

namespace warpmark {
namespace fields {

template <typename Request>
const void* defaults() {
  static const Request request;
  return &request;
}

template <auto kRead>
using ReadBy = std::remove_cvref_t<decltype(*kRead(std::string()))>;
inline constexpr Type kPart;

template <auto kRead>
Status read_text(const std::string& text, void* member) {
  WM_ASSIGN(*static_cast<ReadBy<kRead>*>(member), kRead(text));
  return {};
}

template <auto... kMembers>
constexpr OptionUse use_of() {
  using Path = fields::Path<kMembers...>;
  OptionUse use(type_parts::kList<typename Path::Value>);
  use.type = &kTypeOf<typename Path::Value>;
  use.owner = &kTag<typename Path::Owner>;
  use.member = &Path::get;
  use.defaults = &defaults<typename Path::Owner>;
  return use;
}

template <auto kRead, auto... kMembers>
constexpr OptionUse use_read_by() {
  using Value = typename Path<kMembers...>::Value;
  OptionUse use = use_of<kMembers...>();
  use.read = &read_text<kRead>;
  if constexpr (std::is_same_v<Value, ReadBy<kRead>>) {
    use.type = &kPart;
    use.repeatable = false;
  } else {
    static_assert(std::is_same_v<typename Value::value_type, ReadBy<kRead>>);
  }
  return use;
}

}  // namespace fields

/// An option gives this member, or member of a member.
template <auto... kMembers>
inline constexpr OptionUse to = fields::use_of<kMembers...>();

/// It gives what `kRead` makes of the text: the member itself, or the part of an optional or a list.
template <auto kRead, auto... kMembers>
inline constexpr OptionUse by = fields::use_read_by<kRead, kMembers...>();

/// Usage error that names the option and says what it may be.
[[nodiscard]] Status read_members(const ParsedOptions& options, const void* owner, void* request);

/// Sets the members of these requests that were given; those of other requests among the options are left.
template <typename... Requests>
[[nodiscard]] Status read_options(const ParsedOptions& options, Requests&... requests) {
  Status status;
  ((status = status.ok() ? read_members(options, &fields::kTag<Requests>, &requests) : status), ...);
  return status;
}
template <typename Request>
[[nodiscard]] Result<Request> read_options(const ParsedOptions& options) {
  Request request;
  WM_TRY(read_options(options, request));
  return request;
}

/// Its help with what the table adds: "run: threads of the client (default 1)".
[[nodiscard]] std::string option_help(const OptionSpec& option);

/// The default of its member, as it could be given; empty where there is none.
[[nodiscard]] std::string default_of(const OptionSpec& option);

/// What a value is completed to: its own words, the names of its type, or what the placeholder says.
[[nodiscard]] std::string completion_of(const OptionSpec& option);
[[nodiscard]] std::string completion_of(std::string_view completion, std::string_view placeholder);

}  // namespace warpmark
