// SPDX-License-Identifier: Apache-2.0
// Hemiola's interface to an MPI of any binary interface. No header of any MPI is needed to build this. The library that
// has started the job is opened at run time, and its functions are declared by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {

/// A call that MPI has refused; in the library's own words.
struct MpiCallError : Error {
  using Error::Error;
};

/// An open request of MPI, in any form that it has there.
enum class MpiTicket : std::uintptr_t {};

/// A message that has been matched, and that nobody else will receive.
struct MpiMatch {
  std::uintptr_t message = 0;
  std::size_t bytes = 0;
};

/// All calls throw MpiCallError. From `initialize` on, any thread may call anything where `is_thread_safe()`.
class MpiLibrary {
 public:
  virtual ~MpiLibrary() = default;

  /// The first line of its description of itself.
  virtual std::string version() const = 0;
  /// The file that it is in.
  virtual std::string path() const = 0;
  virtual bool is_initialized() const = 0;
  virtual bool is_finalized() const = 0;
  /// Asks for MPI_THREAD_MULTIPLE. Blocks until all processes have come, as some of them need it.
  virtual void initialize() = 0;
  virtual void finalize() = 0;
  /// Whether it has been initialized with MPI_THREAD_MULTIPLE.
  virtual bool is_thread_safe() const = 0;
  /// In MPI_COMM_WORLD.
  virtual int rank() const = 0;
  virtual int rank_count() const = 0;

  /// Collective over MPI_COMM_WORLD: a communicator of our own, by which all that follows goes once this is done.
  virtual MpiTicket duplicate_world() = 0;
  virtual int largest_tag() const = 0;
  virtual MpiTicket broadcast(std::byte* data, std::size_t bytes, int root) = 0;
  /// `data` stays as it is until it is done.
  virtual MpiTicket send(const std::byte* data, std::size_t bytes, int to, int tag) = 0;
  /// The next message of that tag, where one has come.
  virtual std::optional<MpiMatch> match(int from, int tag) = 0;
  /// Into memory that has room for it.
  virtual MpiTicket receive(MpiMatch match, std::byte* to) = 0;
  /// The sender of a message of that tag which nobody has matched yet.
  virtual std::optional<int> sender_of(int tag) = 0;
  /// Whether it is over. Not asked again then.
  virtual bool is_over(MpiTicket* ticket) = 0;
};

/// The one that is in this process already; else the first of `names` (paths, or names that the dynamic linker finds)
/// that can be opened. Throws an ArgumentError that names the tried paths, and one for a library whose binary interface
/// is not known here.
std::unique_ptr<MpiLibrary> open_mpi_library(const std::vector<std::string>& names);

}  // namespace hemiola
