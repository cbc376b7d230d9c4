// What a kernel is: measured code with parameters, whose accesses can also be replayed under the cache model;
// and the list of all kernels.
#pragma once

#include "kernel/params.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::model {
class Hierarchy;
}

namespace recount::kernel {

/// One parameter of a kernel, as `recount sweep --help KERNEL` and recount-kernels(7) show it.
struct Parameter {
  enum class Unit { bytes, count, choice, text };
  std::string name;  ///< without dashes: "size"
  std::string prose; ///< one line
  Unit unit = Unit::count;
  ParamValue fallback;              ///< used when the user gives none
  std::int64_t least = 1, most = 0; ///< inclusive bounds of a number; most 0: no upper bound
  std::vector<std::string> choices; ///< for Unit::choice
};

/// The measured code of a prepared kernel. Calling `code(context)` is the measured region: it
/// allocates nothing, makes no system call and no virtual call.
struct Region {
  void (*code)(void* context) = nullptr;
  void* context = nullptr;
  void operator()() const { code(context); }
};

/// What one call of a region must count of one metric: a closed form of the point, not a measurement.
struct Expectation {
  std::string metric;          ///< preset ("PAPI_BR_INS") or event ("perf::PAGE-FAULTS")
  double value = 0;            ///< occurrences in user mode, unless the metric says otherwise
  double below = 0, above = 0; ///< the exact count is within [value - below, value + above]
  std::string form;            ///< the closed form in words: "2 per step plus 14"
};

/// Placement of the data of a prepared kernel. Addresses determine the cache sets, so results include them.
struct Placement {
  std::uint64_t base = 0;      ///< address of the first element
  std::int64_t bytes = 0;      ///< of the mapping that holds the data
  std::int64_t page = 4096;    ///< bytes of a small page
  std::int64_t offset = 0;     ///< of the base in its small page
  std::int64_t huge_bytes = 0; ///< how much of it the system has backed with huge pages
};

/// A kernel prepared at one point: memory allocated, every page written, values set.
class Instance {
public:
  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  virtual ~Instance() = default;

  /// The measured code; may be called any number of times.
  [[nodiscard]] virtual Region region() = 0;
  /// The time in seconds that a command printed for its last run. Nothing if it prints none.
  [[nodiscard]] virtual std::optional<double> own_seconds() const { return {}; }
  /// Why it works in another process, which needs inherited events; empty: it works in this process.
  [[nodiscard]] virtual std::string elsewhere() const { return {}; }
  /// Called once before anything is measured, so that code, data and branch predictors are warm: the region
  /// itself, unless a part of it does.
  virtual void warm() { region()(); }
  /// Element accesses that one call of the region makes (the divisor of "misses per access").
  [[nodiscard]] virtual std::int64_t accesses() const = 0;
  /// Placement of its data.
  [[nodiscard]] virtual Placement placement() const { return {}; }
};

/// Where simulate() places data: a multiple of every page and of every power-of-two number of cache sets.
inline constexpr std::uint64_t assumed_base = std::uint64_t{1} << 46;
/// The same, or the base that the placement of the machine draws.
[[nodiscard]] std::uint64_t array_base(const model::Hierarchy& caches);

/// A kernel: a name, parameters, prose, and the two ways to execute it from one source text.
class Kernel {
public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual const std::string& prose() const = 0;
  [[nodiscard]] virtual std::span<const Parameter> parameters() const = 0;
  /// Bytes of memory that prepare() takes at this point. Throws recount::Error (bad_input) for a bad point.
  [[nodiscard]] virtual std::int64_t bytes(const Params& point) const = 0;
  /// Throws recount::Error: bad_input for a bad point or one that needs more memory than is available,
  /// unavailable if the allocation fails.
  [[nodiscard]] virtual std::unique_ptr<Instance> prepare(const Params& point) const = 0;
  /// Replays the region's accesses, in program order, into the hierarchy; returns the element accesses.
  /// Does not touch the kernel's memory: the data are taken to begin at `assumed_base` plus the point's
  /// offset. Throws recount::Error (bad_input) for a bad point. Repeated passes are simulated until the state
  /// recurs.
  virtual std::int64_t simulate(const Params& point, model::Hierarchy& caches) const = 0;
  /// simulate() twice, counting the second time only: what a measurement of the warm region must count.
  virtual std::int64_t simulate_warm(const Params& point, model::Hierarchy& caches) const;
  /// Why simulate() cannot replay the region and throws recount::Error (unavailable): its counts are known by
  /// closed form only, see expected(). Empty: it can.
  [[nodiscard]] virtual std::string unsimulated() const { return {}; }
  /// Whether simulate() replays instruction fetches: it then needs a machine that describes their caches.
  [[nodiscard]] virtual bool fetches() const { return false; }
  /// The metrics whose counts are known by closed form at this point, an empty list where none is. A metric
  /// that is not in it may still be simulated. Throws recount::Error (bad_input) for a bad point.
  [[nodiscard]] virtual std::vector<Expectation> expected(const Params& point) const {
    static_cast<void>(point);
    return {};
  }
};

/// All kernels, in the order of recount-kernels(7).
[[nodiscard]] std::span<const Kernel* const> all();
/// Throws recount::Error (bad_input) naming the nearest kernels when there is none of that name.
[[nodiscard]] const Kernel& find(std::string_view name);
/// Fills in defaults and checks bounds and unknown names; throws recount::Error (bad_input).
[[nodiscard]] Params complete(const Kernel& kernel, const Params& given);

// All kernels, in the order of the registry.

[[nodiscard]] const Kernel& stride_kernel();
[[nodiscard]] const Kernel& chase_kernel();
[[nodiscard]] const Kernel& visit_kernel();
[[nodiscard]] const Kernel& matmul_kernel();
[[nodiscard]] const Kernel& matmul_vectorised_kernel();
[[nodiscard]] const Kernel& dgemm_kernel();
[[nodiscard]] const Kernel& peak_kernel();
[[nodiscard]] const Kernel& bandwidth_kernel();
[[nodiscard]] const Kernel& external_kernel();
[[nodiscard]] const Kernel& cell_kernel();
[[nodiscard]] const Kernel& scatter_kernel();
[[nodiscard]] const Kernel& code_kernel();
/// Those that provoke an action of the operating system or of another CPU.
[[nodiscard]] std::vector<const Kernel*> provoked_kernels();

} // namespace recount::kernel
