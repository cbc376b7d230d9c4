#include "kernel_work.hpp"

#include "block_work.hpp"
#include "matmul_work.hpp"
#include "model/emulate/settings.hpp"
#include "model/emulate/simulated_caches.hpp"

#include "kernel/blocks/block_kernel.hpp"
#include "kernel/matmul/native_matmul.hpp"
#include "kernel/native.hpp"
#include "kernel/system/native_system.hpp"

#include <cstring>
#include <string_view>
#include <utility>

namespace recount::emulate {
namespace {

namespace native = recount::kernel::native;
using enum Quantity;

Work work_of_block(const Measured& of, const void* context) {
  return block_work(*of.block, context);
}

// The loops that are written in C++ take this number of instructions per step, as compiled by g++ 12.2 at
// -O2.
Work work_of_chase(const Measured&, const void* context) {
  const auto& at = *static_cast<const native::Chase*>(context);
  auto& caches = SimulatedCaches::of_thread(settings().machine, SimulatedCaches::Side::data);
  const void* p = at.start;
  for (std::int64_t i = 0; i < at.steps; ++i) {
    caches.load(reinterpret_cast<std::uint64_t>(p), sizeof p);
    std::memcpy(&p, p, sizeof p);
  }
  Work work = caches.work();
  const auto steps = static_cast<double>(at.steps);
  constexpr double a_step = 3, besides = 6;
  work[instructions] = a_step * steps + besides;
  work[loads] = work[transfers] = steps + 3;
  work[transfers] += 1;
  work[stores] = 1;
  work[conditional] = steps + 1;
  work[taken] = steps - 1;
  work[integer] = steps + 1;
  work[chained_loads] = steps;
  work[returns] = work[mispredicted] = 1;
  return work;
}

Work work_of_stride(const Measured&, const void* context) {
  const auto& at = *static_cast<const native::Stride*>(context);
  auto& caches = SimulatedCaches::of_thread(settings().machine, SimulatedCaches::Side::data);
  double steps = 0;
  for (std::int64_t pass = 0; pass < at.passes; ++pass)
    for (std::int64_t i = 0; i < at.size - at.stride + 1; i += at.stride) {
      const auto address = reinterpret_cast<std::uint64_t>(at.x) + static_cast<std::uint64_t>(i);
      caches.load(address, 1);
      caches.store(address, 1);
      ++steps;
    }
  Work work = caches.work();
  const auto passes = static_cast<double>(at.passes);
  constexpr double a_step = 4, a_pass = 5, besides = 10;
  work[instructions] = a_step * steps + a_pass * passes + besides;
  work[loads] = steps + 5;
  work[stores] = steps;
  work[transfers] = steps + 5;
  work[conditional] = steps + 2 * passes + 1;
  work[taken] = steps;
  work[integer] = 3 * steps + 2 * passes;
  work[returns] = 1;
  work[mispredicted] = passes;
  return work;
}

Work work_of_share(const Measured&, const void* context) {
  const auto& at = *static_cast<const native::Share*>(context);
  const auto rounds = static_cast<double>(at.rounds);
  constexpr double a_round = 12;
  Work work;
  work[instructions] = a_round * rounds;
  work[loads] = 3 * rounds;
  work[stores] = rounds;
  work[transfers] = 4 * rounds;
  work[conditional] = 3 * rounds;
  work[taken] = 2 * rounds;
  work[snoops] = work[l1d_load_misses] = work[l2_load_misses] = rounds;
  return work;
}

Work work_of_interrupts(const Measured&, const void* context) {
  const auto& at = *static_cast<const native::Interrupts*>(context);
  const auto signals = static_cast<double>(at.signals);
  constexpr double between = 100'000; // some instructions of a wait of 200 microseconds
  Work work;
  work[instructions] = between * signals;
  work[loads] = work[transfers] = work[conditional] = work[taken] = between * signals / 4;
  work[interrupts] = signals;
  return work;
}

constexpr const char* matmul_prefix = "recount_kernel_matmul_";

Work work_of_matmul(const Measured& of, const void* context) {
  return matmul_work(of.name.substr(std::string_view(matmul_prefix).size()), context);
}

void add_plain(std::vector<Measured>& all, const char* name, void (*own)(void*),
               Work (*work)(const Measured&, const void*)) {
  all.push_back({name, own, work, nullptr, {}});
}

} // namespace

std::vector<Measured> measured_functions() {
  std::vector<Measured> all;
  for (const auto& block : native::blocks())
    all.push_back({"recount_kernel_" + std::string(block.name), block.code, work_of_block, &block, {}});
  add_plain(all, "recount_kernel_chase", native::recount_kernel_chase, work_of_chase);
  add_plain(all, "recount_kernel_stride", native::recount_kernel_stride, work_of_stride);
  add_plain(all, "recount_kernel_share", native::recount_kernel_share, work_of_share);
  add_plain(all, "recount_kernel_interrupts", native::recount_kernel_interrupts, work_of_interrupts);
  // Not `transposed`, which calls the two others: they are replaced themselves.
  for (const bool doubles : {true, false}) {
    const auto& loops = native::plain_matmul(doubles);
    const std::pair<const char*, void (*)(void*)> functions[] = {
        {"ijk", loops.ijk},         {"ijk_mem", loops.ijk_mem},     {"ikj", loops.ikj},
        {"blocked", loops.blocked}, {"transpose", loops.transpose}, {"by_transposed", loops.by_transposed}};
    for (const auto& [name, own] : functions)
      all.push_back({std::string(matmul_prefix) + name + (doubles ? "_f64" : "_i16"),
                     own,
                     work_of_matmul,
                     nullptr,
                     {}});
  }
  return all;
}

WrittenCode follow_jumps(const unsigned char* at, std::size_t bytes) {
  constexpr unsigned char load_passes[] = {0x48, 0x8b, 0x0f}, jump = 0xe9, nop = 0x90;
  constexpr std::size_t tail = 8; // of the frame that emit_jumps() writes
  WrittenCode code;
  if (bytes < 64 || std::memcmp(at, load_passes, sizeof load_passes) != 0 || at[sizeof load_passes] != jump)
    return code;
  const auto target = [](const unsigned char* p) {
    std::int32_t distance = 0;
    std::memcpy(&distance, p + 1, sizeof distance);
    return p + 1 + sizeof distance + distance;
  };
  const unsigned char* p = target(at + sizeof load_passes);
  while (p != at + tail && p >= at && p < at + bytes && code.lines.size() < bytes / 64) {
    code.lines.push_back(reinterpret_cast<std::uint64_t>(p));
    code.full = *p == nop;
    while (*p == nop)
      ++p;
    if (*p != jump) return {};
    p = target(p);
  }
  return code;
}

Work count_work(const WrittenCode& code, std::int64_t passes) {
  auto& caches = SimulatedCaches::of_thread(settings().machine, SimulatedCaches::Side::code);
  for (std::int64_t pass = 0; pass < passes; ++pass)
    for (const std::uint64_t line : code.lines)
      caches.load(line, 1);
  Work work = caches.work();
  const auto blocks = static_cast<double>(code.lines.size());
  const auto tally = recount::kernel::emitted(blocks, code.full);
  const auto total = static_cast<double>(passes) * tally.pass + tally.once;
  // More jumps than a branch target buffer of 4096 entries remembers are not foreseen.
  constexpr double targets = 4096;
  const bool kept_decoded = !code.full && blocks * 64 <= 32768 && work[l1i_misses] == 0;
  if (kept_decoded) work[code_lines] = 0;
  work[instructions] = total.instructions;
  work[loads] = total.loads;
  work[transfers] = total.transfers;
  work[conditional] = total.conditional;
  work[taken] = total.taken;
  work[integer] = total.integer;
  work[returns] = 1;
  work[jumps] = total.unconditional - 1;
  work[mispredicted] = 1;
  work[branch_target_misses] = blocks > targets ? blocks * static_cast<double>(passes) : 0;
  return work;
}

} // namespace recount::emulate
