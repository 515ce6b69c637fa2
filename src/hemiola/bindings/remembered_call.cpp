// SPDX-License-Identifier: Apache-2.0
// A method of Python's whose latest call each communicator remembers. The same call again skips Python, the reading of
// arguments and the desk; anything else takes the method's own way. Python sees the method: its signature, its text.
#include <nanobind/nanobind.h>
#include <structmember.h>

#include <exception>
#include <utility>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/call_arguments.hpp"
#include "hemiola/bindings/call_memo.hpp"
#include "hemiola/bindings/python_communicator.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

struct RememberedCall {
  PyObject_HEAD vectorcallfunc call;
  PyObject* method;
  PyObject* dict;
  OperationKind kind;
};

RememberedCall* remembered(PyObject* self) {
  return reinterpret_cast<RememberedCall*>(self);
}

thread_local std::exception_ptr thrown;  ///< by the call that `raise` is for

/// Raises a C++ exception as every bound function does; null as those return it.
PyObject* raise(std::exception_ptr error) {
  static const nb::object* const rethrow =
      new nb::object(nb::cpp_function([] { std::rethrow_exception(std::exchange(thrown, nullptr)); }));
  thrown = std::move(error);
  return PyObject_CallNoArgs(rethrow->ptr());
}

/// The core of a communicator in Python, which has it in a slot; null where it is none.
PyCommunicator* core_of(PyObject* communicator) {
  static PyObject* const name = PyUnicode_InternFromString("_core");
  static PyObject* const type = nb::type<PyCommunicator>().inc_ref().ptr();
  PyObject* const found = _PyType_Lookup(Py_TYPE(communicator), name);  // borrowed
  if (found == nullptr || !Py_IS_TYPE(found, &PyMemberDescr_Type)) return nullptr;
  const PyMemberDef* const slot = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
  if (slot->type != T_OBJECT_EX) return nullptr;
  PyObject* const core = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(communicator) + slot->offset);
  const bool is_core = core != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(core)) == type;
  return is_core ? nb::inst_ptr<PyCommunicator>(core) : nullptr;  // the communicator keeps it
}

PyObject* call_remembered(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  const auto& [head, vectorcall, method, dict, kind] = *remembered(self);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  const std::size_t all = count + (names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names)));
  if (count == 0) return PyObject_Vectorcall(method, args, flags, names);
  const nb::object kept = nb::borrow(args[0]);
  try {
    PyCommunicator* const core = core_of(args[0]);
    if (core == nullptr) return PyObject_Vectorcall(method, args, flags, names);
    const CallMemo::Arguments arguments{{args + 1, all - 1}, names};
    if (const auto result = core->run_again(kind, arguments)) [[likely]]
      return nb::object(*result).release().ptr();
    core->forget_latest();
    PyObject* const result = PyObject_Vectorcall(method, args, flags, names);
    if (result != nullptr) core->remember(kind, arguments, result);
    return result;
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  } catch (...) {
    return raise(std::current_exception());
  }
}

PyObject* bind_remembered(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr ? Py_NewRef(self) : PyMethod_New(self, instance);
}

void end_remembered(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(remembered(self)->method);
  Py_CLEAR(remembered(self)->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef remembered_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RememberedCall, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(RememberedCall, dict), READONLY, nullptr},
    {}};
PyGetSetDef remembered_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
PyType_Slot remembered_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_descr_get, reinterpret_cast<void*>(bind_remembered)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(end_remembered)},
                                  {Py_tp_members, remembered_members},
                                  {Py_tp_getset, remembered_attributes},
                                  {0, nullptr}};
PyType_Spec remembered_spec = {"hemiola._core.RememberedCall", sizeof(RememberedCall), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                               remembered_slots};

nb::object remember_calls(nb::handle method) {
  static PyObject* const type = PyType_FromSpec(&remembered_spec);
  if (type == nullptr) throw nb::python_error();
  PyObject* const made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0);
  if (made == nullptr) throw nb::python_error();
  nb::object owner = nb::steal(made);
  RememberedCall* const of = remembered(made);
  of->call = call_remembered;
  of->method = Py_NewRef(method.ptr());
  of->kind = operation_named(nb::cast<const char*>(method.attr("__name__")));
  return nb::module_::import_("functools").attr("update_wrapper")(owner, method);
}

}  // namespace

void bind_remembered_call(nb::module_& m) {
  m.def("remember_calls", &remember_calls, "method"_a,
        "Return the method of a communicator's class, named as a collective, with a memory of its latest "
        "call in each "
        "communicator. The same call again, on the same memory, takes a short way.");
}

}  // namespace hemiola::bindings
