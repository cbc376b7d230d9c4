// Names of the generic events of caches, as perf(1) takes them (evsel__hw_cache in tools/perf/util/evsel.c).
#include "base/text.hpp"
#include "count/event/sysfs.hpp"

#include <span>
#include <strings.h>

namespace recount::event {
namespace {

/// The words of a name that stand for an id.
struct Words {
  unsigned id;
  std::string_view words;
};
constexpr Words caches[] = {{PERF_COUNT_HW_CACHE_L1D, "L1-dcache L1-data L1-d L1d"},
                            {PERF_COUNT_HW_CACHE_L1I, "L1-icache L1-instruction L1-i L1i"},
                            {PERF_COUNT_HW_CACHE_LL, "LLC L2"},
                            {PERF_COUNT_HW_CACHE_DTLB, "dTLB d-tlb Data-TLB"},
                            {PERF_COUNT_HW_CACHE_ITLB, "iTLB i-tlb Instruction-TLB"},
                            {PERF_COUNT_HW_CACHE_BPU, "branch branches bpu btb bpc"},
                            {PERF_COUNT_HW_CACHE_NODE, "node"}};
constexpr Words operations[] = {
    {PERF_COUNT_HW_CACHE_OP_READ, "load loads read"},
    {PERF_COUNT_HW_CACHE_OP_WRITE, "store stores write"},
    {PERF_COUNT_HW_CACHE_OP_PREFETCH, "prefetch prefetches speculative-read speculative-load"}};
constexpr Words results[] = {{PERF_COUNT_HW_CACHE_RESULT_ACCESS, "refs Reference ops access"},
                             {PERF_COUNT_HW_CACHE_RESULT_MISS, "misses miss"}};

/// Removes a word and the hyphen behind it from the text, if it begins with one of them.
std::optional<unsigned> take(std::span<const Words> table, std::string_view& text) {
  for (const auto& [id, words] : table)
    for (const auto word : base::split(words, ' ')) {
      const auto size = word.size();
      if (text.size() < size || strncasecmp(text.data(), word.data(), size) != 0) continue;
      if (text.size() > size && text[size] != '-') continue;
      text.remove_prefix(text.size() > size ? size + 1 : size);
      return id;
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
