// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/call_arguments.hpp"

#include <nanobind/stl/string.h>

#include "hemiola/base/error.hpp"
#include "hemiola/base/other_names.hpp"
#include "hemiola/bindings/class_name.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

constexpr std::size_t kMaxShown = 60;

/// Behind the name of a collective whose lists have arrays of any sizes.
constexpr std::string_view kBlocks = "_blocks";

/// A value as Python writes it, or its type where that is long or fails.
std::string shown(nb::handle object) {
  const auto text = nb::steal(PyObject_Repr(object.ptr()));
  if (!text.is_valid()) PyErr_Clear();
  const char* written = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (written != nullptr && std::string_view(written).size() <= kMaxShown) return written;
  PyErr_Clear();
  return class_of(object);
}

/// The content of a str; nothing of anything else, or of a text that is no Unicode.
std::optional<std::string_view> text_of(nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) return std::nullopt;
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &length);
  if (text == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(text, static_cast<std::size_t>(length));
}

std::string expected_op() {
  std::string known;
  for (std::string_view name : kOpNames)
    if (name != name_of(Op::premul_sum)) known += std::string(name) + ", ";
  return "an op of " + known + "or a hemiola.PremulSum";
}

}  // namespace

OperationKind operation_named(std::string_view name) {
  return name == "barrier" ? OperationKind::barrier : operation_of(kind_from_name(name));
}

CallArguments::CallArguments(const PyCall& from) {
  call_.has_blocks_of_any_size = from.kind.ends_with(kBlocks);
  const std::size_t rest = call_.has_blocks_of_any_size ? kBlocks.size() : 0;
  call_.kind = operation_named(from.kind.substr(0, from.kind.size() - rest));
  read_schedule(from.schedule);
  read_timeout(from.timeout_s);
  read_sparse(from.sparse);
  read_op(from.op);
  read_root(from.root);
  read_array(from.input, &input_, &call_.input);
  if (from.output.is(from.input)) [[likely]]
    call_.output = call_.input;  // in place: Python's two views of one array are the same
  else
    read_array(from.output, &output_, &call_.output);
}

void CallArguments::complain(nb::handle object, const std::string& expected) {
  if (!call_.complaint.empty()) return;
  call_.complaint = nb::isinstance<Complaint>(object) ? nb::cast<const Complaint&>(object).text
                                                      : "expected " + expected + ", found " + shown(object);
}

void CallArguments::read_array(nb::handle object, ArrayArgument* argument, std::optional<ArrayView>* view) {
  if (object.is_none()) return;
  const std::string wrong = call_.has_blocks_of_any_size ? argument->take_blocks_of_any_size(object)
                                                         : argument->take_blocks(object);
  if (wrong.empty() && call_.has_blocks_of_any_size && call_.kind == OperationKind::all_to_all)
    argument->take_as_bytes();  // which are only moved
  if (wrong.empty()) [[likely]]
    *view = argument->view();
  else if (nb::isinstance<Complaint>(object))
    complain(object, {});
  else if (call_.complaint.empty())
    call_.complaint = wrong;
}

void CallArguments::read_op(nb::handle object) {
  const auto name = text_of(object);
  const auto known = name ? op_meant(*name) : std::nullopt;
  if (known && *known != Op::premul_sum) [[likely]] {
    call_.op = *known;
  } else if (nb::isinstance<PremulSum>(object)) {
    call_.op = Op::premul_sum;
    call_.factor = nb::cast<const PremulSum&>(object).factor;
  } else {
    complain(object, expected_op());
  }
}

void CallArguments::read_root(nb::handle object) {
  if (PyIndex_Check(object.ptr())) [[likely]] {
    call_.root = PyNumber_AsSsize_t(object.ptr(), PyExc_OverflowError);
    if (call_.root != -1 || PyErr_Occurred() == nullptr) [[likely]]
      return;
    PyErr_Clear();
  }
  complain(object, "a rank as root");
}

void CallArguments::read_schedule(nb::handle object) {
  if (object.is_none()) [[likely]]
    return;
  if (nb::isinstance<Schedule>(object)) {
    call_.schedule = share(object);
  } else if (nb::isinstance<BlockTable>(object)) {
    call_.block_table = nb::cast<const BlockTable&>(object).sizes;
  } else if (const auto name = text_of(object)) {
    call_.algorithm = *name;
  } else {
    complain(object, "a Schedule, an algorithm's name or None");
  }
}

void CallArguments::read_timeout(nb::handle object) {
  if (object.is_none()) [[likely]]
    return;
  if (PyFloat_Check(object.ptr()))
    call_.timeout_s = PyFloat_AsDouble(object.ptr());
  else
    complain(object, "a timeout in seconds");
}

void CallArguments::read_sparse(nb::handle object) {
  if (object.is_none()) [[likely]]
    call_.sparse = SparseMode::where_seen;
  else if (object.ptr() == Py_True)
    call_.sparse = SparseMode::yes;
  else if (nb::isinstance<EightBitMessages>(object)) {
    const auto& messages = nb::cast<const EightBitMessages&>(object);
    call_.sparse = SparseMode::eight_bits;
    call_.rounds_to = messages.rounds_to;
    read_array(messages.residual, &rest_, &call_.rest);
  } else if (object.ptr() != Py_False)
    complain(object, "True, False or None as sparse");
}

}  // namespace hemiola::bindings
