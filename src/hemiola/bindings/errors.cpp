#include <cstring>
#include <exception>
#include <system_error>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {
namespace {

/// A message may quote text that was cut within a character.
nb::object text_of(const std::exception& e) {
  return nb::steal(PyUnicode_DecodeUTF8(e.what(), static_cast<Py_ssize_t>(std::strlen(e.what())), "replace"));
}

}  // namespace

/// The Python classes live in hemiola.errors, so that they can have two bases (HemiolaError and the builtin).
void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    const auto raise = [](const char* name, const std::exception& e) {
      PyErr_SetObject(nb::module_::import_("hemiola.errors").attr(name).ptr(), text_of(e).ptr());
    };
    try {
      std::rethrow_exception(pointer);
    } catch (const ArgumentError& e) {
      raise("ArgumentError", e);
    } catch (const FormatError& e) {
      raise("FormatError", e);
    } catch (const MismatchError& e) {
      raise("MismatchError", e);
    } catch (const LostMemberError& e) {
      const nb::object type = nb::module_::import_("hemiola.errors").attr("LostRankError");
      const nb::object lost = type(text_of(e), static_cast<int>(e.rank), static_cast<int>(e.world_rank));
      PyErr_SetObject(type.ptr(), lost.ptr());
    } catch (const LostRankError& e) {
      raise("LostRankError", e);
    } catch (const TimeoutError& e) {
      raise("TimeoutError", e);
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
