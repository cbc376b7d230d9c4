// The words that a traced program writes: it can overwrite the memory that it shares with recount.
#include "model/trace/decoder.hpp"
#include "model/trace/executed.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/memory_map.hpp"

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace {
using namespace recount::trace;

class Sink {
public:
  explicit Sink(const Blocks& blocks) : blocks_(&blocks), executed_(blocks, false) {}
  ~Sink() { static_cast<void>(executed_.all()); }
  Sink(const Sink&) = default;
  Sink& operator=(const Sink&) = delete;
  void block(const Blocks::Block& block) {
    if (block.instructions == 0) std::abort();
    executed_.block(block);
  }
  void left(unsigned instructions) { executed_.left(instructions); }
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::uint32_t number) {
    if (address >= RT_CONTROL || bytes == 0 ||
        blocks_->instruction_of(number) >= blocks_->instruction_count())
      std::abort();
    const auto region = map_.find(address);
    if (region && (address < region->start || address >= region->end)) std::abort();
  }
  void thread(std::uint64_t) {}
  void module(const Module& module) {
    gate_.take(module.file);
    map_.map(module.start, module.end, 1);
  }
  bool memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
    if (!map_.take(kind, words)) return false;
    const auto added = map_.last_added();
    if (added && added->end < added->start) std::abort();
    if (added && added->end > added->start && map_.find(added->start) != added) std::abort();
    if (added && map_.site(added->number).size() > words.size() + 65536) std::abort();
    return true;
  }
  void undecoded(const Undecoded&) {}
  void section(std::string_view text) { gate_.take(text); }
  [[nodiscard]] std::unique_ptr<Sink> forked(std::uint32_t) const { return std::make_unique<Sink>(*this); }

private:
  const Blocks* blocks_;
  Executed executed_;
  SectionGate gate_{"name"};
  MemoryMap map_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<std::uint64_t> words(size / sizeof(std::uint64_t));
  if (words.empty()) return 0;
  std::memcpy(words.data(), data, words.size() * sizeof(std::uint64_t));
  Blocks blocks;
  FunctionRange range{"from", size % 2 == 0 ? "" : "to"};
  const auto find = [](const Module& module, const std::string&) { return std::unordered_set{module.start}; };
  std::optional<FunctionGate> gate;
  if (data[0] % 2 == 0) gate.emplace(blocks, range, find);
  Decoder<Sink> process(blocks, std::make_unique<Sink>(blocks), std::move(gate));
  const std::size_t half = words.size() / 2; // two chunks, the second by a child as well
  if (!process.take({words.data(), half})) return 0;
  const auto child = process.forked(1);
  static_cast<void>(process.take({words.data() + half, words.size() - half}));
  static_cast<void>(child->take({words.data() + half, words.size() - half}));
  return 0;
}
