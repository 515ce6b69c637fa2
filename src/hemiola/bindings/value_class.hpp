// SPDX-License-Identifier: Apache-2.0
// Classes of values: pickled and copied by a tuple of their parts, compared and hashed by it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <tuple>
#include <type_traits>

namespace hemiola::bindings {

/// `parts` takes a value apart; `made` makes it again of them.
template <typename Value, typename Parts, typename Made>
void bind_as_value(nanobind::class_<Value>& type, Parts parts, Made made) {
  namespace nb = nanobind;
  using State = std::decay_t<std::invoke_result_t<Parts, const Value&>>;
  type.def("__getstate__", parts)
      .def("__setstate__",
           [made](Value& self, const State& state) { new (&self) Value(std::apply(made, state)); })
      .def(
          "__eq__",
          [parts](const Value& a, nb::handle b) {
            return nb::isinstance<Value>(b) && parts(nb::cast<const Value&>(b)) == parts(a);
          },
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [parts](const Value& a) { return nb::hash(nb::repr(nb::cast(parts(a)))); });
}

/// Make a class refuse to be pickled and copied, with a sentence that names the reason and a remedy.
template <typename Value>
void bind_as_staying(nanobind::class_<Value>& type, const char* why) {
  type.def(
      "__reduce_ex__", [why](const Value&, int) { throw nanobind::type_error(why); },
      nanobind::sig("def __reduce_ex__(self, protocol: typing.SupportsIndex, /) -> typing.NoReturn"));
}

}  // namespace hemiola::bindings
