#include "model/trace/executed.hpp"

#include "count/symbol/module.hpp"
#include "model/trace/protocol.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

namespace recount::trace {
namespace {

/// Address of the entry point, or of main() of a static program; nothing for a file that is no program of 64
/// bits.
std::optional<std::uint64_t> begin_of(const Module& module) {
  Elf64_Ehdr head{};
  std::ifstream in(module.file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&head), sizeof head);
  if (!in || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  constexpr unsigned max_segments = 64;
  for (unsigned i = 0; i < std::min<unsigned>(head.e_phnum, max_segments); ++i) {
    Elf64_Phdr segment{};
    in.seekg(static_cast<std::streamoff>(head.e_phoff + i * sizeof segment));
    in.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!in) return {};
    const bool mapped = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    if (!mapped || head.e_entry - segment.p_vaddr >= segment.p_memsz) continue;
    return module.start - module.offset + segment.p_offset + (head.e_entry - segment.p_vaddr) +
           symbol::entry_to_main(module.file);
  }
  return {};
}

/// By its name: "ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1", "ld.so.1".
bool is_linker(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return name.starts_with("ld-") || name.starts_with("ld.so");
}

bool is_valgrinds(const std::string& file) {
  return file.find("/vgpreload_") != std::string::npos;
}

} // namespace

ExecutedCounts& ExecutedCounts::operator+=(const ExecutedCounts& more) {
  for (const auto member : {&ExecutedCounts::instructions, &ExecutedCounts::loads, &ExecutedCounts::stores,
                            &ExecutedCounts::transfers, &ExecutedCounts::conditional, &ExecutedCounts::taken,
                            &ExecutedCounts::unconditional, &ExecutedCounts::system_calls})
    this->*member += more.*member;
  return *this;
}

void Executed::module(const Module& module) {
  if (is_linker(module.file) || is_valgrinds(module.file))
    environment_.push_back({module.start, module.end});
  else if (const auto entry = begin_of(module); entry && !entered_)
    entries_.push_back(*entry);
}

bool Executed::enters(std::uint64_t address) {
  entered_ = std::ranges::find(entries_, address) != entries_.end();
  return entered_;
}

Executed Executed::forked() const {
  Executed child(*this);
  child.counts_.clear();
  child.interrupt();
  return child;
}

ExecutedCounts Executed::sum(bool environment) const {
  ExecutedCounts sum;
  for (const Blocks::Block& block : blocks_->defined()) {
    if (block.instruction >= counts_.size()) continue;
    const std::uint64_t address = blocks_->instruction(block.instruction).address;
    const auto within = [&](const Range& range) { return address >= range.start && address < range.end; };
    if (environment && std::ranges::none_of(environment_, within)) continue;
    std::int64_t executions = counts_[block.instruction].begun;
    for (std::uint32_t i = block.instruction; i < block.instruction + block.instructions; ++i) {
      const Blocks::Instruction& instruction = blocks_->instruction(i);
      const Count& count = counts_[i];
      const bool repeated = instruction.flow == RT_REPEATED;
      sum.instructions += executions - count.repeated;
      if (instruction.loads && !repeated) sum.loads += executions;
      if (instruction.stores && !repeated) sum.stores += executions;
      if ((instruction.loads || instruction.stores) && !repeated) sum.transfers += executions;
      if (instruction.flow == RT_CONDITIONAL) sum.conditional += executions;
      if (instruction.flow >= RT_JUMP && instruction.flow <= RT_RETURN) sum.unconditional += executions;
      if (instruction.flow == RT_SYSTEM) sum.system_calls += executions;
      sum.taken += count.taken;
      executions -= count.left;
    }
  }
  return sum;
}

namespace {

/// Of the tool's words, see RT_ACCESS.
constexpr std::uint64_t word_stores = 1u << 16, word_bytes = word_stores - 1, word_guarded = 1u << 17;

} // namespace

std::uint32_t& Blocks::place_of(std::uint64_t number) {
  if (number / page_size >= pages_.size()) pages_.resize(number / page_size + 1);
  auto& page = pages_[number / page_size];
  if (!page) page = std::make_unique<Page>();
  return page->places[number % page_size];
}

