// Kernels that provoke an action of the operating system or of another CPU n times.
#pragma once

#include "kernel/point.hpp"

#include <sched.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace recount::kernel {

/// One kernel as a row: its parameter is the number of repetitions.
struct Provoked {
  std::string name, prose;
  Parameter times;
  std::vector<Expectation> (*expected)(double n) = nullptr;
  std::unique_ptr<Instance> (*prepare)(std::int64_t n) = nullptr; ///< may throw recount::Error (unavailable)
  std::int64_t bytes_each = 0, bytes = 4096; ///< of memory: n times the one, and the other
  /// None: closed forms alone.
  std::int64_t (*simulate)(std::int64_t n, model::Hierarchy& caches) = nullptr;
};

class ProvokedKernel : public BasicKernel {
public:
  explicit ProvokedKernel(const Provoked& row);
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override;
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override;
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override;
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override;
  [[nodiscard]] std::string unsimulated() const override;

private:
  [[nodiscard]] std::int64_t times(const result::Params& point) const;
  Provoked row_;
};

[[nodiscard]] std::span<const Provoked> provoked();

// CPUs for kernels that need more than one.

/// The CPUs that the calling thread may run on, put back when destroyed.
class Affinity {
public:
  Affinity();
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;
  ~Affinity();

private:
  cpu_set_t before_;
};

/// Moves the calling thread to this CPU and keeps it there; false when it may not run there.
[[nodiscard]] bool move_to(int cpu);

/// Pins the calling thread to its current CPU, and finds another CPU allowed for the process.
class TwoCpus {
public:
  /// Throws recount::Error (unavailable) naming the kernel when there is no other.
  explicit TwoCpus(const char* kernel);
  [[nodiscard]] int here() const { return here_; }
  [[nodiscard]] int other() const { return other_; }

private:
  Affinity as_it_was_;
  int here_, other_ = -1;
};

} // namespace recount::kernel
