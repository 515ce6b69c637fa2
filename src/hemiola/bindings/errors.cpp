#include "hemiola/base/error.hpp"

#include <exception>

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;

namespace hemiola::bindings {

/// The Python classes live in hemiola.errors, so that they can have two bases (HemiolaError and the builtin).
void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    const auto raise = [](const char* name, const std::exception& e) {
      PyErr_SetString(nb::module_::import_("hemiola.errors").attr(name).ptr(), e.what());
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
    }
  });
}

}  // namespace hemiola::bindings
