// SPDX-License-Identifier: Apache-2.0
// The functions of hemiola.h: they check arguments, and no exception leaves them.
#include "hemiola/c/hemiola.h"

#include <array>
#include <limits>
#include <optional>

#include "hemiola/base/error.hpp"
#include "hemiola/c/comm.hpp"
#include "hemiola/c/handles.hpp"

using namespace hemiola;
using hemiola::c::Handle;

namespace {

constexpr std::array kTypes = {DType::int8,    DType::int16,    DType::int32,   DType::int64,
                               DType::uint8,   DType::uint16,   DType::uint32,  DType::uint64,
                               DType::float16, DType::bfloat16, DType::float32, DType::float64};
constexpr std::array kOps = {Op::sum, Op::product, Op::min, Op::max, Op::average};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

/// The item of a table; nothing for a number outside it.
template <typename Item, std::size_t count>
std::optional<Item> nth(const std::array<Item, count>& items, int number) {
  return number < 0 || number >= static_cast<int>(count)
             ? std::nullopt
             : std::optional(items[static_cast<std::size_t>(number)]);
}

/// Does something with an open communicator.
template <typename Use>
hemiola_result with(const hemiola_comm* name, const Use& use) noexcept {
  std::shared_ptr<Handle> handle;
  const hemiola_result found = c::guarded(nullptr, [&] {
    handle = c::handle_of(name);
    if (!handle) throw ArgumentError("expected an open communicator, found NULL or one that is closed");
  });
  if (!handle) return found;
  return c::guarded(handle.get(), [&] { use(handle->comm()); });
}

/// A number of an open communicator; -1 where there is none.
template <typename Ask>
int number_of(const hemiola_comm* name, const Ask& ask) noexcept {
  int number = -1;
  with(name, [&](c::Comm& comm) { number = ask(comm); });
  return number;
}

/// One side of a call in C, with as many blocks of `count` elements.
struct Side {
  const void* data;
  int blocks;
};

/// A call in the core's words. A mistake in it becomes a complaint, of which the other ranks learn.
class CallOfC {
 public:
  CallOfC(OperationKind kind, std::int64_t count, int type) : count_(count) {
    call_.kind = kind;
    const std::optional<DType> dtype = nth(kTypes, type);
    if (!dtype) complain("a type of hemiola_type", std::to_string(type));
    dtype_ = dtype.value_or(DType::uint8);
    if (count < 0) complain("a count of 0 or more", std::to_string(count));
  }

  CallOfC& reduce(int op) {
    if (const std::optional<Op> known = nth(kOps, op))
      call_.op = *known;
    else
      complain("an operation of hemiola_op", std::to_string(op));
    return *this;
  }
  CallOfC& root(int rank) {
    call_.root = rank;
    return *this;
  }
  CallOfC& input(Side side) { return view(side, &input_extent_, &call_.input); }
  CallOfC& output(Side side) { return view(side, &output_extent_, &call_.output); }
  const Call& call() const { return call_; }

 private:
  CallOfC& view(Side side, std::int64_t* extent, std::optional<ArrayView>* view) {
    if (!call_.complaint.empty()) return *this;
    if (count_ > kMostBytes / static_cast<std::int64_t>(bytes_of(dtype_)) / side.blocks)
      complain("a count of memory that can be", std::to_string(count_));
    if (side.data == nullptr && count_ > 0)
      complain("memory for " + std::to_string(count_) + " elements", "NULL");
    if (!call_.complaint.empty()) return *this;
    *extent = count_ * side.blocks;
    auto* data = static_cast<std::byte*>(const_cast<void*>(side.data));  // an input is only read
    *view = ArrayView{.data = data, .dtype = dtype_, .shape = {extent, 1}};
    return *this;
  }

  void complain(const std::string& expected, const std::string& found) {
    if (call_.complaint.empty()) call_.complaint = "expected " + expected + ", found " + found;
  }

  std::int64_t count_;
  DType dtype_ = DType::uint8;
  std::int64_t input_extent_ = 0, output_extent_ = 0;
  Call call_{};
};

/// A message in the core's words. Throws ArgumentError.
std::shared_ptr<MessageRequest> message(const c::Comm& comm, const void* data, std::int64_t count, int type,
                                        int peer, std::int64_t tag) {
  const std::optional<DType> dtype = nth(kTypes, type);
  if (!dtype) throw ArgumentError("expected a type of hemiola_type, found " + std::to_string(type));
  if (count < 0 || count > kMostBytes / 8)
    throw ArgumentError("expected a count of 0 or more, found " + std::to_string(count));
  if (data == nullptr && count > 0)
    throw ArgumentError("expected memory for " + std::to_string(count) + " elements, found NULL");
  if (tag < 0) throw ArgumentError("expected a tag of 0 or more, found " + std::to_string(tag));
  if (peer < HEMIOLA_ANY || peer >= comm.rank_count())
    throw ArgumentError("expected a rank in 0 … " + std::to_string(comm.rank_count() - 1) + ", found " +
                        std::to_string(peer));
  auto request = std::make_shared<MessageRequest>();
  if (peer != HEMIOLA_ANY) request->peer = Rank{peer};
  request->tag = tag;
  request->dtype = *dtype;
  request->element_count = count;
  request->data = static_cast<std::byte*>(const_cast<void*>(data));  // a send only reads it
  return request;
}

/// HEMIOLA_TIMEOUT's, where a program says 0.
c::Settings settings_for(double timeout_s) {
  c::Settings settings = c::settings_of(c::process_environment());
  if (!(timeout_s >= 0 && timeout_s < 1e9))
    throw ArgumentError("expected a timeout in seconds, or 0 for HEMIOLA_TIMEOUT's, found " +
                        std::to_string(timeout_s));
  if (timeout_s > 0) settings.timeout_s = timeout_s;
  return settings;
}

std::shared_ptr<c::Comm> joined(const char* meet_at, int rank, int rank_count, double timeout_s) {
  if (meet_at == nullptr || *meet_at == 0)
    throw ArgumentError("expected a name or host:port at which ranks meet, found none");
  const c::Settings settings = settings_for(timeout_s);
  const c::MeetingPlace place = c::MeetingPlace::of(meet_at);
  if (rank == HEMIOLA_NEWCOMER && rank_count == 0) return c::Comm::enter(place, settings);
  if (rank_count < 1 || rank < 0 || rank >= rank_count)
    throw ArgumentError("expected a rank below the number of ranks, or HEMIOLA_NEWCOMER and 0, found " +
                        std::to_string(rank) + " and " + std::to_string(rank_count));
  return c::Comm::join(place, Rank{rank}, rank_count, settings);
}

}  // namespace

