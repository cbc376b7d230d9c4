// The Java version of the products simple and line: built when a JDK is there.
#pragma once

#include "process/temporary_folder.hpp"

#include <optional>
#include <string>

namespace recount::matmul {

/// Compiled classes in a folder of their own, which goes with the object. While it lives, CLASSPATH of this
/// process leads there, so that its children find the class MatMul.
class Java {
public:
  /// Looks for javac and java and compiles; what goes wrong becomes missing().
  Java();
  Java(const Java&) = delete;
  Java& operator=(const Java&) = delete;
  ~Java() = default;

  [[nodiscard]] const std::string& missing() const {
    return missing_;
  } ///< why there is none; empty: there is
  [[nodiscard]] const std::string& version() const { return version_; } ///< "javac 17.0.19"
  /// As --external takes it.
  static constexpr const char* command = "Java=java MatMul {variant} {n}";

private:
  void build();

  std::optional<process::TemporaryFolder> folder_;
  std::string missing_, version_;
};

} // namespace recount::matmul
