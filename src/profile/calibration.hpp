// Functions that do nothing, to measure what probes on them cost.
#pragma once

#include "profile/sites.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace recount::profile {

/// Code for each of some sites: an instruction of the kind of the site's first one, and a return. What a
/// uprobe costs depends on that instruction: Linux emulates pushes, nops and jumps and single-steps the rest
/// (arch/x86/kernel/uprobes.c). Empty on other machines than x86-64, and where no memory may be executed.
class Calibration {
public:
  explicit Calibration(const std::vector<Site>& sites);
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;
  ~Calibration();
  /// In step with those given; empty: there is none.
  [[nodiscard]] const Sites& sites() const noexcept { return sites_; }
  void call(std::size_t site) const;

private:
  Sites sites_;
  std::size_t bytes_ = 0;
  unsigned char* code_ = nullptr;
};

/// The instruction that stands for the kind of the first one of `code`, and what undoes it. Pure.
[[nodiscard]] std::span<const unsigned char> calibration_body(std::span<const unsigned char> code);

} // namespace recount::profile
