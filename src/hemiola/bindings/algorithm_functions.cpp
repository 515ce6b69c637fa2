// SPDX-License-Identifier: Apache-2.0
// One Python function per function that an algorithm offers, with the signature and docstring that its registry entry
// states.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hemiola/algorithms/registry.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/class_name.hpp"
#include "hemiola/bindings/long_call.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

using algorithms::Factors;
using algorithms::Function;
using algorithms::Parameter;
using algorithms::Returns;
using algorithms::Type;
using algorithms::Value;

std::string type_name(Type type) {
  switch (type) {
    case Type::integer:
      return "int";
    case Type::number:
      return "float";
    case Type::integers:
      return "collections.abc.Sequence[int]";
    case Type::counts:
      return "int | collections.abc.Sequence[int]";
    case Type::factors:
      return "collections.abc.Mapping[int, float]";
    case Type::rank_or_factors:
      return "int | collections.abc.Mapping[int, float]";
    case Type::names:
      return "collections.abc.Sequence[str]";
    case Type::word:
      return "str";
    case Type::per_item:
      return "float | collections.abc.Sequence[float]";
    case Type::topology:
      return "hemiola._core.Topology";
  }
  return "";
}

std::string type_name(const Parameter& parameter) {
  return type_name(parameter.type) + (parameter.may_be_none ? " | None" : "");
}

const char* type_name(Returns returns) {
  switch (returns) {
    case Returns::schedule:
      return "hemiola._core.Schedule";
    case Returns::parts:
      return "hemiola._core.ScheduleParts";
    case Returns::count:
      return "int";
  }
  return "";
}

/// A default is None, a number or a word.
std::string text_of(const Value& fallback) {
  if (const auto* count = std::get_if<std::int64_t>(&fallback)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&fallback)) return nb::repr(nb::float_(*number)).c_str();
  if (const auto* word = std::get_if<std::string>(&fallback)) return "'" + *word + "'";
  return "None";
}

std::string signature_of(const Function& f) {
  std::string text;
  bool by_keyword = false;
  for (const Parameter& parameter : f.parameters) {
    if (parameter.is_keyword && !std::exchange(by_keyword, true)) text += "*, ";
    text += parameter.name + ": " + type_name(parameter);
    if (!parameter.is_required()) text += " = " + text_of(*parameter.fallback);
    text += ", ";
  }
  if (!text.empty()) text.resize(text.size() - 2);
  return "def " + f.name + "(" + text + ") -> " + type_name(f.returns);
}

/// Tries the types that a parameter takes one after the other.
template <typename T, typename... Others>
bool read(nb::handle object, Value* value) {
  if (T found; nb::try_cast(object, found)) {
    *value = std::move(found);
    return true;
  }
  if constexpr (sizeof...(Others) > 0) return read<Others...>(object, value);
  return false;
}

bool read(nb::handle object, const Parameter& parameter, Value* value) {
  if (parameter.may_be_none && object.is_none()) return true;
  switch (parameter.type) {
    case Type::integer:
      return read<std::int64_t>(object, value);
    case Type::number:
      return read<double>(object, value);
    case Type::integers:
      return read<std::vector<int>>(object, value);
    case Type::counts:
      return read<std::int64_t, std::vector<int>>(object, value);
    case Type::factors:
      return read<Factors>(object, value);
    case Type::rank_or_factors:
      return read<std::int64_t, Factors>(object, value);
    case Type::names:
      return read<std::vector<std::string>>(object, value);
    case Type::word:
      return read<std::string>(object, value);
    case Type::per_item:
      return read<double, std::vector<double>>(object, value);
    case Type::topology:
      return read<const Topology*>(object, value) && !object.is_none();
  }
  return false;
}

[[noreturn]] void refuse(const Function& f, const std::string& why) {
  throw nb::type_error((f.name + "(): " + why + "; its signature is: " + signature_of(f)).c_str());
}

/// The argument of a parameter, or nothing where it is left out.
nb::object argument_of(const Function& f, std::size_t place, const nb::args& args, const nb::kwargs& kwargs) {
  const Parameter& parameter = f.parameters[place];
  const nb::str name(parameter.name.c_str());
  if (place < args.size()) {
    if (kwargs.contains(name)) refuse(f, "two values for " + parameter.name);
    return nb::borrow(args[place]);
  }
  if (kwargs.contains(name)) return nb::borrow(kwargs[name]);
  if (parameter.is_required()) refuse(f, parameter.name + " is missing");
  return {};
}

std::vector<Value> argument_values(const Function& f, const nb::args& args, const nb::kwargs& kwargs) {
  std::vector<Value> values;
  std::size_t named = 0, by_place = 0;
  for (std::size_t place = 0; place < f.parameters.size(); ++place) {
    const Parameter& parameter = f.parameters[place];
    by_place += !parameter.is_keyword;
    const nb::object object = argument_of(f, place, args, kwargs);
    named += place >= args.size() && object.is_valid();
    Value value = parameter.fallback.value_or(Value{});
    if (object.is_valid()) {
      value = {};
      if (!read(object, parameter, &value))
        refuse(f,
               parameter.name + ": expected " + type_name(parameter) + ", found '" + class_of(object) + "'");
    }
    values.push_back(std::move(value));
  }
  if (args.size() > by_place)
    refuse(f, "expected at most " + std::to_string(by_place) + " arguments without a name, found " +
                  std::to_string(args.size()));
  if (named < kwargs.size()) refuse(f, "an argument that it does not have");
  return values;
}

nb::object call(const Function& f, const nb::args& args, const nb::kwargs& kwargs) {
  const std::vector<Value> values = argument_values(f, args, kwargs);
  algorithms::Result result = [&] {
    const LongCall call;
    return f.call(values);
  }();
  return std::visit([](auto& made) { return nb::cast(std::move(made)); }, result);
}

}  // namespace

void bind_algorithm_functions(nb::module_& m) {
  nb::module_ a = nb::borrow<nb::module_>(m.attr("algorithms"));
  static std::deque<std::pair<Function, std::string>>
      bound;  // with their signatures, for as long as Python runs
  for (const algorithms::Algorithm& algorithm : algorithms::registry())
    for (Function& function : functions_of(algorithm)) {
      std::string signature = signature_of(function);
      const auto& [f, text] = bound.emplace_back(std::move(function), std::move(signature));
      a.def(
          f.name.c_str(),
          [f = &f](const nb::args& args, const nb::kwargs& kwargs) { return call(*f, args, kwargs); },
          nb::sig(text.c_str()), f.doc.c_str());
    }
}

}  // namespace hemiola::bindings
