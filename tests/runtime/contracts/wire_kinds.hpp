// SPDX-License-Identifier: Apache-2.0
// Kinds of wire for tests: TCP between ranks of this machine, UCX if it is there, and a kind that does not reach everybody.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/tcp_socket.hpp"
#include "hemiola/runtime/wire/tcp/tcp_kind.hpp"
#include "hemiola/runtime/wire/ucx/ucx_kind.hpp"

namespace hemiola::testing {

/// Given this rank's number only when it writes its card.
class TcpOverLoopback final : public WireKind {
 public:
  TcpOverLoopback(const char* address, int nic_count)
      : address_(Endpoint::parse(address)), nic_count_(static_cast<std::size_t>(nic_count)) {}

  std::string name() const override { return "tcp over loopback"; }
  bool reaches(const Session&, Rank) const override { return true; }
  Bytes card(const Members& members) override {
    static const Token token = Token::random();
    auto reception = std::make_shared<Reception>(
        listen_at(address_), Credentials{.token = token, .rank = members.session->rank()});
    kinds_.push_back(std::make_unique<TcpKind>(TcpOptions{
        std::move(reception), std::vector<NicAddresses>(nic_count_, NicAddresses{.endpoints = {address_}})}));
    return kinds_.back()->card(members);
  }
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override {
    const std::unique_ptr<TcpKind> kind = std::move(kinds_.front());
    kinds_.pop_front();
    return kind->connect(members, cards, deadline);
  }

 private:
  Endpoint address_;
  std::size_t nic_count_;
  std::deque<std::unique_ptr<TcpKind>> kinds_;  ///< of wires that have a card and are not connected
};

/// The path that scripts/cpp_tests.sh has found among Python's packages comes first, and without it the system's UCX, so that
/// both can be tested. Says why there is none.
inline std::string why_no_ucx() {
#ifdef HEMIOLA_SANITIZED
  return "UCX, which is not built for sanitizers, cannot run under one";
#endif
  static const std::string reason = [] {
    const char* const packaged = std::getenv("HEMIOLA_TEST_UCX");
    if (packaged != nullptr) ::dlopen(packaged, RTLD_NOW);
    try {
      UcxLibrary::open({});
      return std::string();
    } catch (const ArgumentError& error) {
      return std::string(error.what());
    }
  }();
  return reason;
}

/// By these transports only, as UCX_TLS names them.
inline std::shared_ptr<WireKind> ucx_by(const char* transports) {
  if (!why_no_ucx().empty()) throw ArgumentError(why_no_ucx());
  return std::make_shared<UcxKind>(UcxOptions{.packaged = {}, .transports = transports});
}

/// A kind that reaches some ranks only, as shared memory does across hosts.
class Among final : public WireKind {
 public:
  Among(std::vector<Rank> ranks, std::shared_ptr<WireKind> kind)
      : ranks_(std::move(ranks)), kind_(std::move(kind)) {}

  std::string name() const override { return kind_->name(); }
  bool reaches(const Session& session, Rank rank) const override {
    return is_one(session.rank()) && is_one(rank);
  }
  Bytes card(const Members& members) override { return kind_->card(members); }
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline& deadline) override {
    return kind_->connect(members, cards, deadline);
  }

 private:
  bool is_one(Rank rank) const { return std::ranges::find(ranks_, rank) != ranks_.end(); }
  std::vector<Rank> ranks_;
  std::shared_ptr<WireKind> kind_;
};

}  // namespace hemiola::testing