/// The place of a block: that of a forgotten one of the same shape, else a new one.
std::uint32_t Blocks::allocate(const Shape& shape) {
  if (const auto found = forgotten_.find(shape); found != forgotten_.end() && !found->second.empty()) {
    const std::uint32_t place = found->second.back();
    found->second.pop_back();
    return place;
  }
  const auto [instructions, accesses, stretches] = shape;
  Block& block = blocks_.emplace_back();
  block.instruction = static_cast<std::uint32_t>(instructions_.size());
  block.access = static_cast<std::uint32_t>(accesses_.size());
  block.stretch = static_cast<std::uint32_t>(stretches_.size());
  block.stretches = stretches;
  instructions_.resize(instructions_.size() + instructions);
  accesses_.resize(accesses_.size() + accesses + 1);
  owners_.resize(accesses_.size());
  stretches_.resize(stretches_.size() + stretches);
  return static_cast<std::uint32_t>(blocks_.size());
}

void Blocks::forget(std::uint64_t number) {
  const Block* const known = find(number);
  if (known == nullptr) return;
  auto& page = pages_[number / page_size];
  const std::uint32_t place = std::exchange(page->places[number % page_size], 0);
  if (--page->defined == 0) page.reset();
  Block& block = blocks_[place - 1];
  std::uint32_t accesses = 0;
  while (accesses_[block.access + accesses] != end)
    ++accesses;
  forgotten_[{block.instructions, accesses, block.stretches}].push_back(place);
  block.instructions = 0;
}

// Nothing is taken over from damaged words: other processes execute blocks, too.
bool Blocks::define(std::span<const std::uint64_t> words) {
  constexpr std::uint64_t max_blocks = 1 << 30;
  if (words.size() < 2 || words[0] >= max_blocks) return false;
  const std::uint64_t instructions = words[1] & 0xffffffff, accesses = words[1] >> 32;
  if (instructions == 0 || instructions + accesses + 2 != words.size()) return false;
  const auto its_instructions = words.subspan(2, instructions),
             its_accesses = words.subspan(2 + instructions);
  const auto wrong = [&](std::uint64_t word) {
    return word >> 32 >= instructions || (word & word_bytes) == 0;
  };
  if (std::ranges::any_of(its_accesses, wrong)) return false;
  const auto bytes = [](std::uint64_t word) { return static_cast<std::uint8_t>(word >> 56 & 15); };
  const auto continues = [&](std::size_t i) {
    return i > 0 && RT_PAYLOAD(its_instructions[i - 1]) + bytes(its_instructions[i - 1]) ==
                        RT_PAYLOAD(its_instructions[i]);
  };
  std::uint32_t stretches = 0;
  for (std::size_t i = 0; i < instructions; ++i)
    if (!continues(i)) ++stretches;
  forget(words[0]);
  std::uint32_t& place = place_of(words[0]);
  ++pages_[words[0] / page_size]->defined;
  place =
      allocate({static_cast<std::uint32_t>(instructions), static_cast<std::uint32_t>(accesses), stretches});
  Block& block = blocks_[place - 1];
  block.instructions = static_cast<std::uint32_t>(instructions);
  block.loads = 0;
  std::uint32_t stretch = block.stretch;
  for (std::size_t i = 0; i < instructions; ++i) {
    const auto number = static_cast<std::uint32_t>(block.instruction + i);
    if (!continues(i)) stretches_[stretch++] = {number};
    ++stretches_[stretch - 1].instructions;
    const std::uint64_t word = its_instructions[i];
    instructions_[number] = {RT_PAYLOAD(word), bytes(word), static_cast<std::uint8_t>(word >> 60)};
  }
  std::uint32_t access = block.access;
  for (const std::uint64_t word : its_accesses) {
    owners_[access] = block.instruction + static_cast<std::uint32_t>(word >> 32);
    if (const auto hint = static_cast<Access>(2 * (word & word_bytes)); hints(hint)) {
      accesses_[access++] = hint;
      continue;
    }
    const bool stores = (word & word_stores) != 0;
    accesses_[access] = static_cast<Access>((word & word_bytes) << 1 | (stores ? 0 : 1));
    if (!stores) ++block.loads;
    Instruction& owner = instructions_[owners_[access++]];
    if ((word & word_guarded) == 0) (stores ? owner.stores : owner.loads) = true;
  }
  accesses_[access] = end;
  owners_[access] = block.instruction;
  return true;
}

} // namespace recount::trace
