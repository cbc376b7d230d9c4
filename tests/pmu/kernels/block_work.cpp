// The blocks: hand-counted loops, whose tallies are held against an instruction decoder by tests/host/kernel.
#include "block_work.hpp"

#include "model/emulate/settings.hpp"
#include "model/emulate/simulated_caches.hpp"

#include <array>
#include <sstream>
#include <string_view>
#include <vector>

namespace recount::emulate {
namespace {

using recount::kernel::Tally;
using recount::kernel::native::BlockArguments;

/// Mispredictions, in all and of taken branches.
struct Mispredictions {
  double all = 0, taken = 0;
};
/// Those of a two-level predictor with 12 bits of history (Yeh and Patt, MICRO 1991) for the branches that
/// the data decide: taken where the byte is zero.
Mispredictions mispredicted_by(const BlockArguments& at) {
  const auto* const bytes = static_cast<const unsigned char*>(at.data);
  const std::int64_t count = at.turns * recount::kernel::native::steps_per_turn;
  constexpr unsigned history_bits = 12, mask = (1U << history_bits) - 1, most = 3, weakly_taken = 2;
  std::vector<unsigned char> counters(mask + 1, weakly_taken);
  unsigned history = 0;
  Mispredictions wrong;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool taken = bytes[i] == 0;
    unsigned char& counter = counters[history];
    if ((counter >= weakly_taken) != taken) {
      ++wrong.all;
      if (taken) ++wrong.taken;
    }
    if (taken && counter < most) ++counter;
    if (!taken && counter > 0) --counter;
    history = (history << 1 | (taken ? 1U : 0U)) & mask;
  }
  return wrong;
}

/// The generator of the assembly, as kernel `scatter` describes it.
Work scattered(const BlockArguments& at, bool stores) {
  constexpr std::uint64_t multiplier = 1103515245;
  auto& caches = SimulatedCaches::of_thread(settings().machine, SimulatedCaches::Side::data);
  const auto base = reinterpret_cast<std::uint64_t>(at.data);
  std::uint64_t offset = 0;
  const auto mask = static_cast<std::uint64_t>(at.mask), increment = static_cast<std::uint64_t>(at.increment);
  for (std::int64_t i = 0; i < at.turns * recount::kernel::native::steps_per_turn; ++i) {
    offset = (offset * multiplier + increment) & mask;
    stores ? caches.store(base + offset, 8) : caches.load(base + offset, 8);
  }
  return caches.work();
}

struct Name {
  std::string family, operation, element, width;
};
Name parts(std::string_view whole) {
  std::istringstream text{std::string(whole)};
  Name name;
  std::getline(text, name.family, '_');
  if (name.family != "float") {
    std::getline(text, name.operation);
    return name;
  }
  std::getline(text, name.operation, '_');
  std::getline(text, name.element, '_');
  std::getline(text, name.width, '_');
  return name;
}

Work from_tally(const Tally& tally) {
  using enum Quantity;
  Work work;
  work[instructions] = tally.instructions;
  work[loads] = tally.loads;
  work[stores] = tally.stores;
  work[transfers] = tally.transfers;
  work[conditional] = tally.conditional;
  work[taken] = tally.taken;
  work[integer] = tally.integer;
  work[fences] = tally.fences;
  work[prefetches] = tally.prefetches;
  work[system_calls] = tally.system_calls;
  for (const auto miss : {l1d_load_misses, l2_load_misses, l3_load_misses})
    work[miss] = tally.load_misses;
  for (const auto miss : {l1d_store_misses, l2_store_misses, l3_store_misses})
    work[miss] = tally.store_misses;
  work[prefetch_misses] = tally.prefetch_misses;
  work[mispredicted] = 1; // the branch that ends the loop
  return work;
}

} // namespace

Work block_work(const recount::kernel::native::Block& block, const void* context) {
  using enum Quantity;
  const auto& at = *static_cast<const BlockArguments*>(context);
  const Tally tally = block.tally(static_cast<double>(at.turns));
  const double steps = static_cast<double>(at.turns) * recount::kernel::native::steps_per_turn;
  const Name name = parts(block.name);
  Work work = from_tally(tally);
  work[returns] = 1;
  if (name.family == "float") work.of[fp_quantity(name.operation, name.element, name.width)] += steps;
  if (name.family == "evict") work[flushes] = steps;
  if (block.name == "integer_multiply") work[integer_multiplies] = steps;
  if (block.name == "integer_divide") work[integer_divides] = steps;
  if (block.name == "sync_atomic") work[atomics] = steps;
  if (block.name == "branch_indirect") work[indirect] = steps;
  if (block.name == "branch_indirect_data") {
    work[indirect] = steps;
    work[mispredicted_indirect] = mispredicted_by(at).all;
  }
  if (block.name == "branch_call") {
    work[calls] = steps;
    work[returns] += steps;
  }
  if (block.name == "branch_data" || block.name == "branch_biased") {
    const Mispredictions wrong = mispredicted_by(at);
    work[mispredicted] += wrong.all;
    work[mispredicted_taken] = wrong.taken;
  }
  if (name.family == "scatter") {
    work[integer_multiplies] = steps;
    add(work, scattered(at, name.operation == "store"));
  }
  work[jumps] = tally.unconditional - work[returns] - work[calls] - work[indirect];
  return work;
}

} // namespace recount::emulate
