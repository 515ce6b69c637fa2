// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: its content lies in a new file beside it, which takes its name in
// the end. A full disk or an interrupt leaves the old file. Pipes, devices and the target of /dev/stdout are
// no files that could be replaced, and are written to directly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "hemiola/base/descriptor.hpp"

namespace hemiola {

class WholeFile {
 public:
  /// Every std::system_error begins with `name`: "schedule 'x.sched'". Throws one where nothing can be written beside
  /// `path`. Symbolic links stay and lead to the new file, which is as readable and writable as the old one.
  WholeFile(const std::filesystem::path& path, std::string name);
  /// Without `finish`, removes the new file beside it.
  ~WholeFile();
  /// Throws as the constructor would and writes nothing, so that work is not begun whose result has no place.
  static void check(const std::filesystem::path& path, const std::string& name);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Appends. Throws std::system_error when the device fails.
  void write(std::span<const std::byte> bytes);
  /// Puts the new file in its place, and on the device first. Throws as `write`.
  void finish();

 private:
  void open_beside(const std::filesystem::path& target);

  std::string name_;
  std::filesystem::path target_, beside_;  ///< beside_ is empty where the file is written to directly
  Descriptor file_;
};

}  // namespace hemiola
