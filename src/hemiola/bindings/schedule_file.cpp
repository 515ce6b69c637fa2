#include "hemiola/schedule/schedule_file.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/schedule/text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

constexpr const char* kBinarySuffix = ".schedb";

void save(const Schedule& schedule, const std::filesystem::path& path) {
  nb::gil_scoped_release release;
  if (path.extension() == kBinarySuffix) {
    FileSink sink(path);
    return write_binary(schedule, &sink);
  }
  const std::string text = write_text(schedule);  // before the file is emptied
  FileSink(path).write(std::as_bytes(std::span(text)));
}

Schedule load(const std::filesystem::path& path) {
  nb::gil_scoped_release release;
  return read_schedule(std::make_unique<FileSource>(path));
}

nb::bytes to_bytes(const Schedule& schedule) {
  MemorySink sink;
  {
    nb::gil_scoped_release release;
    write_binary(schedule, &sink);
  }
  return nb::bytes(sink.bytes().data(), sink.bytes().size());
}

Schedule from_bytes(const nb::bytes& data) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data.c_str()), data.size());
  nb::gil_scoped_release release;
  return ScheduleFile(std::make_unique<MemorySource>(bytes, "schedule bytes")).load();
}

Schedule from_text(std::string_view text) {
  nb::gil_scoped_release release;
  return read_text(text);
}

void bind_forms(nb::class_<Schedule> schedule) {
  schedule
      .def("to_text", &write_text, nb::call_guard<nb::gil_scoped_release>(),
           R"(Return the readable form, which `from_text` turns back into an equal schedule.

Raises
------
ArgumentError
    If the schedule has more than 4,194,304 chunks or 1,048,576 steps that are nearly all unused.)")
      .def_static("from_text", &from_text, "text"_a,
                  R"(Read the text form (docs/formats/schedule.md).

Raises
------
FormatError
    If the text is malformed; names the line, what was expected and what was found.

Notes
-----
Memory stays within a small multiple of the text's size.)")
      .def(
          "save", &save, "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          R"(Write the schedule to a file: the binary form where the name ends in ``.schedb``, else the text form.

Raises
------
OSError
    If the file cannot be written.)")
      .def_static("load", &load, "path"_a, nb::sig("def load(path: str | os.PathLike[str]) -> Schedule"),
                  R"(Read a schedule from a file of either form, told apart by its first bytes.

Raises
------
OSError
    If the file cannot be read.
FormatError
    If it is malformed; names the line or the offset, what was expected and what was found.
ArgumentError
    If it is not a regular file.)")
      .def("to_bytes", &to_bytes, "Return the binary form. Equal schedules give equal bytes.")
      .def_static("from_bytes", &from_bytes, "data"_a,
                  "Read the binary form. Raises FormatError that names the offset.")
      .def("__getstate__", &to_bytes)
      .def("__setstate__",
           [](Schedule& self, const nb::bytes& state) { new (&self) Schedule(from_bytes(state)); });
}

void bind_file(nb::module_& m) {
  nb::class_<ScheduleFile>(
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
    If it is malformed; names the offset, what was expected and what was found.

Notes
-----
Opening reads the collective, the pairs of ranks and the index. Blocks are checked as they are read.)")
      .def(
          "__init__",
          [](ScheduleFile* self, const std::filesystem::path& path) {
            nb::gil_scoped_release release;
            new (self) ScheduleFile(std::make_unique<FileSource>(path));
          },
          "path"_a, nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"))
      .def_prop_ro("collective", &ScheduleFile::collective, nb::rv_policy::reference_internal)
      .def_prop_ro("rank_count", [](const ScheduleFile& f) { return f.collective().rank_count(); })
      .def_prop_ro("chunk_count", [](const ScheduleFile& f) { return f.collective().chunk_count(); })
      .def_prop_ro("step_count", &ScheduleFile::step_count)
      .def_prop_ro("transfer_count", &ScheduleFile::transfer_count)
      .def("load", &ScheduleFile::load, nb::call_guard<nb::gil_scoped_release>(),
           "Read all of it into memory, a Schedule. Raises FormatError where a block is malformed.");
}

}  // namespace

void bind_schedule_file(nb::module_& m) {
  bind_forms(nb::borrow<nb::class_<Schedule>>(nb::type<Schedule>()));
  bind_file(m);
}

}  // namespace hemiola::bindings
