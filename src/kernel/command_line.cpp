#include "kernel/command_line.hpp"

#include "base/process/child.hpp"
#include "base/text.hpp"
#include "kernel/kernel.hpp"
#include "kernel/point.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <ranges>

namespace recount::kernel {

namespace {

bool letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

/// One word with its braces replaced.
std::string fill(const std::string& word, const std::map<std::string, std::string>& values,
                 const std::string& subject) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if ((c == '{' || c == '}') && i + 1 < word.size() && word[i + 1] == c) {
      ++i;
    } else if (c == '{') {
      const std::size_t end = std::min(word.find('}', i), word.size());
      const std::string name = word.substr(i + 1, end - i - 1);
      const auto found = values.find(name);
      if (end == word.size() || found == values.end())
        throw bad_input(subject, fmt::format("unknown placeholder {{{}}}", name),
                        fmt::format("use {{{}}}; write {{{{ and }}}} for braces",
                                    fmt::join(std::views::keys(values), "}, {")));
      text += found->second;
      i = end;
      continue;
    }
    text += c;
  }
  return text;
}

/// Removes leading characters of a set.
template <class Wanted>
std::string_view take(std::string_view& text, const Wanted& wanted) {
  std::size_t n = 0;
  while (n < text.size() && wanted(text[n]))
    ++n;
  const std::string_view taken = text.substr(0, n);
  text.remove_prefix(n);
  return taken;
}

struct UnitRow {
  const char* name;
  double seconds;
};
constexpr std::array unit_rows{UnitRow{"", 1},        UnitRow{"s", 1},     UnitRow{"sec", 1},
                               UnitRow{"seconds", 1}, UnitRow{"ms", 1e-3}, UnitRow{"milliseconds", 1e-3},
                               UnitRow{"us", 1e-6},   UnitRow{"ns", 1e-9}};

std::optional<double> seconds_in(std::string_view line) {
  const std::string small = base::lower_case(line);
  std::string_view rest = small;
  const auto skip_blanks = [&] { take(rest, [](char c) { return c == ' ' || c == '\t' || c == '\r'; }); };
  skip_blanks();
  const std::string_view key = take(rest, letter);
  if (key != "seconds" && key != "time" && key != "elapsed") return {};
  take(rest, [](char c) { return c == ' ' || c == '\t' || c == ':' || c == '='; });
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || !(number > 0)) return {};
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  skip_blanks();
  const std::string_view unit = take(rest, letter);
  skip_blanks();
  const auto* const row = std::ranges::find_if(unit_rows, [&](const UnitRow& r) { return r.name == unit; });
  if (row == unit_rows.end() || !rest.empty()) return {};
  return number * row->seconds;
}

const std::map<std::string, std::string> languages{
    {"java", "Java"},       {"python", "Python"}, {"python3", "Python"}, {"julia", "Julia"},
    {"node", "JavaScript"}, {"ruby", "Ruby"},     {"perl", "Perl"},      {"lua", "Lua"},
    {"Rscript", "R"},       {"mono", "C#"},       {"dotnet", "C#"}};

} // namespace

std::vector<std::string> split_words(std::string_view line, const std::string& subject) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < line.size())
      words.back() += line[++i];
    else
      words.back() += c;
  }
  if (quote != 0)
    throw bad_input(subject, fmt::format("the quote {} is not closed", quote),
                    "close it, or escape it with \\");
  if (words.empty()) throw bad_input(subject, "contains no command");
  return words;
}

std::string quoted(const std::vector<std::string>& words) {
  const std::string safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:,./+@%";
  std::string line;
  for (const auto& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(safe) == word.npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::vector<std::string> filled_in(std::vector<std::string> words,
                                   const std::map<std::string, std::string>& values,
                                   const std::string& subject) {
  for (auto& word : words)
    word = fill(word, values, subject);
  return words;
}

std::optional<double> reported_seconds(std::string_view output) {
  std::optional<double> reported;
  for (const auto line : base::split(output, '\n'))
    if (const auto seconds = seconds_in(line)) reported = seconds;
  return reported;
}

std::string guess_language(const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  const auto known = languages.find(name);
  return known == languages.end() ? name : known->second;
}

// `external`: any command as a kernel, in any language. See recount-kernels(7).

namespace {

std::string last_words(const process::Captured& ended) {
  std::string words = ended.err.empty() ? ended.out : ended.err;
  while (words.ends_with('\n'))
    words.pop_back();
  words = words.substr(words.rfind('\n') + 1);
  return words.empty() ? "" : "; its output: " + words.substr(0, 300);
}

class ExternalInstance : public Instance {
public:
  explicit ExternalInstance(std::vector<std::string> words) : words_(std::move(words)) {}
  Region region() override {
    return {[](void* self) { static_cast<ExternalInstance*>(self)->run(); }, this};
  }
  [[nodiscard]] std::int64_t accesses() const override { return 0; }
  [[nodiscard]] std::optional<double> own_seconds() const override { return seconds_; }
  [[nodiscard]] std::string elsewhere() const override {
    return "a command runs in its own process: its counts need inherited events";
  }
  void warm() override {} // each run of it is to be a fresh process

private:
  void run() {
    process::Spawn spawn;
    spawn.argv = words_;
    spawn.own_group = false; // ends with the run that started it
    const process::Captured ended = process::capture(std::move(spawn));
    if (!ended.exit.ok()) throw unavailable(words_[0], describe(ended.exit) + last_words(ended));
    seconds_ = reported_seconds(ended.out);
  }

  std::vector<std::string> words_;
  std::optional<double> seconds_;
};

class ExternalKernel : public BasicKernel {
public:
  ExternalKernel()
      : BasicKernel(
            "external", "runs a command per repetition; uses its own time where it prints one",
            {text_parameter("command", "the command; {variant}, {n}, {block} and {element} are replaced",
                            "true"),
             text_parameter("language", "language of the program (default: from the program's name)", ""),
             text_parameter("variant", "value of {variant}", "ijk"),
             text_parameter("element", "value of {element}", "f64"),
             number_parameter("n", "value of {n}", 600, 1, 1 << 20),
             number_parameter("block", "value of {block}", 128, 1, 1 << 20)}) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    static_cast<void>(words(point));
    return 1; // of this process; the memory of the command is unknown
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    auto all = words(point);
    if (!process::find_program(all[0])) throw unavailable(all[0], "program not found in PATH");
    return std::make_unique<ExternalInstance>(std::move(all));
  }
  [[nodiscard]] std::string unsimulated() const override {
    return "the loads and stores of a command are unknown";
  }

private:
  [[nodiscard]] std::vector<std::string> words(const Params& given) const {
    const Params point = complete(*this, given);
    const std::string subject = "--command";
    return filled_in(split_words(text(point, "command"), subject),
                     {{"variant", text(point, "variant")},
                      {"element", text(point, "element")},
                      {"n", std::to_string(number(point, "n"))},
                      {"block", std::to_string(number(point, "block"))}},
                     subject);
  }
};

} // namespace

const Kernel& external_kernel() {
  static const ExternalKernel kernel;
  return kernel;
}

} // namespace recount::kernel
