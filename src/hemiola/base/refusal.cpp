// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/refusal.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace hemiola {
namespace {

std::string limit_text(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

std::string advice(int error) {
  switch (error) {
    case EMFILE:
      return "A process may have " + limit_text(RLIMIT_NOFILE) + " files open; raise that with 'ulimit -n'";
    case ENFILE:
      return "The machine has too many files open; raise that with 'sysctl fs.file-max'";
    case EAGAIN:
      return "A user may have " + limit_text(RLIMIT_NPROC) +
             " processes and threads; raise that with 'ulimit -u', or pids.max of the container";
    case ENOMEM:
      if (limit_text(RLIMIT_AS) == "unlimited") return "Give the machine, or its container, more memory";
      return "The address space may have " + limit_text(RLIMIT_AS) +
             " bytes; raise that with 'ulimit -v', or give the container more memory";
    case EFBIG:
      return "A file may have " + limit_text(RLIMIT_FSIZE) +
             " bytes, and shared memory counts as one; raise that with 'ulimit -f unlimited'";
    case ENOSPC:
    case EDQUOT:
      return "Make room, or raise the quota";
    case ENOSYS:
      return "The kernel has no such system call, or a sandbox hides it: use Linux 5.3 or newer, and a "
             "seccomp profile "
             "that allows it";
    case EPERM:
    case EACCES:
      return "A sandbox refuses this system call: allow it in the seccomp profile (docker run --security-opt "
             "seccomp=PROFILE)";
    default:
      return "'hemiola doctor' says what this machine offers";
  }
}

}  // namespace

std::string refusal(const std::string& what, int error) {
  return what + ": " + std::strerror(error) + ". " + advice(error);
}

}  // namespace hemiola
