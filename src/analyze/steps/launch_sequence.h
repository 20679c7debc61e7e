// How a sequence of launches repeats, each launch given as a number that tells what was launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpmark::analyze {

/// Evenly spaced: at least three, and in two of three cases within a tenth of the median, which is returned; else 0.
[[nodiscard]] std::size_t even_spacing(const std::vector<std::size_t>& positions);

/// Boundaries of the repetition as indices into `launches`: the positions of one launch that occurs once a period, by
/// the longest spacing that several kinds of launches share. Empty if nothing repeats at least three times.
[[nodiscard]] std::vector<std::size_t> repeating_sequence(const std::vector<std::uint32_t>& launches);

/// What repeats from the first launch to the last at less than half of the spacing `longer`: for each number of
/// occurrences that several kinds share the positions of the kind that comes first; the fewest first.
[[nodiscard]] std::vector<std::vector<std::size_t>> sequences_within(const std::vector<std::uint32_t>& launches,
                                                                     std::size_t longer);

/// The same by laying the sequence over itself: finds periods in which every kind of launch occurs several times at
/// uneven distances, or one kind alone marks the period. Every period holds two launches or more.
[[nodiscard]] std::vector<std::size_t> self_matching_sequence(const std::vector<std::uint32_t>& launches);

}  // namespace warpmark::analyze