hemiola_result hemiola_init(double timeout_s, hemiola_comm** comm) {
  return c::guarded(nullptr, [&] {
    c::open_handle(comm, true, [&] {
      const c::Settings settings = settings_for(timeout_s);
      const c::Place place = c::launched_place(c::process_environment());
      return c::Comm::join(c::place_of(place, settings), Rank{place.rank}, place.rank_count, settings);
    });
  });
}

hemiola_result hemiola_join(const char* meet_at, int rank, int rank_count, double timeout_s,
                            hemiola_comm** comm) {
  return c::guarded(nullptr, [&] {
    c::open_handle(comm, false, [&] { return joined(meet_at, rank, rank_count, timeout_s); });
  });
}

int hemiola_rank(const hemiola_comm* comm) {
  return number_of(comm, [](const c::Comm& open) { return open.rank(); });
}

int hemiola_size(const hemiola_comm* comm) {
  return number_of(comm, [](const c::Comm& open) { return open.rank_count(); });
}

int hemiola_is_called(const hemiola_comm* comm) {
  return number_of(comm, [](const c::Comm& open) { return static_cast<int>(open.is_called()); });
}

hemiola_result hemiola_all_reduce(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                  hemiola_type type, hemiola_op op) {
  return with(comm, [&](c::Comm& open) {
    CallOfC call(OperationKind::all_reduce, count, type);
    open.run(call.reduce(op).input({input, 1}).output({output, 1}).call());
  });
}

hemiola_result hemiola_all_gather(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                  hemiola_type type) {
  return with(comm, [&](c::Comm& open) {
    CallOfC call(OperationKind::all_gather, count, type);
    open.run(call.input({input, 1}).output({output, open.rank_count()}).call());
  });
}

hemiola_result hemiola_reduce_scatter(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                      hemiola_type type, hemiola_op op) {
  return with(comm, [&](c::Comm& open) {
    CallOfC call(OperationKind::reduce_scatter, count, type);
    open.run(call.reduce(op).input({input, open.rank_count()}).output({output, 1}).call());
  });
}

hemiola_result hemiola_all_to_all(hemiola_comm* comm, const void* input, void* output, int64_t count,
                                  hemiola_type type) {
  return with(comm, [&](c::Comm& open) {
    CallOfC call(OperationKind::all_to_all, count, type);
    open.run(call.input({input, open.rank_count()}).output({output, open.rank_count()}).call());
  });
}

hemiola_result hemiola_broadcast(hemiola_comm* comm, void* data, int64_t count, hemiola_type type, int root) {
  return with(comm, [&](c::Comm& open) {
    CallOfC call(OperationKind::broadcast, count, type);
    if (open.rank() == root) call.input({data, 1});
    open.run(call.root(root).output({data, 1}).call());
  });
}

hemiola_result hemiola_barrier(hemiola_comm* comm) {
  return with(comm, [](c::Comm& open) { open.run({}); });
}

hemiola_result hemiola_send(hemiola_comm* comm, const void* data, int64_t count, hemiola_type type, int to,
                            int64_t tag) {
  return with(comm, [&](c::Comm& open) {
    if (to < 0) throw ArgumentError("expected a rank to send to, found " + std::to_string(to));
    const auto request = message(open, data, count, type, to, tag);
    request->is_send = true;
    open.run_message(request);
  });
}

hemiola_result hemiola_recv(hemiola_comm* comm, void* data, int64_t count, hemiola_type type, int from,
                            int64_t tag, int* sender) {
  return with(comm, [&](c::Comm& open) {
    const int source = open.run_message(message(open, data, count, type, from, tag));
    if (sender != nullptr) *sender = source;
  });
}

hemiola_result hemiola_shrink(hemiola_comm* comm) {
  return with(comm, [](c::Comm& open) { open.shrink(); });
}

hemiola_result hemiola_grow(hemiola_comm* comm) {
  bool stays = true;
  const hemiola_result result = with(comm, [&](c::Comm& open) { stays = open.grow(); });
  return result == HEMIOLA_OK && !stays ? HEMIOLA_LEFT : result;
}

hemiola_result hemiola_leave(hemiola_comm* comm) {
  return with(comm, [](c::Comm& open) { open.leave(); });
}

const char* hemiola_error(const hemiola_comm* comm) {
  std::shared_ptr<Handle> handle;
  if (comm != nullptr) c::guarded(nullptr, [&] { handle = c::handle_of(comm); });
  return c::latest_error(handle.get());
}

hemiola_result hemiola_close(hemiola_comm* comm) {
  return c::guarded(nullptr, [&] {
    const std::shared_ptr<Handle> handle = c::take_handle(comm);
    if (!handle) throw ArgumentError("expected an open communicator, found NULL or one that is closed");
    handle->comm().close();
  });
}
