// SPDX-License-Identifier: Apache-2.0
// Text with units ↔ plain numbers, for readers and writers of text in Python.
#include "hemiola/base/units.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_units(nb::module_& m) {
  nb::module_ u =
      m.def_submodule("units", "Text with units and plain numbers: seconds, bytes, bytes per second.");
  u.def("parse_seconds", &parse_seconds, "text"_a,
        R"(Read a time such as '0.5 us' (s, ms, us, µs, ns, ps).

Parameters
----------
text : str, a number >= 0 and a unit.

Returns
-------
float, seconds.

Raises
------
FormatError, naming the text, for anything else.)");
  u.def("parse_bandwidth", &parse_bandwidth, "text"_a,
        R"(Read a bandwidth such as '50 GB/s', '200 Gbit/s', '100 Gbps' or '400G'.

Parameters
----------
text : str, a number > 0 and a unit: SI or binary prefix, B for bytes or bit or b for bits, /s or ps. G or T alone is a
    port's, in bits per second.

Returns
-------
float, bytes per second.

Raises
------
FormatError, naming the text, for anything else.)");
  u.def("parse_bytes", &parse_bytes, "text"_a,
        R"(Read a size such as '64 MiB', '64M' or '4096'.

Parameters
----------
text : str, a number >= 0 and optionally a unit; a whole number of bytes.

Returns
-------
int, bytes.

Raises
------
FormatError, naming the text, for anything else.)");
  u.def("format_seconds", &format_seconds, "seconds"_a,
        R"(Write a time with its unit, such as '3.2 us'.

Parameters
----------
seconds : float.

Returns
-------
str, four digits at most.)");
  u.def("format_bandwidth", &format_bandwidth, "bandwidth"_a,
        R"(Write a bandwidth with its unit, such as '50 GB/s'.

Parameters
----------
bandwidth : float, bytes per second.

Returns
-------
str, four digits at most.)");
  u.def("format_bytes", &format_bytes, "nbytes"_a, R"(Write a size with its binary unit, such as '64 MiB'.

Parameters
----------
nbytes : int, bytes.

Returns
-------
str)");
}

}  // namespace hemiola::bindings
