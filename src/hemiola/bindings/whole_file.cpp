// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/whole_file.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include "hemiola/base/refusal.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/long_call.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_whole_file(nb::module_& m) {
  m.def(
      "write_whole",
      [](const std::filesystem::path& path, const nb::bytes& content) {
        const std::span bytes(reinterpret_cast<const std::byte*>(content.c_str()), content.size());
        const LongCall call;
        WholeFile file(path, "'" + path.string() + "'");
        file.write(bytes);
        file.finish();
      },
      "path"_a, "content"_a, nb::sig("def write_whole(path: str | os.PathLike[str], content: bytes) -> None"),
      "See hemiola.whole_file.write_whole.");
  m.def(
      "check_whole",
      [](const std::filesystem::path& path) {
        const LongCall call;
        WholeFile::check(path, "'" + path.string() + "'");
      },
      "path"_a, nb::sig("def check_whole(path: str | os.PathLike[str]) -> None"),
      "See hemiola.whole_file.check_whole.");
  m.def("refusal", &refusal, "what"_a, "error"_a,
        "Describe a system's refusal: the resource, the reason, its limit and how to lift it.");
}

}  // namespace hemiola::bindings
