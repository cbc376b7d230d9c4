// Output files appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace recount::plot {

/// All bytes of a file; empty when it cannot be read.
[[nodiscard]] std::string file_contents(const std::filesystem::path& path);

/// A temporary folder next to an output file, in which the file is drawn before it gets its name. Whatever
/// is left in it goes with the object. A path that is no regular file (a terminal, a pipe, /dev/full), and
/// "-" for stdout, is drawn in the folder for temporary files and written into.
class Delivery {
public:
  /// Throws recount::Error: bad_input when the path is a folder, else as host::cannot_write().
  explicit Delivery(const std::string& path);
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery();

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string name() const; ///< of the file, without a folder
  [[nodiscard]] std::string draft() const;
  /// Throws recount::Error when the draft is missing, empty, or lacks `ending` near its end: as
  /// host::cannot_write() when the disk is full, else unavailable.
  void verify(const std::string& ending) const;
  /// Moves all that was drawn to its place, the file itself last; returns the paths. Throws
  /// host::cannot_write().
  std::vector<std::string> deliver() const;

private:
  std::filesystem::path target_;
  std::string folder_, shown_;
  bool into_ = false;      ///< the target is written into, not replaced
  bool to_stdout_ = false; ///< the path was "-"
};

} // namespace recount::plot
