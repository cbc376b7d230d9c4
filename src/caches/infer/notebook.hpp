// Every reading that an inference took: asked for once, kept as evidence.
#pragma once

#include "caches/infer/sampler.hpp"

#include <map>
#include <span>
#include <vector>

namespace recount::analysis {

/// A sampler that remembers. Not thread-safe.
class Notebook {
public:
  explicit Notebook(Sampler& sampler) : sampler_(sampler) {}
  [[nodiscard]] const Abilities& abilities() const { return sampler_.abilities(); }
  /// The readings, in order; only those not yet taken are asked of the sampler, all at once.
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns);
  Reading read(const kernel::Pattern& pattern) { return read(std::span(&pattern, 1)).front(); }
  /// Everything taken so far.
  [[nodiscard]] const std::map<kernel::Pattern, Reading>& taken() const { return taken_; }

private:
  Sampler& sampler_;
  std::map<kernel::Pattern, Reading> taken_;
};

/// Why a property cannot be told; thrown inside an inference and caught where the property is made.
struct Unknown {
  std::string reason; ///< a clause
};

/// Its time; throws Unknown where there is none: why, as far as the reading tells, else `otherwise`.
[[nodiscard]] double time_of(const Reading& reading, const char* otherwise);

} // namespace recount::analysis
