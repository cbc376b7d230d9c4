// What reads the words of a traced process.
#pragma once

#include "base/process/child.hpp"
#include "model/trace/protocol.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace recount::trace {

/// A mapping of code.
struct Module {
  std::uint64_t start = 0, end = 0, offset = 0; ///< offset: of `start` in the file
  std::string file;
};

/// An instruction that Valgrind cannot execute.
struct Undecoded {
  explicit Undecoded(std::span<const std::uint64_t> words) : address(words[0]) {
    std::memcpy(code.data(), words.data() + 1, code.size());
  }
  std::uint64_t address;
  std::array<unsigned char, 16> code{};
};

/// Why a command that ended by SIGILL, itself or its shell, has no values: the last such instruction that was
/// executed; empty: there was none, or it ended otherwise.
[[nodiscard]] std::string unexecuted(const std::optional<Undecoded>& last, const process::Exit& exit);
/// Why a command that went on after such an instruction may have gone another way than on a CPU that has it.
inline constexpr const char* handled_undecoded =
    "the program handled the SIGILL of an instruction that Valgrind cannot execute: it may go another way "
    "than on this CPU";

/// The core where a thread of RT_THREAD runs, modulo those of the machine: Valgrind numbers from 1 and gives
/// the number of a thread that has ended to the next one.
[[nodiscard]] inline std::uint64_t core_of(std::uint64_t thread) {
  return (thread & 0xffff) - 1;
}

/// The answer to RT_SYNC: what the thread that waits may execute before it is to ask again, see
/// RT_COUNTDOWNS; and RT_DONE ... That to RT_CLOCK is a reading.
struct Countdown {
  Countdown() { left.fill(RT_NEVER); }
  std::array<std::int64_t, RT_COUNTDOWNS> left{};
  std::uint32_t answer = RT_DONE;
  std::uint64_t reading = 0;
};

/// Of one process.
class Reader {
public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;
  /// A chunk of words, which begins with no execution under way. False: damaged.
  [[nodiscard]] virtual bool take(std::span<const std::uint64_t> words) = 0;
  /// Whether the process waits for an answer to RT_SYNC or RT_CLOCK; answer() is called once all that was
  /// published before has been read, of every process. Nothing: not yet.
  [[nodiscard]] virtual bool waits() const { return false; }
  virtual std::optional<Countdown> answer() { return Countdown(); }
  /// That of a process which this one has just forked.
  [[nodiscard]] virtual std::unique_ptr<Reader> forked(std::uint32_t pid) const = 0;
};

} // namespace recount::trace
