// SPDX-License-Identifier: Apache-2.0
#include "hemiola/torch/accelerator/operation_table.h"

#include <nanobind/stl/shared_ptr.h>

#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "hemiola/base/dtype.hpp"
#include "hemiola/base/other_names.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/call_arguments.hpp"
#include "hemiola/bindings/python_communicator.hpp"

namespace nb = nanobind;

struct HemiolaPending {
  std::shared_ptr<hemiola::PendingOperation> operation;
};

struct HemiolaFailure {
  std::exception_ptr error;
};

namespace hemiola::bindings {
namespace {

constexpr int kUnknown = -1;

template <typename Enum>
int number_of(const std::optional<Enum>& found) {
  return found ? static_cast<int>(*found) : kUnknown;
}

int kind_number(const char* name) noexcept {
  try {
    return static_cast<int>(operation_named(name));
  } catch (...) {
    return kUnknown;
  }
}

int op_number(const char* name) noexcept {
  return number_of(op_meant(name));
}

int dtype_number(const char* name) noexcept {
  return number_of(dtype_named(name));
}

/// A call, and the shapes that its views have.
class TableCall {
 public:
  explicit TableCall(const HemiolaCall& from)
      : input_count_{from.input_count}, output_count_{from.output_count} {
    call_.kind = static_cast<OperationKind>(from.kind);
    call_.op = static_cast<Op>(from.op);
    call_.root = from.root;
    call_.sparse = SparseMode::where_seen;
    call_.timeout_s = from.timeout_s;
    const auto dtype = static_cast<DType>(from.dtype);
    if (input_count_ >= 0) call_.input = view(from.input, dtype, &input_count_);
    if (output_count_ >= 0) call_.output = view(from.output, dtype, &output_count_);
  }
  TableCall(const TableCall&) = delete;
  const Call& call() const { return call_; }

 private:
  static ArrayView view(void* data, DType dtype, const std::int64_t* count) {
    ArrayView made;
    made.data = static_cast<std::byte*>(data);
    made.dtype = dtype;
    made.shape = {count, 1};
    return made;
  }

  std::int64_t input_count_, output_count_;
  Call call_;
};

/// Sets Python's error to the thrown exception, by the translators of this module.
void set_python_error(const std::exception_ptr& error) noexcept {
  try {
    nb::cpp_function([error] { std::rethrow_exception(error); })();
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

PyCommunicator* communicator_of(PyObject* object) {
  return nb::cast<PyCommunicator*>(nb::handle(object));
}

int run(PyObject* communicator, const HemiolaCall* from) noexcept {
  try {
    communicator_of(communicator)->run(TableCall(*from).call());
    return 0;
  } catch (...) {
    set_python_error(std::current_exception());
    return -1;
  }
}

HemiolaPending* start(PyObject* communicator, const HemiolaCall* from, void (*release)(void*),
                      void* owner) noexcept {
  try {
    std::shared_ptr<const void> owned(owner, [release](const void* it) { release(const_cast<void*>(it)); });
    const TableCall made(*from);
    return new HemiolaPending{communicator_of(communicator)->start(made.call(), std::move(owned))};
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

PyObject* as_python(HemiolaPending* pending) noexcept {
  try {
    return nb::cast(pending->operation).release().ptr();
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

void raise(HemiolaFailure* failure) noexcept {
  set_python_error(failure->error);
  delete failure;
}

int wait(HemiolaPending* pending, double timeout_s, HemiolaFailure** failure) noexcept {
  try {
    return wait_hearing_signals(*pending->operation, timeout_s) ? 1 : 0;
  } catch (...) {
    *failure = new HemiolaFailure{std::current_exception()};
    return -1;
  }
}

/// In a forked child nothing runs any more.
int is_over(HemiolaPending* pending) noexcept {
  try {
    return pending->operation->is_done() ? 1 : 0;
  } catch (...) {
    return 1;
  }
}

void when_over(HemiolaPending* pending, void (*then)(void*), void* what) noexcept {
  try {
    pending->operation->when_done([then, what] { then(what); });
  } catch (...) {
    then(what);
  }
}

void forget(HemiolaPending* pending) noexcept {
  delete pending;
}

constexpr HemiolaOperationTable kTable = {
    HEMIOLA_OPERATION_TABLE_VERSION,
    &kind_number,
    &op_number,
    &dtype_number,
    &run,
    &start,
    &as_python,
    &raise,
    &wait,
    &is_over,
    &when_over,
    &forget,
};

}  // namespace

void bind_operation_table(nb::module_& m) {
  m.attr("_operation_table") = nb::capsule(&kTable, HEMIOLA_OPERATION_TABLE);
}

}  // namespace hemiola::bindings
