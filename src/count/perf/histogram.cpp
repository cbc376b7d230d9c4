// After posix_profil() and _papi_hwi_dispatch_profile() of PAPI (src/extras.c), and profil(3).
#include <recount/histogram.hpp>

#include "base/random.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace recount {
namespace {

constexpr std::uint32_t max_scale = 131072;
constexpr unsigned scale_bits = 17; // 2^16 is the scale for a bucket of two bytes

__extension__ using Wide = unsigned __int128; // an address times a scale does not fit 64 bits

std::uint16_t draw_16(std::uint64_t& state) {
  return static_cast<std::uint16_t>(base::next_random(state) >> 48);
}

void require_valid(const std::vector<HistogramRange>& ranges, unsigned bits) {
  if (ranges.empty()) throw bad_input("histogram", "has no range of addresses", "add a HistogramRange");
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::string subject = "histogram, range " + std::to_string(i);
    if (ranges[i].buckets == 0) throw bad_input(subject, "buckets = 0", "use at least 1");
    if (ranges[i].scale == 0 || ranges[i].scale > max_scale)
      throw bad_input(subject, "scale = " + std::to_string(ranges[i].scale),
                      "use 1 to 131072 (one bucket per byte)");
  }
  if (bits != 16 && bits != 32 && bits != 64)
    throw bad_input("histogram", "bits per bucket = " + std::to_string(bits), "use 16, 32 or 64");
}

} // namespace

Histogram::Histogram(std::vector<HistogramRange> ranges, const HistogramOptions& options)
    : ranges_(std::move(ranges)), options_(options), state_(options.seed) {
  require_valid(ranges_, options_.bits);
  std::size_t all = 0;
  const std::size_t max_buckets = std::numeric_limits<std::ptrdiff_t>::max() / (options_.bits / 8);
  for (const HistogramRange& range : ranges_) {
    first_.push_back(all);
    if (range.buckets > max_buckets - all)
      throw bad_input("histogram", "more buckets than can be addressed", "use fewer or smaller ones");
    all += range.buckets;
  }
  if (options_.bits == 16)
    buckets_ = std::vector<std::uint16_t>(all);
  else if (options_.bits == 32)
    buckets_ = std::vector<std::uint32_t>(all);
  else
    buckets_ = std::vector<std::uint64_t>(all);
  if (options_.draw == nullptr) options_.draw = draw_16;
}

std::optional<std::size_t> Histogram::bucket_of(std::uint64_t address) const noexcept {
  const HistogramRange* best = nullptr;
  for (const HistogramRange& range : ranges_)
    if (range.start <= address && (best == nullptr || range.start > best->start)) best = &range;
  if (best == nullptr) return {};
  const bool everything = best->start == 0 && best->scale == 2;
  const Wide index = everything ? 0 : Wide{address - best->start} * best->scale >> scale_bits;
  if (index >= best->buckets) return {};
  return first_[static_cast<std::size_t>(best - ranges_.data())] + static_cast<std::size_t>(index);
}

std::uint64_t Histogram::random() noexcept {
  return options_.draw(state_);
}

/// By how much a bucket grows; 0: not at all.
std::uint64_t Histogram::increase(std::uint64_t value, std::uint64_t excess,
                                  std::uint64_t threshold) noexcept {
  constexpr std::uint64_t quarter = 0xffff / 4, most = 255;
  if (options_.random && random() <= quarter) return ++totals_.dropped, 0;
  if (options_.compress && random() < value) return ++totals_.ignored, 0;
  if (!options_.weighted || excess <= 1) return 1;
  if (excess > threshold) return most;
  if (threshold < most)
    return std::max<std::uint64_t>(1, excess * most / threshold); // PAPI divides by zero here
  return std::clamp<std::uint64_t>(excess / (threshold / most), 1, most);
}

void Histogram::add(std::uint64_t address, std::uint64_t excess, std::uint64_t threshold) noexcept {
  ++totals_.samples;
  const auto at = bucket_of(address);
  if (!at) {
    ++totals_.outside;
    return;
  }
  std::visit(
      [&](auto& all) {
        auto& bucket = all[*at];
        using Bucket = std::remove_reference_t<decltype(bucket)>;
        const std::uint64_t more = increase(bucket, excess, threshold);
        if (more == 0) return;
        ++totals_.counted;
        const std::uint64_t headroom = std::numeric_limits<Bucket>::max() - bucket;
        totals_.saturated += more > headroom ? 1U : 0U;
        bucket = static_cast<Bucket>(bucket + std::min(more, headroom));
      },
      buckets_);
}

void Histogram::clear() noexcept {
  std::visit([](auto& all) { std::ranges::fill(all, 0); }, buckets_);
  totals_ = {};
}

std::uint64_t Histogram::value(std::size_t range, std::size_t bucket) const {
  require_index("range of a histogram", range, ranges_.size());
  require_index("bucket of a histogram", bucket, ranges_[range].buckets);
  return std::visit([&](const auto& all) -> std::uint64_t { return all[first_[range] + bucket]; }, buckets_);
}

std::pair<std::uint64_t, std::uint64_t> Histogram::addresses(std::size_t range, std::size_t bucket) const {
  require_index("range of a histogram", range, ranges_.size());
  const HistogramRange& r = ranges_[range];
  const auto first = [&](std::size_t b) {
    const Wide scaled = Wide{b} << scale_bits;
    return r.start + static_cast<std::uint64_t>((scaled + r.scale - 1) / r.scale);
  };
  if (r.start == 0 && r.scale == 2) return {0, ~std::uint64_t{0}};
  return {first(bucket), first(bucket + 1)};
}

AddressProfile::AddressProfile(std::vector<ProfiledEvent> events, const OverflowOptions& options) {
  std::vector<OverflowEvent> overflowing;
  for (const ProfiledEvent& e : events) {
    if (e.histogram == nullptr)
      throw bad_input(e.event.name, "has no histogram", "set ProfiledEvent::histogram");
    overflowing.push_back({e.event, e.threshold});
  }
  const auto add = [events = std::move(events)](const OverflowCall& call) {
    for (const Overflowed& o : call.overflowed) {
      const ProfiledEvent& e = events[o.event];
      e.histogram->add(call.address, (o.times - 1) * e.threshold + o.excess, e.threshold);
    }
  };
  overflow_ = std::make_unique<Overflow>(std::move(overflowing), add, options);
}

} // namespace recount
