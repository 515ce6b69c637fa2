// SPDX-License-Identifier: Apache-2.0
// Papers of which several algorithms are.
#pragma once

#include "hemiola/algorithms/algorithm.hpp"

namespace hemiola::algorithms {

inline constexpr Paper kChan{"chan2007", "Chan, Heimlich, Purkayastha, van de Geijn 2007"};
inline constexpr Paper kOptcc{"OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"};
inline constexpr Paper kPccl{"PCCL", "Singh, Singh, Bhatele 2025"};
inline constexpr Paper kStragglar{"StragglAR", "Devraj, Ding, Vijaya Kumar, Kleinberg, Singh 2025"};
inline constexpr Paper kThakur{"thakur2005", "Thakur, Rabenseifner, Gropp 2005"};
inline constexpr Paper kTraff{"traff2024broadcast", "Träff 2024"};

}  // namespace hemiola::algorithms
