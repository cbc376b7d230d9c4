// A child that reads one request from its standard input and answers in lines.
#pragma once

#include "process/child.hpp"
#include "process/fd.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace recount::process {

/// A descriptor from which this text can be read: a child's input without a second thread. Up to PIPE_BUF
/// bytes a pipe, which holds that much at any setting (pipe(7)) and is not subject to RLIMIT_FSIZE; else a
/// file in memory (memfd_create(2)). Throws recount::Error (unavailable).
[[nodiscard]] Fd text_file(std::string_view text);

/// Appends what a non-blocking descriptor holds now, keeping at most `most` bytes in `text` and dropping the
/// rest, so that the writer never blocks. Closes the descriptor at its end.
void drain(Fd& fd, std::string& text, std::size_t most);

/// Owned by one thread; destroying it kills the child. Not usable in a forked child.
class Worker {
public:
  /// Starts the program with the request as its input; its outputs are read, core dumps are off. Throws as
  /// Child does.
  Worker(Spawn spawn, std::string_view request);

  /// Reads available bytes of both outputs; waits at most `wait_ms` for more.
  void read(int wait_ms = 0);
  [[nodiscard]] int out() const { return out_.get(); } ///< for poll(2); -1 after its end
  [[nodiscard]] int err() const { return err_.get(); }
  /// Whether an output is still open.
  [[nodiscard]] bool open() const { return out_ || err_; }
  /// Its stdout, without the lines removed by lines().
  [[nodiscard]] const std::string& answer() const { return answer_; }
  [[nodiscard]] std::string& answer() { return answer_; }
  /// Removes the whole lines from the answer and returns them.
  [[nodiscard]] std::string lines();
  /// The last line of its stderr; empty when there is none.
  [[nodiscard]] std::string_view last_words() const;
  [[nodiscard]] Child& child() { return child_; }
  [[nodiscard]] const Child& child() const { return child_; }

private:
  Worker(Spawn& spawn, std::string_view request, Pipe out, Pipe err);
  Child child_;
  Fd out_, err_;
  std::string answer_, words_;
};

} // namespace recount::process
