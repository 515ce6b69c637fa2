#include "hemiola/runtime/control/signature.hpp"

#include <algorithm>

namespace hemiola {
std::string_view name_of(OperationKind kind) {
  return kind == OperationKind::barrier ? "barrier" : name_of(static_cast<CollectiveKind>(kind));
}

void Signature::set_shape(std::span<const std::int64_t> dimensions) {
  dimension_count = static_cast<std::uint8_t>(std::min<std::size_t>(dimensions.size(), 255));
  shape = {};
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    shape[std::min(i, kShownDimensions - 1)] =
        i < kShownDimensions ? dimensions[i] : shape.back() * dimensions[i];
}

/// All-reduce and all-gather bring something of everybody to everybody. In a reduce-scatter and an all-to-all every rank
/// gets a part of its own, which is nothing where there are fewer elements than ranks; and nothing is not sent.
bool Signature::everybody_depends_on_everybody(int rank_count) const {
  const std::int64_t elements = byte_count() / static_cast<std::int64_t>(bytes_of(dtype));
  switch (kind) {
    case OperationKind::all_reduce:
    case OperationKind::all_gather:
      return elements > 0;
    case OperationKind::reduce_scatter:
    case OperationKind::all_to_all:
      return elements >= rank_count;
    default:
      return false;
  }
}

std::int64_t Signature::byte_count() const {
  if (dimension_count == 0) return 0;
  std::int64_t bytes = static_cast<std::int64_t>(bytes_of(dtype));
  for (std::size_t i = 0; i < std::min<std::size_t>(dimension_count, kShownDimensions); ++i)
    bytes *= shape[i];
  return bytes;
}

std::string describe_array(const Signature& signature) {
  std::string text(name_of(signature.dtype));
  text += "[";
  const std::size_t shown = std::min<std::size_t>(signature.dimension_count, Signature::kShownDimensions);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + std::to_string(signature.shape[i]);
  return text + (signature.dimension_count > shown ? ", …]" : "]");
}

}  // namespace hemiola
