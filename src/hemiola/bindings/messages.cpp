// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/messages.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/bindings/array_argument.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/left_to_python.hpp"
#include "hemiola/bindings/signals.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

std::string call_of(const PyMessage& from) {
  return from.is_send ? "send: " : "recv: ";
}

std::int64_t integer(const PyMessage& from, nb::handle object, const std::string& expected,
                     std::int64_t most) {
  std::int64_t value = -1;
  if (PyIndex_Check(object.ptr())) {
    const auto number = nb::steal(PyNumber_Index(object.ptr()));
    int overflow = 0;
    value = number.is_valid() ? PyLong_AsLongLongAndOverflow(number.ptr(), &overflow) : -1;
    if (PyErr_Occurred() != nullptr || overflow != 0) value = -1;
    PyErr_Clear();
  }
  if (value < 0 || value > most)
    throw ArgumentError(call_of(from) + "expected " + expected + ", found " +
                        nb::cast<std::string>(nb::repr(object)).substr(0, 60));
  return value;
}

std::optional<Rank> peer_of(const PyMessage& from, int rank_count) {
  if (from.peer.is_none() && !from.is_send) return std::nullopt;
  const std::string expected = "a rank in 0 … " + std::to_string(rank_count - 1);
  return Rank{integer(from, from.peer, expected + (from.is_send ? " as dst" : ", or None for any, as src"),
                      rank_count - 1)};
}

double timeout_of(const PyMessage& from, double otherwise) {
  if (from.timeout_s.is_none()) return otherwise;
  const double timeout_s = PyFloat_AsDouble(from.timeout_s.ptr());
  if (PyErr_Occurred() == nullptr && timeout_s > 0 && timeout_s < 1e9) return timeout_s;
  PyErr_Clear();
  throw ArgumentError(call_of(from) + "expected a timeout above 0 seconds, found " +
                      nb::cast<std::string>(nb::repr(from.timeout_s)).substr(0, 60));
}

/// An array that any thread may let go of.
std::shared_ptr<const ArrayArgument> array_of(const PyMessage& from) {
  const auto array = ended_with_gil(new ArrayArgument);
  const std::string wrong = array->take(from.array);
  if (!wrong.empty()) throw ArgumentError(call_of(from) + wrong);
  if (!array->view().contiguous)
    throw ArgumentError(call_of(from) +
                        "the array is not contiguous in C order; pass numpy.ascontiguousarray() of it");
  if (!from.is_send && !array->view().writable)
    throw ArgumentError(call_of(from) +
                        "the array is read-only, but the message goes there; pass a writable one");
  return array;
}

}  // namespace

std::shared_ptr<MessageRequest> request_of(const PyMessage& from, const Communicator& communicator) {
  const auto array = array_of(from);
  auto request = std::make_shared<MessageRequest>();
  request->is_send = from.is_send;
  request->peer = peer_of(from, communicator.rank_count());
  request->tag =
      integer(from, from.tag, "a tag from 0 on that fits 63 bits", std::numeric_limits<std::int64_t>::max());
  request->dtype = array->view().dtype;
  request->element_count = array->view().element_count();
  request->data = array->view().data;
  request->deadline = Deadline(timeout_of(from, communicator.options().timeout_s));
  request->keep_alive = array;
  return request;
}

/// Of a communicator that is gone all messages are done, and of one that goes in another thread they will be.
bool PendingMessage::wait(std::optional<double> timeout_s) const {
  home_.check();
  // Let go of with the GIL again, in case it is the last to hold it.
  const std::shared_ptr<Communicator> communicator = communicator_.lock();
  const GilReleased release;
  static const std::function<void()> interrupted = raise_signals;
  constexpr double kForever_s = 1e9;
  const Deadline deadline(timeout_s.value_or(kForever_s));
  if (communicator)
    return communicator->messages().wait_for(request_, timeout_s.value_or(kForever_s),
                                             communicator->until_closed(interrupted));
  while (!request_->is_done && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    raise_signals();
  }
  if (!request_->is_done) return false;
  if (request_->error) std::rethrow_exception(request_->error);
  return true;
}

bool PendingMessage::is_done() const {
  home_.check();
  return request_->is_done;
}

void bind_messages(nb::module_& m) {
  nb::class_<PendingMessage>(m, "PendingMessage", "A message that is sent or received in the background.")
      .def("wait", &PendingMessage::wait, "timeout_s"_a = nb::none())
      .def("done", &PendingMessage::is_done)
      .def_prop_ro("source", &PendingMessage::source);
}

}  // namespace hemiola::bindings
