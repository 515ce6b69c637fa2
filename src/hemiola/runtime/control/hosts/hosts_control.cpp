// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/hosts/hosts_control.hpp"

#include <array>
#include <cstring>
#include <random>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/hosts/hosts_choices.hpp"
#include "hemiola/runtime/control/hosts/hosts_figures.hpp"
#include "hemiola/runtime/control/hosts/hosts_late_register.hpp"
#include "hemiola/runtime/control/hosts/hosts_pulse.hpp"
#include "hemiola/runtime/control/hosts/hosts_roll.hpp"

namespace hemiola {
namespace {

/// The parts, by the order of their topics, two each.
enum class Subject : Topic { roll, pulse, late, figures, choices };
constexpr Topic kTopicsOfACommunicator = 16;

/// Takes the first member's number, which no other communicator has, not even one of the same ranks. All draw: ranks
/// that do not agree on the order, which they learn only later, must not come to the topics of their session.
Topic agree_on_topics(const Members& members, const Deadline& deadline) {
  std::random_device device;
  std::uint64_t drawn = 0;
  while (drawn < kTopicsOfACommunicator)
    drawn = (std::uint64_t{device()} << 32 | device()) / kTopicsOfACommunicator * kTopicsOfACommunicator;
  const auto all =
      members.exchange("control plane between hosts", std::as_bytes(std::span(&drawn, 1)), deadline);
  if (all.front().size() != sizeof drawn)
    throw members.named(BadMessageError(Rank{0}, "a number of topics that is none"));
  std::memcpy(&drawn, all.front().data(), sizeof drawn);
  return drawn;
}

}  // namespace

Control HostsControl::connect(const Members& members, const Deadline& deadline) const {
  Courier* const courier = members.session->courier();
  if (!courier)
    throw ArgumentError(
        "the control plane 'hosts' needs a session that carries messages, and this one does not");
  const Topic first = agree_on_topics(members, deadline);
  const auto talk = [&](Subject subject) {
    return std::make_shared<const hosts::Talk>(members, courier, first + 2 * static_cast<Topic>(subject));
  };
  const auto progress = std::make_shared<hosts::Progress>(members.count());
  Control control;
  control.ground = members.session;
  control.roll = std::make_unique<hosts::HostsRoll>(talk(Subject::roll), progress);
  control.pulse = std::make_unique<hosts::HostsPulse>(talk(Subject::pulse), progress);
  control.late = std::make_unique<hosts::HostsLateRegister>(talk(Subject::late));
  control.figures = std::make_unique<hosts::HostsFigures>(talk(Subject::figures));
  control.choices = std::make_unique<hosts::HostsChoices>(talk(Subject::choices), control.pulse.get());
  return control;
}

}  // namespace hemiola
