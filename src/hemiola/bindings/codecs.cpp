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
#include "hemiola/codec/kernels/kernels.hpp"
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

/// Compress, decompress, add: plain bytes per second.
std::tuple<double, double, double> speeds(double density, const std::optional<std::string>& format) {
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

/// A message of eight-bit blocks: their scales, then their codes.
struct EightBits {
  float* scales;
  std::int8_t* codes;

  static std::size_t bytes(std::size_t elements) {
    return (elements + codec::kBlockElements - 1) / codec::kBlockElements * sizeof(float) + elements;
  }
  /// The arrays are of hemiola.quantization.blocks, which gives them these sizes and types.
  EightBits(const ArrayView& message, std::size_t elements)
      : scales(reinterpret_cast<float*>(message.data)),
        codes(reinterpret_cast<std::int8_t*>(message.data) + bytes(elements) - elements) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(message.data) % alignof(float) == 0;
    HEMIOLA_CHECK(is_aligned && static_cast<std::size_t>(message.byte_count()) == bytes(elements),
                  "message of eight-bit blocks");
  }
};

void quantize(nb::handle x, nb::handle rest, nb::handle message) {
  ArrayArgument values, left, to;
  take_array(values, x, "x");
  take_array(left, rest, "rest");
  take_array(to, message, "message");
  const std::size_t elements = codec_elements(values.view());
  HEMIOLA_CHECK(values.view().dtype == DType::float32 && left.view().dtype == DType::float32 &&
                    codec_elements(left.view()) == elements && left.view().writable && to.view().writable,
                "arrays to quantize");
  const EightBits blocks(to.view(), elements);
  GilReleased release;
  codec::best_kernels().quantize(reinterpret_cast<const float*>(values.view().data),
                                 reinterpret_cast<float*>(left.view().data), elements, blocks.scales,
                                 blocks.codes);
}

void restore(nb::handle message, nb::handle out, float factor, bool adds) {
  ArrayArgument from, to;
  take_array(from, message, "message");
  take_array(to, out, "out");
  HEMIOLA_CHECK(to.view().dtype == DType::float32 && to.view().writable, "array to restore");
  const std::size_t elements = codec_elements(to.view());
  const EightBits blocks(from.view(), elements);
  const codec::Kernels& kernels = codec::best_kernels();
  GilReleased release;
  (adds ? kernels.add_restored : kernels.restore)(blocks.scales, blocks.codes, elements, factor,
                                                  reinterpret_cast<float*>(to.view().data));
}

std::vector<std::string> format_names() {
  return {codec::kFormatNames.begin(), codec::kFormatNames.end()};
}

}  // namespace

void bind_codecs(nb::module_& m) {
  nb::module_ codecs = m.def_submodule("codecs", "See hemiola.codecs.");
  codecs.def("names", &format_names, "See hemiola.codecs.names.");
  codecs.def("encode", &encode_array, "x"_a, "format"_a.none(), "See hemiola.codecs.encode.");
  codecs.def("decode", &decode_array, "encoded"_a, "out"_a, "See hemiola.codecs.decode.");
  codecs.def("speeds", &speeds, "density"_a, "format"_a.none(), "See hemiola.codecs.speeds.");
  codecs.def("choose", &choose, "format"_a.none(), "See hemiola.codecs.choose.");
  codecs.def("quantize", &quantize, "x"_a, "rest"_a, "message"_a, "See hemiola.quantization.blocks.");
  codecs.def("restore", &restore, "message"_a, "out"_a, "factor"_a, "adds"_a,
             "See hemiola.quantization.blocks.");
  codecs.def("describe", &describe, "encoded"_a, "See hemiola.codecs.describe.");
}

}  // namespace hemiola::bindings
