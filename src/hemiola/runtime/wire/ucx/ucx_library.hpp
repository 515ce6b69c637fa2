// SPDX-License-Identifier: Apache-2.0
// UCX, found and opened at run time: the one that the process has loaded already, else the system's, else that of a
// package of PyPI. There is never a second one in a process: the libraries of one would find those of the other, by the
// same names.
#pragma once

#include <string>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucp_abi.hpp"

namespace hemiola {

class UcxLibrary {
 public:
  /// The first call looks, once for the process; `packaged` are the paths of PyPI's libucp.so.0, if there are any.
  /// Throws an ArgumentError that names the paths, the findings, and the way to install it.
  static const UcxLibrary& open(const std::vector<std::string>& packaged);

  const std::string& path() const { return path_; }
  /// "1.22.0"
  const std::string& version() const { return version_; }
  const ucp::Functions& functions() const { return functions_; }
  /// Whether a worker that has not answered everybody who connects to it may be destroyed. 1.13 ends the process over that, by an
  /// assertion that later versions do without.
  bool may_destroy_unanswered() const { return is_newer_than_1_13_; }
  /// Whether a process that reads a dead one's memory (CMA) is told so. 1.13 ends it.
  bool survives_cma() const { return is_newer_than_1_13_; }

  /// In UCX's words.
  std::string text_of(ucp::Status status) const;
  /// UCX's latest complaint, with a space and parentheses; empty where it has not, or where others have loaded it and
  /// get to see its complaints.
  static std::string complaint();

 private:
  UcxLibrary(void* handle, std::string path);
  void look_up(void* handle);
  void check_version();
  static UcxLibrary find(const std::vector<std::string>& packaged);

  std::string path_;
  std::string version_;
  ucp::Functions functions_ = {};
  bool is_newer_than_1_13_ = false;
};

}  // namespace hemiola
