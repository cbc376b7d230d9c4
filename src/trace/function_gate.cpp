#include "trace/function_gate.hpp"

#include <algorithm>
#include <utility>

namespace recount::trace {

FunctionGate::FunctionGate(const Blocks& blocks, FunctionRange& range, Find find)
    : blocks_(&blocks),
      range_(&range),
      find_(find),
      between_(range.from.empty()),
      open_(range.from.empty()) {}

void FunctionGate::module(const Module& module) {
  for (const auto& [name, addresses] : {std::pair(&range_->from, &from_), std::pair(&range_->to, &to_)})
    if (!name->empty()) addresses->merge(find_(module, *name));
}

void FunctionGate::thread(std::uint64_t number) {
  if (!inherited_) threads_[number_] = std::move(current_);
  if (!inherited_) current_ = std::move(threads_[number]);
  inherited_ = false;
  number_ = number;
  last_ = none;
  update();
}

FunctionGate FunctionGate::forked() const {
  FunctionGate child(*this);
  child.threads_.clear();
  child.inherited_ = true;
  child.last_ = none;
  return child;
}

void FunctionGate::drop(std::size_t frames) {
  current_.frames.resize(frames);
  if (current_.inside > frames) current_.inside = 0;
}

/// Whose stack is in use again, or was given back.
void FunctionGate::drop_below(std::uint64_t slot) {
  std::size_t kept = current_.frames.size();
  while (kept > 0 && current_.frames[kept - 1].slot <= slot)
    --kept;
  drop(kept);
}

// As setjmp(3) returned there, the stack is as high as when it was called.
void FunctionGate::jump(std::uint64_t address) {
  if (current_.inside == 0) return;
  if (const auto call = current_.slots.find(address); call != current_.slots.end()) drop_below(call->second);
}

void FunctionGate::call(const Blocks::Instruction& by) {
  constexpr std::size_t most = 1 << 20;
  const std::uint64_t slot = by.stores ? accessed_ : 0;
  if (slot != 0) {
    drop_below(slot);
    current_.slots[by.address + by.bytes] = slot;
  }
  if (current_.frames.size() >= most) drop(0);
  current_.frames.push_back({by.address + by.bytes, slot});
}

void FunctionGate::come_back(std::uint64_t address) {
  const Blocks::Instruction& by = blocks_->instruction(last_);
  if (by.loads) return drop_below(accessed_);
  std::size_t kept = current_.frames.size();
  while (kept > 0 && current_.frames[kept - 1].back != address)
    --kept;
  if (kept > 0) drop(kept - 1);
}

void FunctionGate::update() {
  open_ = range_->to.empty() ? current_.inside > 0 : between_;
}

void FunctionGate::block(const Blocks::Block& block) {
  const Blocks::Instruction& next = blocks_->instruction(block.instruction);
  if (last_ != none) {
    const Blocks::Instruction& before = blocks_->instruction(last_);
    if (before.flow == RT_CALL) call(before);
    if (before.flow == RT_RETURN) come_back(next.address);
    if (before.flow == RT_JUMP) jump(next.address);
  }
  if (from_.contains(next.address)) {
    range_->begun = between_ = true;
    // Entered by a jump (tail call) it returns where its caller would have returned.
    if (current_.inside == 0) current_.inside = std::max<std::size_t>(current_.frames.size(), 1);
    if (current_.frames.empty()) current_.frames.push_back({0, ~std::uint64_t{0}});
  }
  if (to_.contains(next.address)) between_ = false;
  update();
  first_ = block.instruction;
  last_ = block.instruction + block.instructions - 1;
}

} // namespace recount::trace
