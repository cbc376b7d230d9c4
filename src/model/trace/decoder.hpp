// The words of one process, in order, to what its program did.
#pragma once

#include "model/trace/executed.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/protocol.h"
#include "model/trace/reader.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::trace {

/// Hands the accesses of a process to a `Sink`, which has
///   void block(const Blocks::Block&)   an execution of a block begins
///   void left(unsigned instructions)                  it ended after so many instructions at a side exit
///   template <bool store> void access(address, bytes, std::uint32_t access)   number of the access in Blocks
///   void flush(address), void prefetch(address)   by software; left out where no caches are simulated
///   void thread(std::uint64_t), void module(Module), void undecoded(Undecoded)
///   void section(std::string_view)
///   bool memory(kind, words)   where data are (MemoryMap); false: damaged; left out where nobody asks for it
///   bool plain(const Blocks&, const std::uint64_t*& at, end)   takes words of blocks and accesses itself, as
///   many as it likes; false: damaged; left out where nothing is gained
///   bool waits(), std::optional<Countdown> answer()   as those of Reader; left out where nobody requests
///   anything
///   std::unique_ptr<Sink> forked() const
template <class Sink>
class Decoder : public Reader {
public:
  /// `gate`: the sink gets what is executed while it is open; none: everything.
  Decoder(Blocks& blocks, std::unique_ptr<Sink> sink, std::optional<FunctionGate> gate = {})
      : blocks_(blocks), sink_(std::move(sink)), gate_(std::move(gate)) {}

  [[nodiscard]] bool take(std::span<const std::uint64_t> words) override {
    const std::uint64_t* at = words.data();
    const std::uint64_t* const end = at + words.size();
    while (at != end) {
      if constexpr (requires { sink_->plain(blocks_, at, end); })
        if (!gate_ && !sink_->plain(blocks_, at, end)) return false;
      if (!(gate_ ? take_words<true>(at, end) : take_words<false>(at, end))) return false;
    }
    return true;
  }
  [[nodiscard]] std::unique_ptr<Reader> forked(std::uint32_t pid) const override {
    return std::make_unique<Decoder>(blocks_, sink_->forked(pid),
                                     gate_ ? std::optional(gate_->forked()) : std::nullopt);
  }
  [[nodiscard]] bool waits() const override {
    if constexpr (requires { sink_->waits(); }) return sink_->waits();
    return false;
  }
  std::optional<Countdown> answer() override {
    if constexpr (requires { sink_->answer(); }) return sink_->answer();
    return Countdown();
  }
  [[nodiscard]] Sink& sink() { return *sink_; }

private:
  /// Up to the next record or change of thread.
  template <bool gated>
  [[nodiscard]] bool take_words(const std::uint64_t*& at, const std::uint64_t* const end) {
    static constexpr Blocks::Access none = Blocks::end;
    const Blocks::Access* access = &none;
    std::uint64_t instructions = 0; ///< of the block under way
    const Blocks::Access* const all = blocks_.all();
    Sink& sink = *sink_;
    while (at != end) {
      const std::uint64_t word = *at++;
      if (word < RT_CONTROL) {
        const Blocks::Access what = *access;
        if (what == Blocks::end) return false;
        const auto number = static_cast<std::uint32_t>(access++ - all);
        if constexpr (gated) {
          gate_->access(word);
          if (!gate_->open()) continue;
        }
        if (Blocks::hints(what)) [[unlikely]] {
          if constexpr (requires { sink.flush(word); })
            if (what == Blocks::flush) sink.flush(word);
          if constexpr (requires { sink.prefetch(word); })
            if (what == Blocks::prefetch) sink.prefetch(word);
        } else if (Blocks::loads(what))
          sink.template access<false>(word, Blocks::bytes(what), number);
        else
          sink.template access<true>(word, Blocks::bytes(what), number);
        continue;
      }
      switch (RT_KIND(word)) {
      case RT_BLOCK: {
        const Blocks::Block* const block = blocks_.find(RT_PAYLOAD(word));
        if (!block) return false;
        access = all + block->access;
        instructions = block->instructions;
        if constexpr (gated) gate_->block(*block);
        if (!gated || gate_->open()) sink.block(*block);
        break;
      }
      case RT_EXIT:
        if (RT_LENGTH(word) == 0 || RT_LENGTH(word) > instructions) return false;
        if constexpr (gated) gate_->left(static_cast<unsigned>(RT_LENGTH(word)));
        if (!gated || gate_->open()) sink.left(static_cast<unsigned>(RT_LENGTH(word)));
        break;
      case RT_SKIPPED:
        if (*access++ == Blocks::end) return false;
        break;
      case RT_THREAD:
        if constexpr (gated) gate_->thread(RT_PAYLOAD(word));
        sink.thread(RT_PAYLOAD(word));
        return true;
      default: {
        const std::size_t length = RT_LENGTH(word);
        if (length > static_cast<std::size_t>(end - at) || !record(RT_KIND(word), {at, length})) return false;
        at += length;
        return true;
      }
      }
    }
    return true;
  }
  static std::string_view text(std::span<const std::uint64_t> words) {
    const auto* const begin = reinterpret_cast<const char*>(words.data());
    return {begin, ::strnlen(begin, words.size() * sizeof words[0])};
  }
  void module(const Module& module) {
    if (gate_) gate_->module(module);
    sink_->module(module);
  }
  bool taken_by_sink(std::uint64_t kind, std::span<const std::uint64_t> words) {
    if constexpr (requires { sink_->memory(kind, words); }) return sink_->memory(kind, words);
    return false;
  }
  /// A request to recount of a program that knows the tool; nobody waits for its answer.
  static bool is_unanswered(std::uint64_t kind, std::span<const std::uint64_t> words) {
    return kind == RT_REQUEST && words.size() == 4 && words[0] != RT_SYNC && words[0] != RT_CLOCK;
  }
  /// The words are copied first: the program can change them at any time.
  bool record(std::uint64_t kind, std::span<const std::uint64_t> shared) {
    copy_.assign(shared.begin(), shared.end());
    const std::span<const std::uint64_t> words = copy_;
    if (kind == RT_DEFINE) return blocks_.define(words);
    if (kind == RT_MODULE && words.size() > 3)
      module({words[0], words[1], words[2], std::string(text(words.subspan(3)))});
    else if (kind == RT_UNDECODED && words.size() == 3)
      sink_->undecoded(Undecoded(words));
    else if (kind == RT_SECTION && !words.empty())
      sink_->section(text(words));
    else
      return taken_by_sink(kind, words) || is_unanswered(kind, words);
    return true;
  }

  Blocks& blocks_;
  std::unique_ptr<Sink> sink_;
  std::optional<FunctionGate> gate_;
  std::vector<std::uint64_t> copy_;
};

} // namespace recount::trace
