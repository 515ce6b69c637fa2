// SPDX-License-Identifier: Apache-2.0
// A process that can open no further file.
#pragma once

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "hemiola/base/descriptor.hpp"

namespace hemiola::testing {

class FullTable {
 public:
  FullTable() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit full{static_cast<rlim_t>(Descriptor(::epoll_create1(0)).get()), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  }
  ~FullTable() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FullTable(const FullTable&) = delete;

 private:
  rlimit before_{};
};

}  // namespace hemiola::testing
