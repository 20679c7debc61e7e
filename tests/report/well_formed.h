// Is a text well-formed markup? Tags nest, attributes are quoted and unique, entities are known, bytes are UTF-8.
// Enough of XML 1.0 to catch what a writer gets wrong; also accepts the elements of HTML that have no end.
#pragma once

#include <string>
#include <string_view>

namespace warpmark::report {

/// Empty if it is, else what is wrong and the text around it.
[[nodiscard]] std::string markup_error(std::string_view text);

}  // namespace warpmark::report
