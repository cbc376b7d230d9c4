#include "profile/sites.hpp"
#include "base/nearest.hpp"

#include "base/format.hpp"
#include "profile/files.hpp"
#include "profile/located.hpp"
#include "symbol/disassembly.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>

namespace recount::profile {
namespace {

/// A file that the process has mapped, with its names.
struct Candidate {
  std::string path;
  symbol::Module module;
  process::Fd file; ///< the same once more, for the kernel
};

std::vector<Candidate> candidates_of(pid_t pid, const std::string& debug_path) {
  symbol::Spaces spaces;
  Files files;
  existing_mappings(pid, [&](const Record& record) {
    spaces.add(record);
    files.look_at(spaces, static_cast<std::uint32_t>(pid));
  });
  std::vector<Candidate> all;
  for (std::uint32_t file = 0; file < spaces.files().size(); ++file) {
    const std::string& path = spaces.files()[file].path;
    process::Fd again = spaces.files()[file].is_file()
                            ? open_regular(fmt::format("/proc/{}/root{}", pid, path))
                            : process::Fd();
    auto found = files.module(spaces, file, debug_path);
    if (found.module && again) all.push_back({path, std::move(*found.module), std::move(again)});
  }
  return all;
}

/// Where only the dynamic symbols are left, an old version of a name (memcpy of glibc 2.2.5) exists beside
/// the indirect function that current programs call: a breakpoint there would count nothing.
bool chosen_at_start(const std::vector<symbol::Named>& all, const symbol::Named& function) {
  return std::ranges::any_of(
      all, [&](const symbol::Named& other) { return other.indirect && other.linkage == function.linkage; });
}

class SiteSearch {
public:
  SiteSearch(std::vector<Candidate> candidates, std::size_t most)
      : candidates_(std::move(candidates)), most_(most) {}

  void add(const std::string& text) {
    const FunctionName wanted = parse_function_name(text);
    bool library = false;
    for (Candidate& candidate : candidates_) {
      const bool fits = wanted.library.empty() || short_path(candidate.path).starts_with(wanted.library);
      library = library || fits;
      if (fits && take(candidate, wanted.name, text)) return;
    }
    if (!library)
      throw bad_input("--function " + text, "the process has not loaded the library " + wanted.library,
                      libraries());
    explain(wanted, text);
    throw bad_input("--function " + text, "there is no such function", near(wanted));
  }
  [[nodiscard]] Sites finish() {
    for (Candidate& candidate : candidates_) {
      for (Site& site : sites_.all)
        if (site.module == candidate.path) site.file = candidate.file.get();
      sites_.files.push_back(std::move(candidate.file));
    }
    return std::move(sites_);
  }

private:
  /// False when the file has no such function.
  bool take(Candidate& candidate, const std::string& name, const std::string& text) {
    const auto found = candidate.module.functions(name);
    std::vector<Site> fitting;
    for (const auto& function : found) {
      const auto offset = candidate.module.offset(function.start);
      if (offset && !chosen_at_start(found, function))
        fitting.push_back({candidate.path, function, *offset, candidate.module.bytes(function.start, 16),
                           exits_of(candidate.module, function), candidate.module.is_go()});
    }
    if (fitting.empty() && !found.empty())
      throw bad_input("--function " + text,
                      "is an indirect function: the dynamic linker selects its implementation at start",
                      "name the selected implementation, see recount profile --by function");
    if (fitting.empty()) return false;
    for (const Site& site : fitting) {
      const auto same = [&](const Site& s) { return s.module == site.module && s.offset == site.offset; };
      if (std::ranges::none_of(sites_.all, same)) sites_.all.push_back(site);
    }
    if (sites_.all.size() > most_)
      throw bad_input(
          "--function " + text,
          fmt::format("{} functions match, more than the maximum of {}", sites_.all.size(), most_),
          "narrow the pattern");
    note(candidate, name, text);
    return true;
  }
  /// All exits of a function, or none if they are too many or unknown.
  static std::optional<std::vector<std::uint64_t>> exits_of(const symbol::Module& module,
                                                            const symbol::Named& function) {
    constexpr std::size_t largest = 1 << 20, most_exits = 16;
    std::vector<symbol::Code> parts;
    for (const auto& part : module.parts(function)) {
      if (part.end <= part.start || part.end - part.start > largest) return {};
      parts.push_back({part.start, module.bytes(part.start, part.end - part.start)});
    }
    const auto addresses = symbol::exits(module.machine(), parts);
    if (!addresses || addresses->size() > most_exits) return {};
    std::vector<std::uint64_t> offsets;
    for (const std::uint64_t address : *addresses)
      offsets.push_back(module.offset(address).value_or(0));
    return offsets;
  }

  /// Throws Error (bad_input) if the function exists but its calls cannot be counted.
  void explain(const FunctionName& wanted, const std::string& text) {
    for (Candidate& candidate : candidates_) {
      if (!short_path(candidate.path).starts_with(wanted.library)) continue;
      if (const auto instances = candidate.module.functions(wanted.name + "<*"); !instances.empty())
        throw bad_input("--function " + text,
                        fmt::format("is a template ({} in {})",
                                    base::format_count(instances.size(), "instance"),
                                    short_path(candidate.path)),
                        fmt::format("--function '{}<*' counts all of them", text));
      const std::size_t times = candidate.module.inlined(wanted.name).value_or(0) +
                                candidate.module.inlined(wanted.name + "<*").value_or(0);
      if (times > 0)
        throw bad_input("--function " + text,
                        fmt::format("was inlined everywhere ({}) in {}: there are no calls to count",
                                    base::format_count(times, "place"), short_path(candidate.path)),
                        "recount profile --by function shows samples in it; or compile it with "
                        "__attribute__((noinline))");
    }
  }

  void note(Candidate& candidate, const std::string& name, const std::string& text) {
    const auto inlined = candidate.module.inlined(name);
    if (inlined && *inlined > 0)
      sites_.notes.push_back(fmt::format("{} was also inlined at {}; these calls are not counted", text,
                                         base::format_count(*inlined, "place")));
  }
  [[nodiscard]] std::string libraries() const {
    std::string text = "it has";
    for (const Candidate& candidate : candidates_)
      text += " " + short_path(candidate.path);
    return text;
  }
  [[nodiscard]] std::string near(const FunctionName& wanted) const {
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates_)
      for (const auto& function : candidate.module.functions("*" + wanted.name + "*"))
        names.push_back(function.name);
    return base::did_you_mean(wanted.name, names,
                              "write the name with its namespace, as nm -C PROGRAM prints it");
  }

  std::vector<Candidate> candidates_;
  std::size_t most_;
  Sites sites_;
};
} // namespace

FunctionName parse_function_name(const std::string& text) {
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at)) {
    if (text.compare(at, 2, "::") != 0) return {text.substr(0, at), text.substr(at + 1)};
    at += 2;
  }
  return {{}, text};
}

Sites find_sites(pid_t pid, const std::vector<std::string>& names, const std::string& debug_path,
                 std::size_t most) {
  SiteSearch search(candidates_of(pid, debug_path), most);
  for (const auto& name : names)
    search.add(name);
  return search.finish();
}

} // namespace recount::profile
