// Kernel `matmul`: instructions of its inner loops, and the caches by its own replay.
#include "matmul_work.hpp"

#include "model/emulate/settings.hpp"
#include "model/emulate/simulated_caches.hpp"

#include "kernel/kernel.hpp"
#include "kernel/matmul/native_matmul.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace recount::emulate {
namespace {

using enum Quantity;
using recount::kernel::native::Matmul;

/// One step of the innermost loop as g++ 12.2 compiles it at -O2 -fno-tree-vectorize.
struct Step {
  const char* name;
  const char* variant; ///< of the kernel; nullptr: the transposition alone
  double instructions, loads, stores;
};
constexpr Step steps[] = {
    {"ijk", "ijk", 7, 2, 0},
    {"ijk_mem", "ijk-mem", 9, 3, 1},
    {"ikj", "ikj", 7, 2, 1},
    {"blocked", "blocked", 7, 2, 1},
    {"by_transposed", "transposed", 9, 3, 1},
    {"transpose", nullptr, 6, 1, 1},
};

const Step& step_of(const std::string& name) {
  const auto found = std::ranges::find(steps, name, &Step::name);
  if (found == std::end(steps)) throw std::out_of_range(name);
  return *found;
}

Work cache_work(const Step& step, const Matmul& at, bool doubles) {
  auto& caches = SimulatedCaches::of_thread(settings().machine, SimulatedCaches::Side::data);
  const std::int64_t bytes = doubles ? 8 : 2;
  if (step.variant == nullptr) {
    for (std::int64_t i = 0; i < at.n; ++i)
      for (std::int64_t j = 0; j < at.n; ++j) {
        caches.load(reinterpret_cast<std::uint64_t>(at.b) +
                        static_cast<std::uint64_t>((j * at.n + i) * bytes),
                    static_cast<unsigned>(bytes));
        caches.store(reinterpret_cast<std::uint64_t>(at.t) +
                         static_cast<std::uint64_t>((i * at.n + j) * bytes),
                     static_cast<unsigned>(bytes));
      }
    return caches.work();
  }
  constexpr std::uint64_t page = 4096;
  recount::kernel::Params point{
      {"variant", std::string(step.variant)},
      {"element", std::string(doubles ? "f64" : "i16")},
      {"n", at.n},
      {"offset", static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(at.a) % page)},
      {"transpose", std::string("excluded")}};
  if (at.block > 0) point["block"] = at.block;
  recount::kernel::matmul_kernel().simulate(point, caches.hierarchy());
  return caches.work();
}

} // namespace

Work matmul_work(const std::string& name, const void* context) {
  const auto& at = *static_cast<const Matmul*>(context);
  const bool doubles = name.ends_with("_f64");
  const Step step = step_of(name.substr(0, name.size() - 4));
  const auto n = static_cast<double>(at.n);
  const double inner = step.variant == nullptr ? n * n : n * n * n,
               rows = step.variant == nullptr ? n : n * n;
  constexpr double a_row = 9;
  Work work = cache_work(step, at, doubles);
  work[instructions] = step.instructions * inner + a_row * rows;
  work[loads] = step.loads * inner;
  work[stores] = step.stores * inner + rows;
  work[transfers] = work[loads] + work[stores];
  work[conditional] = inner + rows;
  work[taken] = inner;
  work[integer] = 3 * inner + 4 * rows;
  work[mispredicted] = rows;
  work[returns] = 1;
  if (step.variant == nullptr) return work;
  if (!doubles) {
    work[integer_multiplies] = inner;
    return work;
  }
  for (const char* operation : {"add", "multiply"})
    work.of[fp_quantity(operation, "f64", "scalar")] = inner;
  return work;
}

} // namespace recount::emulate
