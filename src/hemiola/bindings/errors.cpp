// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/cause.hpp"
#include "hemiola/runtime/net/encryption_error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/session/minority_error.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

/// A message may quote text that was cut within a character.
nb::object unicode(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// A message is one line, also where it quotes a text of several.
std::string on_one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c >= 0 && c < ' ') c = '?';
  return line;
}

nb::object rank_or_none(Rank rank) {
  return rank == Cause::kNobody ? nb::none() : nb::object(nb::int_(static_cast<int>(rank)));
}

}  // namespace

nb::object to_python_cause(const Cause& cause) {
  if (cause.rank == Cause::kNobody) return nb::none();
  const nb::object type = nb::module_::import_("hemiola.errors").attr("Cause");
  return type(static_cast<int>(cause.rank), unicode(cause.reason), 1e-9 * static_cast<double>(cause.at_ns));
}

/// The Python classes live in hemiola.errors, so that they can have two bases (HemiolaError and the builtin).
void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    const auto type_of = [](const char* name) {
      return nb::object(nb::module_::import_("hemiola.errors").attr(name));
    };
    const auto raise = [&](const char* name, const std::exception& e) {
      PyErr_SetObject(type_of(name).ptr(), unicode(e.what()).ptr());
    };
    const auto raise_for = [](const nb::object& error, const Cause& cause) {
      error.attr("cause") = to_python_cause(cause);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    };
    try {
      std::rethrow_exception(pointer);
    } catch (const ArgumentError& e) {
      PyErr_SetObject(type_of("ArgumentError").ptr(), unicode(on_one_line(e.what())).ptr());
    } catch (const BadMessageError& e) {
      raise_for(type_of("FormatError")(unicode(e.what())), e.cause);
    } catch (const FormatError& e) {
      raise("FormatError", e);
    } catch (const DifferingMemberError& e) {
      raise_for(type_of("MismatchError")(unicode(e.what())), e.cause);
    } catch (const MismatchError& e) {
      raise("MismatchError", e);
    } catch (const LostMemberError& e) {
      raise_for(type_of("LostRankError")(unicode(e.what()), rank_or_none(e.rank), rank_or_none(e.cause.rank)),
                e.cause);
    } catch (const MinorityError& e) {
      raise("MinorityError", e);
    } catch (const LostRankError& e) {
      raise("LostRankError", e);
    } catch (const AbsentMemberError& e) {
      raise_for(type_of("TimeoutError")(unicode(e.what())), e.cause);
    } catch (const TimeoutError& e) {
      raise("TimeoutError", e);
    } catch (const EncryptionError& e) {
      PyErr_SetObject(type_of("EncryptionError").ptr(), unicode(on_one_line(e.what())).ptr());
    } catch (const BudgetSpentError& e) {
      raise("BudgetSpentError", e);
    } catch (const InternalError& e) {
      raise("InternalError", e);
    } catch (const Error& e) {
      raise("HemiolaError", e);
    } catch (const std::system_error& e) {
      // OSError picks the subclass (FileNotFoundError, …) by the number.
      PyErr_SetObject(PyExc_OSError, nb::make_tuple(e.code().value(), e.what()).ptr());
    }
  });
}

}  // namespace hemiola::bindings
