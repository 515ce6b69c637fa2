// SPDX-License-Identifier: Apache-2.0
// The sets of kernels, each by its own file; nothing where this machine cannot run it. For kernels.cpp, and for sets that
// build on another.
#pragma once

#include <optional>

#include "hemiola/codec/kernels/kernels.hpp"

namespace hemiola::codec {

Kernels portable_kernels();
std::optional<Kernels> avx2_kernels();
std::optional<Kernels> avx512f_kernels();  ///< elements of 4 and 8 bytes; the others are AVX2's
std::optional<Kernels> avx512_kernels();   ///< with VBMI2
std::optional<Kernels> neon_kernels();

void put_avx512_ef(Kernels& kernels);  ///< AVX-512's own kernels for `ef`; needs VBMI2

}  // namespace hemiola::codec
