// SPDX-License-Identifier: Apache-2.0
// Python's view of a function besides its call: its signature for `inspect`, and a sentence where the
// arguments are of the wrong type. The sentences themselves are made by hemiola.arguments, which Python
// functions use as well.
#include <nanobind/stl/string.h>

#include <unordered_map>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/class_name.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

nb::module_ sentences() {
  return nb::module_::import_("hemiola.arguments.compiled");
}

/// The functions that answer in our words, and how nanobind calls each; for as long as Python runs.
std::unordered_map<PyObject*, vectorcallfunc>& callers() {
  static std::unordered_map<PyObject*, vectorcallfunc> found;
  return found;
}

vectorcallfunc& caller_of(PyObject* function) {
  const Py_ssize_t offset = Py_TYPE(function)->tp_vectorcall_offset;
  return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) + offset);
}

/// Puts a better sentence in the place of the error that is set, if an argument does not fit.
void reword(PyObject* function, PyObject* const* args, std::size_t count, PyObject* names) {
  nb::python_error original;
  try {
    nb::list by_place;
    for (std::size_t i = 0; i < count; ++i) by_place.append(nb::handle(args[i]));
    nb::dict by_name;
    const Py_ssize_t name_count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < name_count; ++i)
      by_name[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[count + static_cast<std::size_t>(i)]);
    const nb::object sentence =
        sentences().attr("wrong_argument")(nb::handle(function), nb::tuple(by_place), by_name);
    if (sentence.is_none()) return original.restore();
    PyErr_SetObject(nb::module_::import_("hemiola.errors").attr("ArgumentTypeError").ptr(), sentence.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

PyObject* call(PyObject* function, PyObject* const* args, std::size_t flags, PyObject* names) {
  PyObject* result = callers().at(function)(function, args, flags, names);
  // Python's functions behind a binding miss an attribute where the binding took any object.
  if (result == nullptr &&
      (PyErr_ExceptionMatches(PyExc_TypeError) != 0 || PyErr_ExceptionMatches(PyExc_AttributeError) != 0)) {
    // nanobind marks calls of its own in a bit below Python's.
    const std::size_t marks = PY_VECTORCALL_ARGUMENTS_OFFSET | (PY_VECTORCALL_ARGUMENTS_OFFSET >> 1);
    reword(function, args, flags & ~marks, names);
  }
  return result;
}

bool is_compiled_function(nb::handle object) {
  const std::string name = class_of(object);
  return name == "nb_func" || name == "nb_method";
}

void answer_calls_of(nb::handle function) {
  vectorcallfunc& caller = caller_of(function.ptr());
  if (callers().emplace(function.inc_ref().ptr(), caller).second) caller = &call;
}

PyObject* signature_of(PyObject* function, void*) {
  try {
    return sentences().attr("signature")(nb::handle(function)).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

/// nanobind's function types are closed to Python's setattr, so that the attribute goes into the type's own table.
void describe_signatures(nb::handle function_type) {
  static PyGetSetDef attribute = {"__signature__", signature_of, nullptr, "What inspect.signature answers.",
                                  nullptr};
  auto* type = reinterpret_cast<PyTypeObject*>(function_type.ptr());
  if (PyDict_GetItemString(type->tp_dict, attribute.name) != nullptr) return;
  const nb::object descriptor = nb::steal(PyDescr_NewGetSet(type, &attribute));
  if (!descriptor.is_valid() || PyDict_SetItemString(type->tp_dict, attribute.name, descriptor.ptr()) != 0)
    throw nb::python_error();
  PyType_Modified(type);
}

}  // namespace

void answer_in_words(nb::handle scope) {
  const nb::object members = scope.attr("__dict__").attr("values")();
  for (nb::handle member : nb::list(members)) {
    if (is_compiled_function(member)) {
      answer_calls_of(member);
      describe_signatures(member.type());
      if (nb::hasattr(member, "__get__")) describe_signatures(member.attr("__get__")(scope).type());
    } else if (nb::isinstance<nb::module_>(member) || nb::type_check(member)) {
      answer_in_words(member);
    }
  }
}

}  // namespace hemiola::bindings
