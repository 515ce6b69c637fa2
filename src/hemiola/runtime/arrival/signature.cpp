#include "hemiola/runtime/arrival/signature.hpp"

#include <algorithm>
#include <cstdio>

namespace hemiola {
namespace {

bool has_root(OperationKind kind) {
  return kind != OperationKind::barrier && is_rooted(static_cast<CollectiveKind>(kind));
}

std::string describe_schedule(const Signature& signature) {
  char text[40];
  std::snprintf(text, sizeof text, "a schedule with digest %016llx",
                static_cast<unsigned long long>(signature.schedule_digest));
  return text;
}

}  // namespace

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

std::string describe_array(const Signature& signature) {
  std::string text(name_of(signature.dtype));
  text += "[";
  const std::size_t shown = std::min<std::size_t>(signature.dimension_count, Signature::kShownDimensions);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + std::to_string(signature.shape[i]);
  return text + (signature.dimension_count > shown ? ", …]" : "]");
}

Difference difference(const Signature& left, const Signature& right) {
  if (left.kind != right.kind)
    return {"called", std::string(name_of(left.kind)), std::string(name_of(right.kind))};
  if (left.dtype != right.dtype || left.shape != right.shape || left.dimension_count != right.dimension_count)
    return {"passed", describe_array(left), describe_array(right)};
  if (left.op != right.op)
    return {"passed", "op='" + std::string(name_of(left.op)) + "'",
            "op='" + std::string(name_of(right.op)) + "'"};
  if (left.root != right.root && has_root(left.kind))
    return {"passed", "root=" + std::to_string(left.root), "root=" + std::to_string(right.root)};
  return {"chose", describe_schedule(left), describe_schedule(right)};
}

}  // namespace hemiola
