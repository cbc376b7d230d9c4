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

/// A range of addresses and the buckets that it is divided into. An address falls into the bucket
/// (address - start) * scale / 131072, if there is such a one: with scale 65536 two bytes are a bucket, with
/// 131072 (the most) one byte, with 32768 four. Start 0 with scale 2 puts everything into bucket 0.
struct HistogramRange {
  std::uint64_t start = 0;
  std::size_t buckets = 0;
  std::uint32_t scale = 65536;
};

/// How samples are counted. The names are those of PAPI's flags.
struct HistogramOptions {
  unsigned bits = 16;     ///< of a bucket: 16, 32 or 64 (PAPI_PROFIL_BUCKET_16 …). A full one stays full.
  bool weighted = false;  ///< 1 to 255 for a sample, by the excess over the threshold (PAPI_PROFIL_WEIGHTED)
  bool random = false;    ///< a random quarter is dropped (PAPI_PROFIL_RANDOM)
  bool compress = false;  ///< the fuller a bucket, the likelier is a sample ignored: with as many in 65536 as
                          ///< it holds (PAPI_PROFIL_COMPRESS); so it cannot grow beyond 65535
  std::uint64_t seed = 1; ///< of both
  /// 16 random bits from a state that starts as the seed; null: a good generator of the library's own.
  std::uint16_t (*draw)(std::uint64_t& state) = nullptr;
};

/// What became of the samples that were added.
struct HistogramTotals {
  std::uint64_t samples = 0;   ///< all
  std::uint64_t counted = 0;   ///< found a bucket, and increased it
  std::uint64_t outside = 0;   ///< belong to no bucket
  std::uint64_t dropped = 0;   ///< at random
  std::uint64_t ignored = 0;   ///< because their bucket was large
  std::uint64_t saturated = 0; ///< increases that a full bucket could not take (PAPI starts again at 0)
};

/// Buckets over one or several ranges. Where ranges overlap, the one that starts last takes an address,
/// whether or not its buckets reach so far; a range holds its own first address. (PAPI gives that one to the
/// range before, where there is one.) add() is async-signal-safe, nothing else is. One thread at a time.
class Histogram {
public:
  /// Throws Error (bad_input): no range, a range without buckets, a scale of 0 or over 131072, odd bits, more
  /// buckets than can be addressed.
  explicit Histogram(std::vector<HistogramRange> ranges, const HistogramOptions& options = {});

  /// One sample at an address. `excess` are the occurrences beyond the threshold at which it was taken; it
  /// matters for `weighted` alone.
  void add(std::uint64_t address, std::uint64_t excess = 0, std::uint64_t threshold = 1) noexcept;
  void clear() noexcept; ///< all buckets and totals; the random state goes on

  // Throw Error (bad_input) for a range or bucket that does not exist.
  [[nodiscard]] const std::vector<HistogramRange>& ranges() const noexcept { return ranges_; }
  [[nodiscard]] std::uint64_t value(std::size_t range, std::size_t bucket) const;
  /// The buckets of a range themselves, when T has the right number of bits; else empty.
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
  std::vector<std::size_t> first_; ///< of each range, among all buckets
  std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>, std::vector<std::uint64_t>> buckets_;
  HistogramOptions options_;
  std::uint64_t state_;
  HistogramTotals totals_;
};

/// An event whose overflows a histogram gathers; several events may share one.
struct ProfiledEvent {
  Event event;
  std::uint64_t threshold = 0;
  Histogram* histogram = nullptr; ///< must outlive the profile
};

/// PAPI_sprofil for any number of events: every threshold occurrences of an event, the histogram that belongs
/// to it gets the address. Weighted histograms see what emulated events counted beyond their threshold. As
/// Overflow.
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
