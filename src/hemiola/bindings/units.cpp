// Text with units ↔ plain numbers, for whoever reads or prints text in Python.
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
        R"(Read a bandwidth such as '50 GB/s' or '200 Gbit/s'.

Parameters
----------
text : str, a number > 0 and a unit: SI or binary prefix, B or bit, per second.

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
        "Write a time with four digits and its unit, such as '3.2 us'.");
  u.def("format_bandwidth", &format_bandwidth, "bandwidth"_a,
        "Write a bandwidth in bytes per second with four digits and its unit, such as '50 GB/s'.");
  u.def("format_bytes", &format_bytes, "nbytes"_a, "Write a size with its binary unit, such as '64 MiB'.");
}

}  // namespace hemiola::bindings
