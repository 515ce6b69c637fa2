// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/file/bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

std::string name_file(std::string what, const std::filesystem::path& path) {
  return what.append(" '").append(path.string()).append("'");
}

[[noreturn]] void fail_with_errno(const std::string& name) {
  throw std::system_error(errno, std::generic_category(), name);
}

[[noreturn]] void fail_at_end(const ByteSource& source, std::int64_t offset, std::size_t wanted) {
  throw FormatError(source.name() + ", offset " + std::to_string(offset) + ": expected " +
                    std::to_string(wanted) + " bytes, found the end of the file; it is cut short");
}

}  // namespace

FileSource::FileSource(const std::filesystem::path& path)
    : path_(std::filesystem::absolute(path)), name_(name_file("schedule", path)) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hang
  if (file_ < 0) fail_with_errno(name_);
  struct stat status{};
  const bool known = ::fstat(file_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  ::close(file_);
  if (!known) fail_with_errno(name_);
  throw ArgumentError(name_ + ": expected a regular file");
}

FileSource::~FileSource() {
  ::close(file_);
}

void FileSource::read(std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(file_, to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(name_);
    if (got == 0) fail_at_end(*this, offset, to.size());
    offset += got;
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

FileSink::FileSink(const std::filesystem::path& path, const std::string& what)
    : file_(path, name_file(what, path)) {}

void MemorySource::read(std::int64_t offset, std::span<std::byte> to) const {
  if (offset < 0 || offset > size() || static_cast<std::int64_t>(to.size()) > size() - offset)
    fail_at_end(*this, offset, to.size());
  std::copy_n(bytes_.begin() + offset, to.size(), to.begin());
}

}  // namespace hemiola
