// A JSON object with lists of one entry a request, which may be too many to be held: its other members first, then list
// by list, each entry on a line of its own. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "serving/records/request_records.h"

namespace warpmark::serving {

/// Takes a text piece by piece.
using TakeText = std::function<void(std::string_view)>;

class JsonLists {
 public:
  /// At least one member.
  JsonLists(const Json& members, const TakeText& take);
  /// One entry of each request for which there is one.
  void add(std::string_view name, const RequestRecords& records,
           const std::function<std::optional<Json>(const RequestRecord&)>& entry);
  void end();

 private:
  const TakeText& take_;
};

}  // namespace warpmark::serving
