// Names of the generic events of caches, as perf(1) takes them (evsel__hw_cache in tools/perf/util/evsel.c).
#include "event/sysfs.hpp"

#include <array>
#include <strings.h>

namespace recount::event {
namespace {

/// A word of a name and what it stands for; of several that fit, the longest is first.
struct Word {
  std::string_view text;
  unsigned id;
};
constexpr std::array caches{Word{"L1-instruction", PERF_COUNT_HW_CACHE_L1I},
                            Word{"L1-dcache", PERF_COUNT_HW_CACHE_L1D},
                            Word{"L1-icache", PERF_COUNT_HW_CACHE_L1I},
                            Word{"L1-data", PERF_COUNT_HW_CACHE_L1D},
                            Word{"L1-d", PERF_COUNT_HW_CACHE_L1D},
                            Word{"L1-i", PERF_COUNT_HW_CACHE_L1I},
                            Word{"L1d", PERF_COUNT_HW_CACHE_L1D},
                            Word{"L1i", PERF_COUNT_HW_CACHE_L1I},
                            Word{"LLC", PERF_COUNT_HW_CACHE_LL},
                            Word{"L2", PERF_COUNT_HW_CACHE_LL},
                            Word{"Data-TLB", PERF_COUNT_HW_CACHE_DTLB},
                            Word{"d-tlb", PERF_COUNT_HW_CACHE_DTLB},
                            Word{"dTLB", PERF_COUNT_HW_CACHE_DTLB},
                            Word{"Instruction-TLB", PERF_COUNT_HW_CACHE_ITLB},
                            Word{"i-tlb", PERF_COUNT_HW_CACHE_ITLB},
                            Word{"iTLB", PERF_COUNT_HW_CACHE_ITLB},
                            Word{"branches", PERF_COUNT_HW_CACHE_BPU},
                            Word{"branch", PERF_COUNT_HW_CACHE_BPU},
                            Word{"bpu", PERF_COUNT_HW_CACHE_BPU},
                            Word{"btb", PERF_COUNT_HW_CACHE_BPU},
                            Word{"bpc", PERF_COUNT_HW_CACHE_BPU},
                            Word{"node", PERF_COUNT_HW_CACHE_NODE}};
constexpr std::array operations{Word{"speculative-read", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                Word{"speculative-load", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                Word{"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                Word{"prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH},
                                Word{"loads", PERF_COUNT_HW_CACHE_OP_READ},
                                Word{"load", PERF_COUNT_HW_CACHE_OP_READ},
                                Word{"read", PERF_COUNT_HW_CACHE_OP_READ},
                                Word{"stores", PERF_COUNT_HW_CACHE_OP_WRITE},
                                Word{"store", PERF_COUNT_HW_CACHE_OP_WRITE},
                                Word{"write", PERF_COUNT_HW_CACHE_OP_WRITE}};
constexpr std::array results{
    Word{"Reference", PERF_COUNT_HW_CACHE_RESULT_ACCESS}, Word{"access", PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    Word{"refs", PERF_COUNT_HW_CACHE_RESULT_ACCESS},      Word{"ops", PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    Word{"misses", PERF_COUNT_HW_CACHE_RESULT_MISS},      Word{"miss", PERF_COUNT_HW_CACHE_RESULT_MISS}};

/// Removes a word and the hyphen behind it from the text, if it begins with one of them.
template <std::size_t n>
std::optional<unsigned> take(const std::array<Word, n>& words, std::string_view& text) {
  for (const Word& word : words) {
    const auto size = word.text.size();
    if (text.size() < size || strncasecmp(text.data(), word.text.data(), size) != 0) continue;
    if (text.size() > size && text[size] != '-') continue;
    text.remove_prefix(text.size() > size ? size + 1 : size);
    return word.id;
  }
  return {};
}

/// evsel__is_cache_op_valid() of perf: the table of operations that caches have.
bool allowed(unsigned cache, unsigned operation) {
  if (cache == PERF_COUNT_HW_CACHE_ITLB || cache == PERF_COUNT_HW_CACHE_BPU)
    return operation == PERF_COUNT_HW_CACHE_OP_READ;
  return cache != PERF_COUNT_HW_CACHE_L1I || operation != PERF_COUNT_HW_CACHE_OP_WRITE;
}

} // namespace

std::optional<std::uint64_t> hardware_cache(std::string_view name) {
  if (name.ends_with('-')) return {};
  const auto cache = take(caches, name);
  if (!cache) return {};
  std::optional<unsigned> operation, result;
  while (!name.empty()) {
    if (const auto found = take(operations, name); found && !operation)
      operation = found;
    else if (const auto other = found ? std::nullopt : take(results, name); other && !result)
      result = other;
    else
      return {};
  }
  const unsigned op = operation.value_or(PERF_COUNT_HW_CACHE_OP_READ);
  if (!allowed(*cache, op)) return {};
  return *cache | std::uint64_t{op} << 8 |
         std::uint64_t{result.value_or(PERF_COUNT_HW_CACHE_RESULT_ACCESS)} << 16;
}

} // namespace recount::event
