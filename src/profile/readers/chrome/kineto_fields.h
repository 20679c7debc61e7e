// From the text of one event to its fields.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/readers/chrome/kineto_event.h"
#include "profile/readers/text/json_scan.h"

namespace warpmark::profile {

/// A value as it stands in the text.
struct RawValue {
  char kind = 0;          ///< '"', '[', '{' or 0 for numbers, words and whatever else
  std::string_view text;  ///< of a string without its quotes, of the others all of it
};

void set_field(EventFields& fields, std::string_view key, const RawValue& value);
void set_argument(EventArgs& args, std::string_view key, const RawValue& value);

/// Reads an event of well-formed JSON from its '{' to behind its '}'. Accepts also what JSON forbids but does no harm:
/// control characters in strings, words like nan or N/A as values, redundant commas. nullptr at anything else: *stop is
/// where, or `end` if the text ends within the event.
[[nodiscard]] const char* read_fields(const char* p, const char* end, const ScanFunctions& scan, EventFields& fields,
                                      const char** stop);

/// Reads what can be made out of an event that is no JSON (unescaped quotes, missing commas or brackets). `text` holds
/// nothing of the next event.
[[nodiscard]] EventFields repair_fields(std::string_view text, const ScanFunctions& scan);

/// The '{' of the first event that begins behind `p`, judged by what stands around it; nullptr if there is none.
[[nodiscard]] const char* next_event(const char* p, const char* end);
/// The last such '{' that also has the '}' and ',' of the event before it; nullptr if there is none.
[[nodiscard]] const char* last_event(const char* begin, const char* end);

/// Gives the rows that torch.autograd's profiler exports without Kineto the terms of Kineto: there the name of the
/// process is the kind, "CPU functions" or "CUDA functions".
void name_rows_of_autograd(EventFields& fields);
[[nodiscard]] EventKind kind_of(const EventFields& fields);
/// Rows about the recording itself, some of them far in the future: "Record Window End", the span of the profiler.
[[nodiscard]] bool is_profiler_row(const EventFields& fields);
[[nodiscard]] bool is_stream_kind(EventKind kind);
/// From "Memcpy HtoD (Pinned -> Device)".
[[nodiscard]] std::uint32_t copy_detail_of(std::string_view name);
/// From "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync".
[[nodiscard]] std::uint32_t sync_detail_of(std::string_view kind);
/// Without spaces, quotes and braces around it.
[[nodiscard]] std::string_view trim_key(std::string_view text);

}  // namespace warpmark::profile
