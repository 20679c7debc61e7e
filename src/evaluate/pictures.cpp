#include "evaluate/items.h"

#include "base/files.h"
#include "base/sha256.h"
#include "http/url.h"

namespace warpmark::evaluate {
namespace {

constexpr std::int64_t kMostPictureBytes = 64 << 20;

bool is_address(std::string_view name) {
  return name.starts_with("http://") || name.starts_with("https://") || name.starts_with("data:");
}

/// Empty for what is no picture. First bytes: RFC 2083; ITU-T T.81; GIF89a; Google's WebP container.
std::string mime_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xFF\xD8\xFF")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "image/webp";
  return "";
}

struct ReadPicture {
  std::string bytes;
  std::string mime;
};

Result<ReadPicture> read_picture(const std::filesystem::path& path) {
  ReadPicture picture;
  WM_ASSIGN(picture.bytes, read_file(path, kMostPictureBytes));
  picture.mime = mime_of(picture.bytes);
  if (picture.mime.empty()) {
    return data_error(path.string() + " is no picture that servers read", "PNG, JPEG, GIF or WebP");
  }
  return picture;
}

std::string data_url(const ReadPicture& picture) {
  return "data:" + picture.mime + ";base64," + http::base64(picture.bytes);
}

}  // namespace

Result<Picture> picture_named(const std::string& name, const std::filesystem::path& folder) {
  Picture picture{.path = {}, .url = name};
  if (is_address(name)) return picture;
  picture.path = folder / name;
  WM_ASSIGN(const auto read, read_picture(picture.path));
  picture.url = "sha256:" + sha256_hex(read.bytes);
  return picture;
}

Result<Pictures> pictures_of(const Task& task, const std::vector<accuracy::Record>& data,
                             const std::filesystem::path& folder) {
  Pictures pictures;
  for (const auto& record : data) {
    for (const auto& pattern : task.images) {
      WM_ASSIGN(const auto name, filled_template(pattern, record));
      if (pictures.contains(name)) continue;
      WM_ASSIGN(auto picture, picture_named(name, folder));
      pictures.emplace(name, std::move(picture));
    }
  }
  return pictures;
}

Result<Json> with_pictures(Json request, const std::vector<Picture>& pictures) {
  for (const auto& picture : pictures) {
    if (picture.path.empty()) continue;
    WM_ASSIGN(const auto read, read_picture(picture.path));
    if ("sha256:" + sha256_hex(read.bytes) != picture.url) {
      return data_error(picture.path.string() + " has changed since the run began", "start the run again");
    }
    for (auto& message : request["messages"]) {
      if (!message["content"].is_array()) continue;
      for (auto& part : message["content"]) {
        if (part.contains("image_url") && part["image_url"]["url"] == picture.url) {
          part["image_url"]["url"] = data_url(read);
        }
      }
    }
  }
  return request;
}

}  // namespace warpmark::evaluate
