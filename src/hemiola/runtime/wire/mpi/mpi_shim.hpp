// SPDX-License-Identifier: Apache-2.0
// Calls of an MPI of one binary interface.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>

#include "hemiola/runtime/wire/mpi/mpi_library.hpp"

namespace hemiola {

template <typename Abi>
class MpiShim final : public MpiLibrary {
 public:
  explicit MpiShim(void* library) : abi_(library) {
    const auto find = [&](auto* function, const char* name) {
      *reinterpret_cast<void**>(function) = dlsym(library, name);
      if (*function == nullptr)
        throw ArgumentError(version() + ": this MPI has no " + name + "; MPI 3.0 or newer is needed");
    };
    *reinterpret_cast<void**>(&get_library_version_) = dlsym(library, "MPI_Get_library_version");
    find(&initialized_, "MPI_Initialized");
    find(&finalized_, "MPI_Finalized");
    find(&query_thread_, "MPI_Query_thread");
    find(&init_thread_, "MPI_Init_thread");
    find(&finalize_, "MPI_Finalize");
    find(&comm_rank_, "MPI_Comm_rank");
    find(&comm_size_, "MPI_Comm_size");
    find(&comm_idup_, "MPI_Comm_idup");
    find(&comm_set_errhandler_, "MPI_Comm_set_errhandler");
    find(&comm_get_attr_, "MPI_Comm_get_attr");
    find(&ibcast_, "MPI_Ibcast");
    find(&isend_, "MPI_Isend");
    find(&iprobe_, "MPI_Iprobe");
    find(&improbe_, "MPI_Improbe");
    find(&imrecv_, "MPI_Imrecv");
    find(&get_count_, "MPI_Get_count");
    find(&test_, "MPI_Test");
    find(&error_string_, "MPI_Error_string");
  }

  std::string version() const override {
    std::array<char, kLongestText> text{};
    int length = 0;
    if (get_library_version_ == nullptr || get_library_version_(text.data(), &length) != 0) return "an MPI";
    std::istringstream first(std::string(text.data(), std::strcspn(text.data(), "\r\n")));
    std::string all;
    for (std::string word; first >> word;) all += (all.empty() ? "" : " ") + word;
    return all;
  }
  std::string path() const override {
    Dl_info found{};
    return dladdr(reinterpret_cast<const void*>(initialized_), &found) != 0 ? found.dli_fname : "";
  }
  bool is_initialized() const override { return flag_of(initialized_); }
  bool is_finalized() const override { return flag_of(finalized_); }
  void initialize() override {
    int provided = 0;
    check(init_thread_(nullptr, nullptr, Abi::thread_multiple, &provided));
  }
  void finalize() override { check(finalize_()); }
  bool is_thread_safe() const override {
    int provided = 0;
    check(query_thread_(&provided));
    return provided >= Abi::thread_multiple;
  }
  int rank() const override { return number_of(comm_rank_); }
  int rank_count() const override { return number_of(comm_size_); }

