// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/mpi/mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "hemiola/runtime/wire/mpi/mpi_abi.hpp"
#include "hemiola/runtime/wire/mpi/mpi_shim.hpp"

namespace hemiola {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_mpi(std::string_view path) {
  // Fortran's and C++'s parts have other names; Cray's is called after its compiler, libmpi_gnu_123.so.12.
  const std::string_view name = file_name(path);
  return name.starts_with("libmpi.so") || name.starts_with("libmpi_abi.so") ||
         name.starts_with("libmpich.so") || name.starts_with("libmpi_cray.so") ||
         name.starts_with("libmpi_gnu") || name.starts_with("libmpi_intel");
}

/// Paths of those that this process has loaded.
std::vector<std::string> loaded() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (is_mpi(info->dlpi_name)) static_cast<std::vector<std::string>*>(to)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

std::unique_ptr<MpiLibrary> shim_of(void* library, const std::string& path) {
  if (dlsym(library, "ompi_mpi_comm_world") != nullptr) return std::make_unique<MpiShim<OpenMpiAbi>>(library);
  if (file_name(path).starts_with("libmpi_abi.so")) return std::make_unique<MpiShim<StandardMpiAbi>>(library);
  auto mpich = std::make_unique<MpiShim<MpichAbi>>(library);
  const std::string version = mpich->version();
  constexpr std::array kFamily{"MPICH", "Intel", "MVAPICH", "CRAY"};
  if (std::ranges::none_of(kFamily, [&](const char* name) { return version.find(name) != version.npos; }))
    throw ArgumentError(
        path +
        ": expected Open MPI, MPICH or one of its kin (Intel's, Cray's, MVAPICH), or an MPI with "
        "MPI 5.0's binary interface (libmpi_abi.so), found '" +
        version + "'");
  return mpich;
}

/// Open MPI's parts look for its symbols among the global ones; other libraries need not be global.
void* opened(const std::string& name, int more = 0) {
  void* const library = dlopen(name.c_str(), RTLD_NOW | more);
  if (library != nullptr && dlsym(library, "ompi_mpi_comm_world") != nullptr)
    dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  return library;
}

}  // namespace

std::unique_ptr<MpiLibrary> open_mpi_library(const std::vector<std::string>& names) {
  std::unique_ptr<MpiLibrary> there;
  for (const std::string& path : loaded()) {
    void* const library = opened(path, RTLD_NOLOAD);
    if (library == nullptr) continue;
    auto shim = shim_of(library, path);
    if (!there || shim->is_initialized()) there = std::move(shim);
  }
  if (there) return there;
  std::string reasons;
  for (const std::string& name : names) {
    if (void* const library = opened(name)) return shim_of(library, name);
    reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
  }
  throw ArgumentError("expected the MPI library that has started this job, found none of it: " + reasons +
                      ". Set HEMIOLA_MPI to its path");
}

}  // namespace hemiola
