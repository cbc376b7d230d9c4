// Empty functions, to measure the overhead of probes.
#pragma once

#include "profile/sites.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace recount::profile {

/// Code per site: an instruction of the same class as the first one of the site, and a return. The overhead
/// of a uprobe depends on that instruction: Linux emulates pushes, nops and jumps and single-steps the rest
/// (arch/x86/kernel/uprobes.c). Empty on architectures other than x86-64, and where memory may not be
/// executable.
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

/// The representative instruction for the class of the first one of `code`, and its inverse. Pure.
[[nodiscard]] std::span<const unsigned char> calibration_body(std::span<const unsigned char> code);

} // namespace recount::profile
