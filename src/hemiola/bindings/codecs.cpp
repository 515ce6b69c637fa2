// SPDX-License-Identifier: Apache-2.0
// Arrays to coded messages and back, for hemiola.codecs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "hemiola/bindings/array_argument.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/codec/chosen_format.hpp"
#include "hemiola/codec/decoder.hpp"
#include "hemiola/codec/encoder.hpp"
#include "hemiola/codec/speed.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// An array of any dtype that we know, in one piece; `what` names the argument.
void take_array(ArrayArgument& argument, nb::handle array, const std::string& what) {
  const std::string wrong = argument.take(array);
  if (!wrong.empty()) throw ArgumentError(what + ": " + wrong);
  if (!argument.view().contiguous)
    throw ArgumentError(what + ": expected an array in C order, found one with gaps or another order. " +
                        "Pass np.ascontiguousarray(" + what + ").");
}

std::span<const std::byte> message_of(const ArrayArgument& argument) {
  return {argument.view().data, static_cast<std::size_t>(argument.view().byte_count())};
}

std::size_t codec_elements(const ArrayView& view) {
  return static_cast<std::size_t>(view.element_count()) * codec::elements_per(view.dtype);
}

std::optional<codec::Format> format_of(const std::optional<std::string>& name) {
  std::optional<codec::Format> chosen;
  if (name && !(chosen = codec::format_named(*name)))
    throw ArgumentError(
        "format: expected one of dense, pici, ef, hier, coo, or None for the smallest, found '" + *name +
        "'");
  return chosen;
}

nb::bytes encode_array(nb::handle x, const std::optional<std::string>& format) {
  ArrayArgument array;
  take_array(array, x, "x");
  const std::optional<codec::Format> chosen = format_of(format);
  const ArrayView& view = array.view();
  const std::size_t elements = codec_elements(view), room = codec::room_for(view.dtype, elements, chosen);
  const auto message = std::make_unique_for_overwrite<std::byte[]>(room);
  std::size_t bytes = 0;
  {
    GilReleased release;
    codec::Encoder encoder;
    bytes = codec::encode(encoder, view.dtype, view.data, elements, chosen, {message.get(), room});
  }
  return nb::bytes(message.get(), bytes);
}

void decode_array(nb::handle encoded, nb::handle out) {
  ArrayArgument from, to;
  take_array(from, encoded, "encoded");
  take_array(to, out, "out");
  if (!to.view().writable)
    throw ArgumentError("out: expected an array that can be written, found a read-only one");
  GilReleased release;
  codec::Decoder decoder;
  decoder.open(message_of(from), to.view().dtype, codec_elements(to.view()));
  const bool large = to.view().byte_count() >= codec::kBeyondCaches;
  decoder.decode(to.view().data, large ? codec::Destination::beyond_caches : codec::Destination::cached);
}

/// Format, dtype, elements of that dtype, values stored, bytes.
std::tuple<std::string, std::string, std::size_t, std::size_t, std::size_t> describe(nb::handle encoded) {
  ArrayArgument from;
  take_array(from, encoded, "encoded");
  const codec::MessageInfo info = codec::inspect(message_of(from));
  return {std::string(codec::name_of(info.format)), std::string(name_of(info.dtype)),
          info.elements / codec::elements_per(info.dtype), info.nonzeros, info.bytes};
}

using PySpeeds = std::tuple<double, double, double>;  ///< compress, decompress, add: plain bytes per second

PySpeeds eight_bit_speeds() {
  const GilReleased release;
  const codec::Speeds found = codec::measure_eight_bit_speeds();
  return {found.compress_Bps, found.decompress_Bps, found.add_Bps};
}

PySpeeds speeds(double density, const std::optional<std::string>& format) {
  const std::optional<codec::Format> chosen = format_of(format);
  const GilReleased release;
  const codec::Speeds found = codec::measure_speeds(density, chosen);
  return {found.compress_Bps, found.decompress_Bps, found.add_Bps};
}

/// Returns the choice before.
std::optional<std::string> choose(const std::optional<std::string>& format) {
  const std::optional<codec::Format> before = codec::choose_format(format_of(format));
  return before ? std::optional(std::string(codec::name_of(*before))) : std::nullopt;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const codec::Format format : codec::kFormats) names.emplace_back(codec::name_of(format));
  return names;
}

}  // namespace

void bind_codecs(nb::module_& m) {
  nb::module_ codecs = m.def_submodule("codecs", "See hemiola.codecs.");
  codecs.def("names", &format_names, "See hemiola.codecs.names.");
  codecs.def("encode", &encode_array, "x"_a, "format"_a.none(), "See hemiola.codecs.encode.");
  codecs.def("decode", &decode_array, "encoded"_a, "out"_a, "See hemiola.codecs.decode.");
  codecs.def("speeds", &speeds, "density"_a, "format"_a.none(), "See hemiola.codecs.speeds.");
  codecs.def("choose", &choose, "format"_a.none(), "See hemiola.codecs.choose.");
  codecs.def("eight_bit_speeds", &eight_bit_speeds, "See hemiola.quantization.choice.");
  codecs.def("describe", &describe, "encoded"_a, "See hemiola.codecs.describe.");
}

}  // namespace hemiola::bindings
