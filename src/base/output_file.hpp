// Files that the user named for output: one check before anything is measured, one error when a write fails.
#pragma once

#include <recount/error.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace recount::base {

/// The error for a write that failed with this errno. A named file is bad_input; "-" is standard output, and
/// unavailable. For ENOSPC, EDQUOT and EFBIG, the fix frees space.
[[nodiscard]] Error cannot_write(const std::string& path, int error);

/// Creates or replaces a file. False, with errno, when it cannot be written completely.
[[nodiscard]] bool write_file(const std::string& path, std::string_view text);

/// Replaces a file by a temporary one that is renamed: readers see the old text or the new one. False, with
/// errno, when it cannot be written completely; the old file then stays.
[[nodiscard]] bool replace_file(const std::string& path, std::string_view text);

/// What a symbolic link names in the end, whether that exists or not; another path as it is.
[[nodiscard]] std::filesystem::path follow_links(std::filesystem::path path);

/// How a file is written: lines are appended to it, or it is written to a temporary file and renamed.
enum class Output { appended, replaced };
/// Throws what cannot_write() returns, with `option` before the path, where `path` cannot be written. Neither
/// creates nor changes a file. "-" and an empty path are accepted.
void check_writable(const std::string& option, const std::string& path, Output how);

} // namespace recount::base