  MpiTicket duplicate_world() override {
    check(comm_set_errhandler_(abi_.world, abi_.errors_return));  // which the duplicate inherits
    Handle request{};
    check(comm_idup_(abi_.world, &comm_, &request));
    return ticket(request);
  }
  int largest_tag() const override {
    int* value = nullptr;
    int is_set = 0;
    check(comm_get_attr_(abi_.world, Abi::tag_limit, &value, &is_set));
    return is_set != 0 ? *value : 32767;  // the least that MPI promises
  }
  MpiTicket broadcast(std::byte* data, std::size_t bytes, int root) override {
    Handle request{};
    check(ibcast_(data, count_of(bytes), abi_.byte, root, comm_, &request));
    return ticket(request);
  }
  MpiTicket send(const std::byte* data, std::size_t bytes, int to, int tag) override {
    Handle request{};
    check(isend_(data, count_of(bytes), abi_.byte, to, tag, comm_, &request));
    return ticket(request);
  }
  std::optional<MpiMatch> match(int from, int tag) override {
    int is_there = 0, bytes = 0;
    Handle message{};
    Status status{};
    check(improbe_(from, tag, comm_, &is_there, &message, &status));
    if (is_there == 0) return std::nullopt;
    check(get_count_(&status, abi_.byte, &bytes));
    return MpiMatch{bits_of(message), static_cast<std::size_t>(bytes)};
  }
  MpiTicket receive(MpiMatch match, std::byte* to) override {
    Handle message = handle_of(match.message), request{};
    check(imrecv_(to, count_of(match.bytes), abi_.byte, &message, &request));
    return ticket(request);
  }
  std::optional<int> sender_of(int tag) override {
    int is_there = 0;
    Status status{};
    check(iprobe_(Abi::any_source, tag, comm_, &is_there, &status));
    return is_there != 0 ? std::optional(status.source) : std::nullopt;
  }
  bool is_over(MpiTicket* ticket_of) override {
    Handle request = handle_of(static_cast<std::uintptr_t>(*ticket_of));
    int is_over = 0;
    Status status{};
    check(test_(&request, &is_over, &status));
    *ticket_of = ticket(request);
    return is_over != 0;
  }

 private:
  using Handle = typename Abi::Handle;
  using Status = typename Abi::Status;
  static constexpr std::size_t kLongestText = 8192;

  static std::uintptr_t bits_of(Handle handle) {
    std::uintptr_t bits = 0;
    std::memcpy(&bits, &handle, sizeof handle);
    return bits;
  }
  static Handle handle_of(std::uintptr_t bits) {
    Handle handle{};
    std::memcpy(&handle, &bits, sizeof handle);
    return handle;
  }
  static MpiTicket ticket(Handle request) { return MpiTicket{bits_of(request)}; }
  static int count_of(std::size_t bytes) {
    HEMIOLA_CHECK(bytes <= std::numeric_limits<int>::max(), "a message that MPI cannot count");
    return static_cast<int>(bytes);
  }

  void check(int code) const {
    if (code == 0) return;
    std::array<char, kLongestText> text{};
    int length = 0;
    if (error_string_(code, text.data(), &length) != 0) text[0] = '\0';
    throw MpiCallError("MPI's error " + std::to_string(code) + ": " + text.data());
  }
  bool flag_of(int (*ask)(int*)) const {
    int flag = 0;
    check(ask(&flag));
    return flag != 0;
  }
  int number_of(int (*ask)(Handle, int*)) const {
    int number = 0;
    check(ask(abi_.world, &number));
    return number;
  }

  Abi abi_;
  Handle comm_{};  ///< our own
  int (*get_library_version_)(char*, int*) = nullptr;
  int (*initialized_)(int*) = nullptr;
  int (*finalized_)(int*) = nullptr;
  int (*query_thread_)(int*) = nullptr;
  int (*init_thread_)(int*, char***, int, int*) = nullptr;
  int (*finalize_)() = nullptr;
  int (*comm_rank_)(Handle, int*) = nullptr;
  int (*comm_size_)(Handle, int*) = nullptr;
  int (*comm_idup_)(Handle, Handle*, Handle*) = nullptr;
  int (*comm_set_errhandler_)(Handle, Handle) = nullptr;
  int (*comm_get_attr_)(Handle, int, void*, int*) = nullptr;
  int (*ibcast_)(void*, int, Handle, int, Handle, Handle*) = nullptr;
  int (*isend_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*iprobe_)(int, int, Handle, int*, Status*) = nullptr;
  int (*improbe_)(int, int, Handle, int*, Handle*, Status*) = nullptr;
  int (*imrecv_)(void*, int, Handle, Handle*, Handle*) = nullptr;
  int (*get_count_)(const Status*, Handle, int*) = nullptr;
  int (*test_)(Handle*, int*, Status*) = nullptr;
  int (*error_string_)(int, char*, int*) = nullptr;
};

}  // namespace hemiola
