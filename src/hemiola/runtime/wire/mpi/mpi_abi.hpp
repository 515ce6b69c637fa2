// SPDX-License-Identifier: Apache-2.0
// The three binary interfaces of MPI that there are, as far as they are used: how handles look, and a few constants.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace hemiola {

/// Open MPI since 1.7: handles are addresses of objects of the library.
struct OpenMpiAbi {
  using Handle = void*;
  struct Status {
    int source, tag, error, is_cancelled;
    std::size_t bytes;
  };
  static constexpr int any_source = -1, tag_limit = 0, thread_multiple = 3;

  explicit OpenMpiAbi(void* library)
      : world(dlsym(library, "ompi_mpi_comm_world")),
        byte(dlsym(library, "ompi_mpi_byte")),
        errors_return(dlsym(library, "ompi_mpi_errors_return")) {}
  Handle world, byte, errors_return;
};

/// MPICH since 3.1, and libraries with its interface: Intel MPI, Cray's, MVAPICH. Handles are numbers.
struct MpichAbi {
  using Handle = int;
  struct Status {
    int bytes_low, bytes_high, source, tag, error;
  };
  static constexpr int any_source = -2, tag_limit = 0x64400001, thread_multiple = 3;

  explicit MpichAbi(void*) {}
  Handle world = 0x44000000, byte = 0x4c00010d, errors_return = 0x54000001;
};

/// MPI 5.0's own, chapter 20: handles are addresses, of which small ones are the constants.
struct StandardMpiAbi {
  using Handle = void*;
  struct Status {
    int source, tag, error, internal[5];
  };
  static constexpr int any_source = -1, tag_limit = 501, thread_multiple = 4096;

  explicit StandardMpiAbi(void*) {}
  Handle world = reinterpret_cast<void*>(0x101), byte = reinterpret_cast<void*>(0x247),
         errors_return = reinterpret_cast<void*>(0x143);
};

}  // namespace hemiola
