// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {

/// Compiled functions are pickled by their name, as Python's are; nanobind's type of them is reached through one.
void bind_pickling(nb::module_&) {
  const nb::object by_name = nb::cpp_function([](nb::handle function) {
    const auto text = [&](const char* name) { return nb::cast<std::string>(function.attr(name)); };
    return nb::make_tuple(nb::module_::import_("pkgutil").attr("resolve_name"),
                          nb::make_tuple(text("__module__") + ":" + text("__qualname__")));
  });
  nb::module_::import_("copyreg").attr("pickle")(by_name.type(), by_name);
}

}  // namespace hemiola::bindings
