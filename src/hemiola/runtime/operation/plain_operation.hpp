// An operation that is one program, whoever comes when; without a program, as a barrier, it moves nothing.
#pragma once

#include <memory>
#include <utility>

#include "hemiola/runtime/operation/operation.hpp"

namespace hemiola {

class PlainOperation final : public Operation {
 public:
  PlainOperation(const Signature& signature, std::shared_ptr<const Program> program, const Buffers& buffers,
                 const Arithmetic& arithmetic)
      : signature_(signature), program_(std::move(program)), buffers_(buffers), arithmetic_(arithmetic) {}

  Signature signature() const override { return signature_; }
  void execute(const Stage& stage) override {
    if (program_) stage.executor->execute(*program_, buffers_, arithmetic_, stage.supervisor);
  }

  const Buffers& buffers() const { return buffers_; }
  const Arithmetic& arithmetic() const { return arithmetic_; }

 private:
  Signature signature_;
  std::shared_ptr<const Program> program_;
  Buffers buffers_;
  Arithmetic arithmetic_;
};

}  // namespace hemiola
