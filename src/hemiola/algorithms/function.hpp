// SPDX-License-Identifier: Apache-2.0
// A function that an algorithm offers, as data: its name, its parameters, its docstring, and how to call it.
// An algorithm's author writes a typed lambda; Python, the stubs and the command line are made from these
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/per_item.hpp"
#include "hemiola/schedule/schedule_parts.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::algorithms {

/// Participant → factor by which its port is slower; those that are not named have factor 1.
using Factors = std::map<int, double>;
/// One participant with its factor, or without: slower by 2 or more.
using RankOrFactors = std::variant<int, Factors>;
/// As many for each, or one count for each.
using Counts = std::variant<int, std::vector<int>>;

/// The types of an argument; nothing stands for None.
using Value = std::variant<std::monostate, std::int64_t, double, std::vector<int>, Factors,
                           std::vector<std::string>, std::vector<double>, const Topology*, std::string>;

/// The type of a parameter.
enum class Type : std::uint8_t {
  integer,
  number,
  integers,
  counts,
  factors,
  rank_or_factors,
  names,
  word,
  per_item,
  topology
};

struct Parameter {
  std::string name;
  std::optional<Value> fallback = std::nullopt;  ///< its default; empty: required
  bool is_keyword = false;                       ///< only by its name
  Type type = Type::integer;                     ///< follows from the lambda
  bool may_be_none = false;                      ///< follows from the lambda

  bool is_required() const { return !fallback.has_value(); }
};

/// The parameter of that name, for the lists below.
inline Parameter required(std::string name) {
  return {.name = std::move(name)};
}
inline Parameter optional(std::string name, Value fallback = {}) {
  return {.name = std::move(name), .fallback = std::move(fallback)};
}
inline Parameter keyword(Parameter parameter) {
  parameter.is_keyword = true;
  return parameter;
}

/// The result of a function: a schedule, the same rank by rank, or a count.
using Result = std::variant<Schedule, ScheduleParts, std::int64_t>;
enum class Returns : std::uint8_t { schedule, parts, count };  // in the order of Result

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  std::string doc;
  Returns returns;
  std::function<Result(const std::vector<Value>&)> call;  ///< one value per parameter, each of its type
};

/// `value` as an int; throws ArgumentError that names the parameter where it does not fit.
int to_int(std::int64_t value, const std::string& parameter);

namespace detail {

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <typename T, typename... Others>
inline constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

/// The parameter type for that C++ type.
template <typename T>
constexpr Type type_of() {
  if constexpr (is_optional<T>) return type_of<typename T::value_type>();
  if constexpr (is_one_of<T, int, std::int64_t>) return Type::integer;
  if constexpr (is_one_of<T, double>) return Type::number;
  if constexpr (is_one_of<T, std::vector<int>>) return Type::integers;
  if constexpr (is_one_of<T, Counts>) return Type::counts;
  if constexpr (is_one_of<T, Factors>) return Type::factors;
  if constexpr (is_one_of<T, RankOrFactors>) return Type::rank_or_factors;
  if constexpr (is_one_of<T, std::vector<std::string>>) return Type::names;
  if constexpr (is_one_of<T, std::string>) return Type::word;
  if constexpr (is_one_of<T, PerItem>) return Type::per_item;
  if constexpr (is_one_of<T, Topology>) return Type::topology;
}

/// The value as that C++ type, which takes it.
template <typename T>
decltype(auto) as(const Value& value, const std::string& name) {
  if constexpr (is_optional<T>) {
    if (std::holds_alternative<std::monostate>(value)) return T{};
    return T{as<typename T::value_type>(value, name)};
  } else if constexpr (std::is_same_v<T, int>) {
    return to_int(std::get<std::int64_t>(value), name);
  } else if constexpr (std::is_same_v<T, RankOrFactors>) {
    if (const auto* rank = std::get_if<std::int64_t>(&value)) return T{to_int(*rank, name)};
    return T{std::get<Factors>(value)};
  } else if constexpr (std::is_same_v<T, Counts>) {
    if (const auto* same = std::get_if<std::int64_t>(&value)) return T{to_int(*same, name)};
    return T{std::get<std::vector<int>>(value)};
  } else if constexpr (std::is_same_v<T, PerItem>) {
    if (const auto* same = std::get_if<double>(&value)) return T{*same};
    return T{std::get<std::vector<double>>(value)};
  } else if constexpr (std::is_same_v<T, Topology>) {
    return (*std::get<const Topology*>(value));  // a reference
  } else {
    return (std::get<T>(value));  // a reference
  }
}

template <typename Typed, typename Returned, typename... Args>
Function describe(std::string name, std::vector<Parameter> parameters, std::string doc, Typed typed,
                  Returned (Typed::*)(Args...) const) {
  HEMIOLA_CHECK(parameters.size() == sizeof...(Args), "a parameter for each of the lambda's");
  std::size_t next = 0;
  const auto complete = [&]<typename Arg>(std::type_identity<Arg>) {
    Parameter& parameter = parameters.at(next++);
    parameter.type = type_of<Arg>();
    parameter.may_be_none = is_optional<Arg>;
  };
  (complete(std::type_identity<std::remove_cvref_t<Args>>{}), ...);
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  auto call = [typed, names = std::move(names)](const std::vector<Value>& values) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) -> Result {
      return typed(as<std::remove_cvref_t<Args>>(values.at(i), names[i])...);
    }(std::index_sequence_for<Args...>{});
  };
  constexpr Returns returns = std::is_same_v<Returned, Schedule>        ? Returns::schedule
                              : std::is_same_v<Returned, ScheduleParts> ? Returns::parts
                                                                        : Returns::count;
  return {std::move(name), std::move(parameters), std::move(doc), returns, std::move(call)};
}

}  // namespace detail

/// Describes a lambda whose parameters are, in this order, those listed.
template <typename Typed>
Function function(std::string name, std::vector<Parameter> parameters, std::string doc, Typed typed) {
  return detail::describe(std::move(name), std::move(parameters), std::move(doc), typed, &Typed::operator());
}

}  // namespace hemiola::algorithms
