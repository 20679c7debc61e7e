// NumPy's .npz: a zip archive of .npy files, stored (np.savez) or deflated (np.savez_compressed). Format: PKWARE
// APPNOTE 6.3.9; np.savez writes the 64-bit form of local headers. Only the central directory is believed, and only as
// far as it fits the file; deflate is ISA-L's. A bomb is refused by what deflate can reach at most (1032 to 1, zlib's
// technical notes) and by a cap on the whole.
#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "accuracy/columns.h"

namespace warpmark::accuracy {
namespace {

constexpr std::uint64_t kMostUnpacked = std::uint64_t{8} << 30;
constexpr std::uint64_t kMostRatio = 1032;
constexpr std::uint64_t kUnknown32 = 0xFFFFFFFF;
constexpr std::size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30, kEnd64Size = 56, kLocator64Size = 20;

template <typename T>
T number_at(std::string_view bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof(T));
  return value;
}

/// Whether `size` bytes at `begin` lie within `total`.
bool fits(std::uint64_t begin, std::uint64_t size, std::uint64_t total) {
  return begin <= total && size <= total - begin;
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
};

struct Entry {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t unpacked = 0;
  std::uint64_t header = 0;  ///< where its local header begins
};

class ZipReader {
 public:
  ZipReader(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  Result<std::vector<Entry>> entries() const {
    WM_ASSIGN(const auto directory, find_directory());
    std::vector<Entry> entries;
    std::uint64_t place = directory.begin;
    const std::uint64_t end = directory.begin + directory.size;
    std::uint64_t unpacked = 0;
    std::set<std::string> names;
    while (place < end) {
      WM_ASSIGN(auto entry, read_entry(place, end));
      if (!names.insert(entry.name).second) return error("it has '" + entry.name + "' twice");
      const bool possible = entry.unpacked / kMostRatio <= entry.packed;
      unpacked += possible ? entry.unpacked : 0;
      if (!possible || unpacked > kMostUnpacked) return error("it would unpack to more than it can hold");
      entries.push_back(std::move(entry));
    }
    if (entries.size() != directory.entries) return error("its directory is damaged");
    return entries;
  }

  Result<std::string> content(const Entry& entry) const {
    if ((entry.flags & 1U) != 0) return error("'" + entry.name + "' is encrypted");
    if (!fits(entry.header, kLocalSize, bytes_.size()) ||
        number_at<std::uint32_t>(bytes_, entry.header) != 0x04034b50) {
      return error("'" + entry.name + "' is not where the directory says");
    }
    const std::uint64_t begin = entry.header + kLocalSize + number_at<std::uint16_t>(bytes_, entry.header + 26) +
                                number_at<std::uint16_t>(bytes_, entry.header + 28);
    if (!fits(begin, entry.packed, bytes_.size())) return error("'" + entry.name + "' is cut off");
    const auto packed = bytes_.substr(begin, entry.packed);
    WM_ASSIGN(auto content, unpack(entry, packed));
    const auto* data = reinterpret_cast<const unsigned char*>(content.data());
    if (crc32_gzip_refl(0, data, content.size()) != entry.crc)
      return error("'" + entry.name + "' has a wrong checksum");
    return content;
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return data_error(fmt::format("{} is no .npz that can be read: {}", name_, what));
  }

  /// The end record is the last one; a comment of up to 65 535 bytes may follow it.
  Result<Directory> find_directory() const {
    if (bytes_.size() < kEndSize) return error("it is too short");
    const std::size_t last = bytes_.size() - kEndSize;
    const std::size_t first = last > 65'535 ? last - 65'535 : 0;
    for (std::size_t place = last + 1; place-- > first;) {
      if (number_at<std::uint32_t>(bytes_, place) != 0x06054b50) continue;
      if (place + kEndSize + number_at<std::uint16_t>(bytes_, place + 20) != bytes_.size()) continue;
      Directory directory{.entries = number_at<std::uint16_t>(bytes_, place + 10),
                          .size = number_at<std::uint32_t>(bytes_, place + 12),
                          .begin = number_at<std::uint32_t>(bytes_, place + 16)};
      if (directory.entries == 0xFFFF || directory.begin == kUnknown32) {
        WM_ASSIGN(directory, directory64(place));
      }
      if (!fits(directory.begin, directory.size, place)) return error("its directory is cut off");
      return directory;
    }
    return error("it does not end as a zip archive");
  }

  Result<Directory> directory64(std::size_t end) const {
    if (end < kLocator64Size || number_at<std::uint32_t>(bytes_, end - kLocator64Size) != 0x07064b50) {
      return error("its 64-bit directory is missing");
    }
    const auto place = number_at<std::uint64_t>(bytes_, end - kLocator64Size + 8);
    if (!fits(place, kEnd64Size, end) || number_at<std::uint32_t>(bytes_, place) != 0x06064b50) {
      return error("its 64-bit directory is cut off");
    }
    return Directory{.entries = number_at<std::uint64_t>(bytes_, place + 32),
                     .size = number_at<std::uint64_t>(bytes_, place + 40),
                     .begin = number_at<std::uint64_t>(bytes_, place + 48)};
  }

  /// Moves `place` behind it.
  Result<Entry> read_entry(std::uint64_t& place, std::uint64_t end) const {
    if (!fits(place, kEntrySize, end) || number_at<std::uint32_t>(bytes_, place) != 0x02014b50) {
      return error("its directory is damaged");
    }
    const auto at16 = [&](std::size_t offset) { return number_at<std::uint16_t>(bytes_, place + offset); };
    const auto at32 = [&](std::size_t offset) { return number_at<std::uint32_t>(bytes_, place + offset); };
    const std::size_t name = at16(28), extra = at16(30), comment = at16(32);
    if (!fits(place + kEntrySize, name + extra + comment, end)) return error("its directory is cut off");
    Entry entry{.name = std::string(bytes_.substr(place + kEntrySize, name)),
                .flags = at16(8),
                .method = at16(10),
                .crc = at32(16),
                .packed = at32(20),
                .unpacked = at32(24),
                .header = at32(42)};
    WM_TRY(read_extra(bytes_.substr(place + kEntrySize + name, extra), entry));
    place += kEntrySize + name + extra + comment;
    return entry;
  }

  /// The 64-bit sizes, of those that do not fit 32 bits, in this order.
  Status read_extra(std::string_view extra, Entry& entry) const {
    while (extra.size() >= 4) {
      const auto id = number_at<std::uint16_t>(extra, 0);
      const std::size_t size = number_at<std::uint16_t>(extra, 2);
      if (size > extra.size() - 4) return error("'" + entry.name + "' has a damaged extra field");
      auto field = extra.substr(4, size);
      extra.remove_prefix(4 + size);
      if (id != 1) continue;
      for (std::uint64_t* value : {&entry.unpacked, &entry.packed, &entry.header}) {
        if (*value != kUnknown32) continue;
        if (field.size() < 8) return error("'" + entry.name + "' has a damaged extra field");
        *value = number_at<std::uint64_t>(field, 0);
        field.remove_prefix(8);
      }
    }
    return {};
  }

  Result<std::string> unpack(const Entry& entry, std::string_view packed) const {
    if (entry.method == 0) {
      if (entry.packed != entry.unpacked) return error("'" + entry.name + "' has two sizes");
      return std::string(packed);
    }
    if (entry.method != 8) return error(fmt::format("'{}' is packed by method {}", entry.name, entry.method));
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    if (entry.packed > kMost || entry.unpacked > kMost) return error("'" + entry.name + "' is above 4 GB and deflated");
    std::string content(entry.unpacked, '\0');
    const auto state = std::make_unique<inflate_state>();
    isal_inflate_init(state.get());
    state->crc_flag = ISAL_DEFLATE;
    // The library reads only; its interface predates const.
    state->next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
    state->avail_in = static_cast<std::uint32_t>(packed.size());
    state->next_out = reinterpret_cast<unsigned char*>(content.data());
    state->avail_out = static_cast<std::uint32_t>(content.size());
    const int code = isal_inflate_stateless(state.get());
    if (code != ISAL_DECOMP_OK || state->avail_out != 0) return error("'" + entry.name + "' is damaged");
    return content;
  }

  std::string_view bytes_;
  std::string_view name_;
};

}  // namespace

Result<Columns> parse_npz(std::string_view bytes, std::string_view name) {
  const ZipReader zip(bytes, name);
  WM_ASSIGN(const auto entries, zip.entries());
  Columns columns;
  for (const auto& entry : entries) {
    if (!entry.name.ends_with(".npy")) {
      return data_error(fmt::format("{}: '{}' is no array", name, entry.name), ".npz files hold .npy files only");
    }
    WM_ASSIGN(const auto content, zip.content(entry));
    WM_ASSIGN(auto column, parse_npy(content, fmt::format("{}: {}", name, entry.name)));
    columns.push_back(std::move(column.front()));
    columns.back().name = entry.name.substr(0, entry.name.size() - 4);
  }
  if (columns.empty()) return data_error(fmt::format("{} holds no arrays", name));
  return columns;
}

}  // namespace warpmark::accuracy
