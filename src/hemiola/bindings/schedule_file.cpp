// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/file/schedule_file.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/value_class.hpp"
#include "hemiola/schedule/file/text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

constexpr const char* kBinarySuffix = ".schedb";

void save(const Schedule& schedule, const std::filesystem::path& path) {
  const LongCall call;
  FileSink sink(path);
  if (path.extension() == kBinarySuffix) {
    write_binary(schedule, &sink);
  } else {
    const std::string text = write_text(schedule);
    sink.write(std::as_bytes(std::span(text)));
  }
  sink.finish();
}

/// Whether a file begins as XML, JSON or TACOS's table do: a schedule of another program.
bool is_foreign(const ByteSource& source) {
  constexpr std::string_view kBlank = " \t\r\n\xEF\xBB\xBF", kTable = "NPUs Count,";
  std::array<char, 256> first{};
  const auto size = static_cast<std::size_t>(std::min<std::int64_t>(source.size(), first.size()));
  source.read(0, std::as_writable_bytes(std::span(first).first(size)));
  std::string_view begin(first.data(), size);
  begin.remove_prefix(std::min(begin.find_first_not_of(kBlank), size));
  return begin.starts_with('<') || begin.starts_with('{') || begin.starts_with(kTable);
}

Schedule load(const std::filesystem::path& path) {
  auto source = std::make_unique<FileSource>(path);
  if (is_foreign(*source)) {
    return nb::cast<Schedule>(nb::module_::import_("hemiola.interchange.files").attr("load")(path));
  }
  const LongCall call;
  return read_schedule(std::move(source));
}

nb::bytes to_bytes(const Schedule& schedule) {
  MemorySink sink;
  {
    const LongCall call;
    write_binary(schedule, &sink);
  }
  return nb::bytes(sink.bytes().data(), sink.bytes().size());
}

Schedule from_bytes(const nb::bytes& data) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data.c_str()), data.size());
  const LongCall call;
  return ScheduleFile(std::make_unique<MemorySource>(bytes, "schedule bytes")).load();
}

Schedule from_text(std::string_view text) {
  const LongCall call;
  return read_text(text);
}

void bind_forms(nb::class_<Schedule> schedule) {
  schedule
      .def("to_text", &write_text, nb::call_guard<LongCall>(),
           R"(Return the readable form, which `from_text` turns back into an equal schedule.

Returns
-------
str

Raises
------
ArgumentError
    If the schedule has more than 4,194,304 chunks or 1,048,576 steps that are nearly all unused.)")
      .def_static("from_text", &from_text, "text"_a,
                  R"(Read the text form (docs/reference/formats/schedule.md).

Parameters
----------
text : str.

Returns
-------
Schedule

Raises
------
FormatError
    If the text is malformed; names the line, the expected and the found content.

Notes
-----
Memory stays within a small multiple of the text's size.)")
      .def(
          "save", &save, "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          R"(Write the schedule to a file: the binary form where the name ends in ``.schedb``, else the text form.

Parameters
----------
path : str or os.PathLike; a pipe or a device is written to directly.

Raises
------
OSError
    If the file cannot be written; its old content then stays.

Notes
-----
The schedule is written beside the file and takes its name in the end.)")
      .def_static(
          "load", &load, "path"_a, nb::sig("def load(path: str | os.PathLike[str]) -> Schedule"),
          R"(Read a schedule from a file of either form, or of another program; told apart by its first bytes.

Parameters
----------
path : str or os.PathLike. docs/reference/formats/published.md lists the formats of other programs.

Returns
-------
Schedule

Raises
------
OSError
    If the file cannot be read.
FormatError
    If it is malformed; names the line or the offset, the expected and the found content. Another program's file is
    refused, too, where its own run stops or ends wrong.
ArgumentError
    If it is not a regular file.)")
      .def("to_bytes", &to_bytes, R"(Return the binary form. Equal schedules give equal bytes.

Returns
-------
bytes)")
      .def_static("from_bytes", &from_bytes, "data"_a,
                  R"(Read the binary form.

Parameters
----------
data : bytes.

Returns
-------
Schedule

Raises
------
FormatError
    If they are malformed; names the offset, the expected and the found content.)")
      .def("__getstate__", &to_bytes)
      .def("__setstate__",
           [](Schedule& self, const nb::bytes& state) { new (&self) Schedule(from_bytes(state)); });
}

/// Python opens no other source.
std::string path_of(const ScheduleFile& file) {
  return dynamic_cast<const FileSource&>(file.source()).path();
}

void bind_file(nb::module_& m) {
  auto schedule_file = nb::class_<ScheduleFile>(
      m, "ScheduleFile",
      R"(A binary schedule on disk that is read in blocks, for schedules that do not fit in memory.

Parameters
----------
path : str or os.PathLike, a file that `Schedule.save` wrote as ``.schedb``.

Raises
------
OSError
    If the file cannot be read.
FormatError
    If it is malformed; names the offset, the expected and the found content.

Notes
-----
Opening reads the collective, the pairs of ranks and the index. Blocks are checked as they are read.
Pickled, it is its path: unpickling opens the file there.)");
  schedule_file
      .def(
          "__init__",
          [](ScheduleFile* self, const std::filesystem::path& path) {
            const LongCall call;
            new (self) ScheduleFile(std::make_unique<FileSource>(path));
          },
          "path"_a, nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"))
      .def_prop_ro("collective", &ScheduleFile::collective, nb::rv_policy::reference_internal)
      .def_prop_ro("rank_count", [](const ScheduleFile& f) { return f.collective().rank_count(); })
      .def_prop_ro("chunk_count", [](const ScheduleFile& f) { return f.collective().chunk_count(); })
      .def_prop_ro("step_count", &ScheduleFile::step_count)
      .def_prop_ro("transfer_count", &ScheduleFile::transfer_count)
      .def("load", &ScheduleFile::load, nb::call_guard<LongCall>(),
           R"(Read all of it into memory.

Returns
-------
Schedule

Raises
------
FormatError
    If a block is malformed; names the offset, the expected and the found content.)")
      .def("__repr__", [](const ScheduleFile& f) {
        return "<ScheduleFile " + path_of(f) + ": " + std::to_string(f.transfer_count()) + " transfers>";
      });
  bind_as_value(
      schedule_file, [](const ScheduleFile& f) { return std::tuple(path_of(f)); },
      [](const std::string& path) { return ScheduleFile(std::make_unique<FileSource>(path)); });
}

}  // namespace

void bind_schedule_file(nb::module_& m) {
  bind_forms(nb::borrow<nb::class_<Schedule>>(nb::type<Schedule>()));
  bind_file(m);
}

}  // namespace hemiola::bindings
