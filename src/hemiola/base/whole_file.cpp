// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

namespace hemiola {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPermissions = 07777;

[[noreturn]] void fail_with_errno(const std::string& name) {
  throw std::system_error(errno, std::generic_category(), name);
}

int checked(int result, const std::string& name) {
  if (result < 0) fail_with_errno(name);
  return result;
}

/// Where symbolic links lead in the end; nothing for an open descriptor of a process (/dev/stdout, /dev/fd/3), whose
/// file others hold open, too.
std::optional<fs::path> end_of_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
    if (error) break;
    path = folder / path.filename();
    if (path.string().starts_with("/proc/")) return std::nullopt;
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = folder / next;
  }
  return path;
}

/// "x/.hemiola-4711-0.part" for x/y: short enough for any folder, and nobody else's.
fs::path name_beside(const fs::path& target) {
  static std::atomic<unsigned> next{0};
  return target.parent_path() /
         (".hemiola-" + std::to_string(::getpid()) + "-" + std::to_string(next++) + ".part");
}

/// Where a file can be replaced; nothing where it is to be written to directly.
std::optional<fs::path> replaceable(const fs::path& path, bool exists, const struct stat& status) {
  return exists && !S_ISREG(status.st_mode) ? std::nullopt : end_of_links(path);
}

}  // namespace

WholeFile::WholeFile(const fs::path& path, std::string name) : name_(std::move(name)) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  const std::optional<fs::path> target = replaceable(path, exists, status);
  if (!target) {
    file_ = Descriptor(checked(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), name_));
    return;
  }
  if (exists) checked(::access(path.c_str(), W_OK), name_);  // a file that is write-protected stays
  open_beside(*target);
  if (exists) checked(::fchmod(file_.get(), status.st_mode & kPermissions), name_);
}

void WholeFile::check(const fs::path& path, const std::string& name) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (replaceable(path, exists, status)) {
    const WholeFile unwritten(path, name);
    return;
  }
  // Opening a pipe would wait for its reader, and opening another process's file would cut it.
  if (exists && S_ISDIR(status.st_mode)) throw std::system_error(EISDIR, std::generic_category(), name);
  checked(::access(path.c_str(), W_OK), name);
}

WholeFile::~WholeFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void WholeFile::open_beside(const fs::path& target) {
  int file = -1;
  fs::path beside;
  do {
    beside = name_beside(target);
    file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);
  file_ = Descriptor(checked(file, name_));
  target_ = target;
  beside_ = std::move(beside);
}

void WholeFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_errno(name_);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void WholeFile::finish() {
  if (beside_.empty()) return;
  checked(::fsync(file_.get()), name_);  // a name that outlives a power cut must not lead to half a file
  checked(::rename(beside_.c_str(), target_.c_str()), name_);
  beside_.clear();
}

}  // namespace hemiola
