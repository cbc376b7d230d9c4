// Histograms of addresses, as PAPI_profil(3) and PAPI_sprofil(3) fill them, on any event.
#pragma once

#include <recount/error.hpp>
#include <recount/overflow.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace recount {

/// A range of addresses, divided into buckets. An address belongs to bucket (address - start) * scale /
/// 131072 if that is below `buckets`; otherwise it is outside. Start 0 with scale 2 puts all addresses into
/// bucket 0.
struct HistogramRange {
  std::uint64_t start = 0;
  std::size_t buckets = 0;
  std::uint32_t scale = 65536; ///< 131072 (maximum): one byte per bucket; 65536: two; 32768: four
};

/// How samples are added to buckets. The names are those of PAPI's flags.
struct HistogramOptions {
  unsigned bits = 16;    ///< per bucket: 16, 32 or 64 (PAPI_PROFIL_BUCKET_16 …). Buckets saturate.
  bool weighted = false; ///< add 1 to 255 per sample, by the excess over the threshold (PAPI_PROFIL_WEIGHTED)
  bool random = false;   ///< drop a quarter of the samples at random (PAPI_PROFIL_RANDOM)
  bool compress = false; ///< ignore a sample with probability value / 65536, where value is the content of
                         ///< its bucket, which therefore never exceeds 65535 (PAPI_PROFIL_COMPRESS)
  std::uint64_t seed = 1; ///< for `random` and `compress`
  /// Returns 16 random bits; `state` is initialised with `seed`. Null: splitmix64.
  std::uint16_t (*draw)(std::uint64_t& state) = nullptr;
};

/// Number of samples by outcome.
struct HistogramTotals {
  std::uint64_t samples = 0;   ///< calls of add()
  std::uint64_t counted = 0;   ///< increased a bucket
  std::uint64_t outside = 0;   ///< outside of all buckets
  std::uint64_t dropped = 0;   ///< by HistogramOptions::random
  std::uint64_t ignored = 0;   ///< by HistogramOptions::compress
  std::uint64_t saturated = 0; ///< counted, but limited by the maximum of the bucket (PAPI wraps to 0)
};

/// Buckets over one or several ranges. An address belongs to the range with the highest start that is not
/// above it, even if it is outside the buckets of that range. (PAPI assigns the first address of a range to
/// the range before it, if there is one.) add() is async-signal-safe, nothing else is. Not thread-safe.
class Histogram {
public:
  /// Throws Error (bad_input): no range, a range without buckets, a scale of 0 or above 131072, `bits` other
  /// than 16, 32 or 64, more buckets than can be addressed.
  explicit Histogram(std::vector<HistogramRange> ranges, const HistogramOptions& options = {});

  /// Adds a sample at an address. `excess`: occurrences beyond the threshold when the sample was taken; used
  /// only if `weighted`.
  void add(std::uint64_t address, std::uint64_t excess = 0, std::uint64_t threshold = 1) noexcept;
  void clear() noexcept; ///< sets all buckets and totals to 0; keeps the state of the random numbers

  // Throw Error (bad_input) for a range or bucket that does not exist.
  [[nodiscard]] const std::vector<HistogramRange>& ranges() const noexcept { return ranges_; }
  [[nodiscard]] std::uint64_t value(std::size_t range, std::size_t bucket) const;
  /// View of the buckets of a range; empty if T does not have `bits` bits.
  template <class T>
  [[nodiscard]] std::span<const T> buckets(std::size_t range) const {
    const auto* all = std::get_if<std::vector<T>>(&buckets_);
    require_index("range of a histogram", range, ranges_.size());
    if (all == nullptr) return {};
    return std::span<const T>(*all).subspan(first_[range], ranges_[range].buckets);
  }
  /// The first address of a bucket and the first beyond it.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> addresses(std::size_t range,
                                                                  std::size_t bucket) const;
  [[nodiscard]] const HistogramTotals& totals() const noexcept { return totals_; }

private:
  [[nodiscard]] std::optional<std::size_t> bucket_of(std::uint64_t address) const noexcept;
  [[nodiscard]] std::uint64_t increase(std::uint64_t value, std::uint64_t excess,
                                       std::uint64_t threshold) noexcept;
  [[nodiscard]] std::uint64_t random() noexcept;

  std::vector<HistogramRange> ranges_;
  std::vector<std::size_t> first_; ///< index in buckets_ of the first bucket of each range
  std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>, std::vector<std::uint64_t>> buckets_;
  HistogramOptions options_;
  std::uint64_t state_;
  HistogramTotals totals_;
};

/// An event whose overflows are added to a histogram. Several events may share a histogram.
struct ProfiledEvent {
  Event event;
  std::uint64_t threshold = 0;
  Histogram* histogram = nullptr; ///< must outlive the profile
};

/// PAPI_sprofil for any number of events: once per `threshold` occurrences of an event, the address is added
/// to the histogram of the event. For emulated events, weighted histograms receive the excess over the
/// threshold. Throws as Overflow.
class AddressProfile {
public:
  explicit AddressProfile(std::vector<ProfiledEvent> events, const OverflowOptions& options = {});
  void start() { overflow_->start(); }
  void stop() { overflow_->stop(); } ///< the histograms may be read from here on
  [[nodiscard]] Overflow& overflow() noexcept { return *overflow_; }

private:
  std::unique_ptr<Overflow> overflow_;
};

} // namespace recount
