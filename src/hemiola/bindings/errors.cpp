#include <cstring>
#include <exception>
#include <system_error>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {

/// The Python classes live in hemiola.errors, so that they can have two bases (HemiolaError and the builtin).
void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    const auto raise = [](const char* name, const std::exception& e) {
      // A message may quote text that was cut within a character.
      const auto size = static_cast<Py_ssize_t>(std::strlen(e.what()));
      const nb::object message = nb::steal(PyUnicode_DecodeUTF8(e.what(), size, "replace"));
      PyErr_SetObject(nb::module_::import_("hemiola.errors").attr(name).ptr(), message.ptr());
    };
    try {
      std::rethrow_exception(pointer);
    } catch (const ArgumentError& e) {
      raise("ArgumentError", e);
    } catch (const FormatError& e) {
      raise("FormatError", e);
    } catch (const MismatchError& e) {
      raise("MismatchError", e);
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
