// SPDX-License-Identifier: Apache-2.0
// Where a binary schedule is read from and written to: a file, or memory. Files are read at offsets, not
// mapped, so that a file that shrinks meanwhile is an error and not a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/whole_file.hpp"

namespace hemiola {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::int64_t size() const = 0;
  /// Fills `to` from `offset`. Throws FormatError beyond the end, std::system_error when the device fails.
  virtual void read(std::int64_t offset, std::span<std::byte> to) const = 0;
  /// Its name in errors: "schedule 'x.schedb'".
  virtual const std::string& name() const = 0;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Appends. Throws std::system_error when the device fails.
  virtual void write(std::span<const std::byte> bytes) = 0;
};

class FileSource final : public ByteSource {
 public:
  /// Throws std::system_error when the file cannot be opened, ArgumentError when it is not a regular file.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, std::span<std::byte> to) const override;
  const std::string& name() const override { return name_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;  ///< absolute
  std::string name_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

/// A file that takes its place when it is finished, see WholeFile.
class FileSink final : public ByteSink {
 public:
  /// Throws std::system_error, which calls the file a `what`.
  explicit FileSink(const std::filesystem::path& path, const std::string& what = "schedule");

  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }
  /// Throws std::system_error; without it, the path keeps its old content.
  void finish() { file_.finish(); }

 private:
  WholeFile file_;
};

/// Bytes that lie in memory, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, std::span<std::byte> to) const override;
  const std::string& name() const override { return name_; }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

class MemorySink final : public ByteSink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace hemiola
