// Words of the command line that recount no longer has: what they did, and what does it now.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace recount::command {

struct Removed {
  std::string_view command; ///< empty: any
  std::string_view word;    ///< an option, or a kernel of sweep
  std::string_view was, fix;
};

inline constexpr std::array removed_words{
    Removed{"sweep", "nest", "was loops written as text and is removed",
            "recount stat --witness model -- PROGRAM simulates the same loops in any language"},
    Removed{"profile", "--perf-data", "wrote perf.data and is removed", "perf record"},
    Removed{"profile", "--input", "read perf.data and is removed", "perf report -i FILE"},
    Removed{"profile", "--diff", "compared files of perf.data and is removed", "perf diff"},
    Removed{"profile", "--speedscope", "wrote call chains and is removed",
            "--folded FILE, which speedscope reads"},
    Removed{"profile", "--callgrind", "wrote call chains and is removed",
            "--folded FILE, or valgrind --tool=callgrind"},
    Removed{"profile", "--pprof", "wrote call chains and is removed",
            "--folded FILE, which viewers of flame graphs read"},
    Removed{"caches", "--witness model", "tested the inference on a simulated machine and is removed",
            "recount emulate MACHINE -- recount caches"},
    Removed{"lint", "--catalogue", "read a catalogue of events and is removed",
            "--events-file NAME=FILE, or --libpfm FILE"},
    Removed{"propose", "--catalogue", "read a catalogue of events and is removed",
            "--events-file NAME=FILE, or --libpfm FILE"},
    Removed{"", "--no-verdicts", "left out verdicts and is removed: no command keeps or shows them",
            "leave it out"},
};

/// Null for a word that never was one of this command. Pure.
[[nodiscard]] constexpr const Removed* find_removed(std::string_view command, std::string_view word) {
  const auto found = std::ranges::find_if(removed_words, [&](const Removed& one) {
    return (one.command.empty() || one.command == command) && one.word == word.substr(0, word.find('='));
  });
  return found == removed_words.end() ? nullptr : &*found;
}

} // namespace recount::command
