#include "propose/propose_events.hpp"

#include "base/text.hpp"
#include "preset/catalogue.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cctype>

namespace recount::propose {
namespace {

/// Shares of common words from which two descriptions are of the same event. Equal codes need less.
constexpr double alike = 0.5, equal_words = 0.85;
constexpr std::size_t least_words = 3; ///< of a description that identifies an event

bool common_word(const std::string& word) {
  static const std::set<std::string> common{"a",     "an",  "the",  "of",   "number", "count", "counts",
                                            "event", "for", "that", "this", "is",     "are",   "in",
                                            "to",    "all", "by",   "and",  "were",   "was"};
  return common.contains(word);
}

/// "EVENT:MASK" and ":c=1:e=1"
std::pair<std::string, std::string> without_modifiers(const std::string& term) {
  std::string bare, modifiers;
  for (const std::string_view part : base::split(std::string_view(term), ':'))
    if (part.find('=') == part.npos)
      bare += (bare.empty() ? "" : ":") + std::string(part);
    else
      modifiers += ":" + std::string(part);
  return {bare, modifiers};
}

std::string code_text(const preset::Native& native) {
  return fmt::format("{:#x}", native.config) +
         (native.config1 ? fmt::format("/{:#x}", native.config1) : std::string());
}

Translation by_name(const std::string& term, const preset::Native& there, const preset::Native& here) {
  if (here.same_as(there)) return {term, {}, 1};
  const bool same = similarity(words_of(there.prose), words_of(here.prose)) >= alike;
  std::string remark = fmt::format("{}: code {} there, {} here", term, code_text(there), code_text(here));
  if (same) return {term, std::move(remark), 0.9};
  return {term, remark + fmt::format("; described there as '{}', here as '{}'", there.prose, here.prose),
          0.4};
}

struct Best {
  const NamedEvent* event = nullptr;
  double similarity = 0;
  void offer(const NamedEvent& other, double how) {
    if (!event || how > similarity) {
      event = &other;
      similarity = how;
    }
  }
};

/// Intel's architectural events, the same on each core whatever the description says (SDM volume 3,
/// "Pre-defined Architectural Performance Events").
bool architectural(EventIndex& here, const preset::Native& native) {
  constexpr std::uint64_t codes[] = {0x3c, 0x13c, 0xc0, 0xc4, 0xc5, 0x4f2e, 0x412e};
  return here.natives().core().prose.starts_with("Intel") && native.type == PERF_TYPE_RAW &&
         native.config1 == 0 && native.config2 == 0 &&
         std::ranges::find(codes, native.config) != std::end(codes);
}

Translation by_code(const std::string& bare, const preset::Native& there, EventIndex& here) {
  const auto words = words_of(there.prose);
  Best best;
  for (const std::size_t at : here.with_code_of(there))
    best.offer(here.events()[at], similarity(words, here.events()[at].words));
  if (!best.event) return {};
  if (architectural(here, there))
    return {best.event->name,
            bare == best.event->name ? "" : fmt::format("{} is named {} here", bare, best.event->name), 0.95};
  if (best.similarity < alike / 2) return {};
  return {best.event->name,
          fmt::format("{} is named {} here (code {})", bare, best.event->name, code_text(there)),
          0.5 + best.similarity / 2};
}

Translation by_description(const std::string& bare, const preset::Native& there, EventIndex& here) {
  const auto words = words_of(there.prose);
  if (words.size() < least_words) return {};
  Best best;
  for (const NamedEvent& event : here.events())
    best.offer(event, similarity(words, event.words));
  if (!best.event || best.similarity < equal_words) return {};
  return {best.event->name,
          fmt::format("{} (code {}) has the description of {} here (code {})", bare, code_text(there),
                      best.event->name, code_text(best.event->native)),
          best.similarity - 0.3};
}

} // namespace

std::set<std::string> words_of(std::string_view prose) {
  std::set<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && !common_word(word)) words.insert(word);
    word.clear();
  };
  for (const char c : prose)
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      end();
  end();
  return words;
}

double similarity(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::size_t common = 0;
  for (const std::string& word : a)
    common += b.count(word);
  const std::size_t all = a.size() + b.size() - common;
  return all == 0 ? 0 : static_cast<double>(common) / static_cast<double>(all);
}

EventIndex::EventIndex(const lint::EventSource& source, PapiVersion version)
    : natives_(*source.core, version, source.catalogue), names_(natives_.core_names()) {}

const std::vector<NamedEvent>& EventIndex::events() {
  if (!events_.empty()) return events_;
  for (const std::string& name : names_) {
    const preset::Native& native = natives_.of(name);
    if (!native.ok()) continue;
    by_code_[{native.type, native.config, native.config1, native.config2}].push_back(events_.size());
    events_.push_back({name, native, words_of(native.prose)});
  }
  return events_;
}

const std::vector<std::size_t>& EventIndex::with_code_of(const preset::Native& native) {
  static const std::vector<std::size_t> none;
  (void)events();
  const auto at = by_code_.find({native.type, native.config, native.config1, native.config2});
  return at == by_code_.end() ? none : at->second;
}

Translation translate(const std::string& term, EventIndex& there, EventIndex& here) {
  const auto [bare, modifiers] = without_modifiers(term);
  const preset::Native source = there.natives().of(bare);
  Translation best;
  const auto offer = [&](Translation found) {
    if (found.quality > best.quality && here.natives().of(found.name + modifiers).ok())
      best = std::move(found);
  };
  if (const preset::Native& own = here.natives().of(bare); own.ok() && source.ok())
    offer(by_name(bare, source, own));
  // From PAPI 7.3 on, names without a prefix are those of the core PMU only.
  const std::string prefixed = "ix86arch::" + bare;
  if (best.name.empty() && source.ok() && source.pmu == "ix86arch" && here.natives().of(prefixed).ok())
    offer({prefixed, {}, 1});
  if (best.quality < 0.9 && source.ok()) offer(by_code(bare, source, here));
  if (best.quality < 0.5 && source.ok()) offer(by_description(bare, source, here));
  // Some events need modifiers to be encoded, and some unit masks are named like them.
  if (best.name.empty() && here.natives().of(term).ok() && there.natives().of(term).ok())
    return by_name(term, there.natives().of(term), here.natives().of(term));
  if (!best.name.empty()) best.name += modifiers;
  return best;
}

} // namespace recount::propose
