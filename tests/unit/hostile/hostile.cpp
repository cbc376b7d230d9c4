#include "hostile.hpp"
#include "latex_escapes.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <sstream>

namespace recount::hostile {
namespace {
std::size_t below(std::mt19937& random, std::size_t n) {
  return random() % n;
}

/// Every string of a value and every name of a member.
void collect(const Json& json, std::set<std::string>& into) {
  if (json.is_string()) into.insert(json.get<std::string>());
  if (json.is_object())
    for (const auto& [name, member] : json.items())
      into.insert(name);
  if (json.is_structured())
    for (const auto& member : json)
      collect(member, into);
}

Json replaced(const Json& json, const std::string& from, const std::string& to) {
  if (json.is_string()) return json.get<std::string>() == from ? Json(to) : json;
  if (json.is_array()) {
    Json list = Json::array();
    for (const auto& member : json)
      list.push_back(replaced(member, from, to));
    return list;
  }
  if (!json.is_object()) return json;
  Json object = Json::object();
  for (const auto& [name, member] : json.items())
    object[name == from ? to : name] = replaced(member, from, to);
  return object;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// A line of numbers as gnuplot reads them.
bool is_data(std::string_view line) {
  return line.find_first_not_of("0123456789+-.einfa ") == line.npos;
}

/// Takes a string in double quotes: replaces its octal escapes; false where another sign that means something
/// to gnuplot is left.
bool plain(std::string& text) {
  std::string clear;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      if (std::string_view("`@\"'$#").find(text[at]) != std::string_view::npos) return false;
      clear += text[at];
      continue;
    }
    const std::string digits = text.substr(at + 1, 3);
    if (digits.size() != 3 || digits.find_first_not_of("01234567") != std::string::npos) return false;
    clear += static_cast<char>(std::stoi(digits, nullptr, 8));
    at += 3;
  }
  text = clear;
  return true;
}

std::optional<std::string> fault_of_tex(std::string_view text) {
  static constexpr std::array<std::string_view, 11> escapes{"\\textbackslash{}",
                                                            "\\textasciitilde{}",
                                                            "\\textasciicircum{}",
                                                            "\\{",
                                                            "\\}",
                                                            "\\_",
                                                            "\\%%",
                                                            "\\%",
                                                            "\\&",
                                                            "\\#",
                                                            "\\$"};
  const std::string whole(text);
  while (!text.empty()) {
    const auto* const known =
        std::ranges::find_if(escapes, [&](std::string_view escape) { return text.starts_with(escape); });
    if (known == escapes.end() &&
        std::string_view("\\{}_%&#$~^").find(text.front()) != std::string_view::npos)
      return "TeX in " + whole;
    text.remove_prefix(known == escapes.end() ? 1 : known->size());
  }
  return {};
}

/// Reads a script as gnuplot does, line by line.
class ScriptReader {
public:
  std::set<std::string> words;
  std::optional<std::string> read(std::string_view script) {
    while (!script.empty()) {
      const auto end = std::min(script.find('\n'), script.size());
      if (auto fault = line(script.substr(0, end))) return fault;
      script.remove_prefix(std::min(end + 1, script.size()));
    }
    return {};
  }

private:
  std::optional<std::string> line(std::string_view text) {
    if (block_) {
      if (text == "e")
        block_ = false;
      else if (!is_data(text))
        return "no number in a data block: " + std::string(text);
      return {};
    }
    const std::string whole(text);
    std::string code;
    std::vector<std::string> strings;
    while (!text.empty()) {
      const char c = text.front();
      if (c == '#') {
        if (text.ends_with('\\')) return "a comment that goes on: " + whole;
        break;
      }
      text.remove_prefix(1);
      if (c != '\'' && c != '"') {
        code += c;
        continue;
      }
      const auto end = text.find(c);
      if (end == text.npos) return "a string without an end: " + whole;
      // What '' is depends on what is around it (scanner.c of gnuplot).
      if (text.substr(end + 1).starts_with(c)) return "a doubled quote: " + whole;
      strings.emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
      if (c == '"' && !plain(strings.back())) return "not escaped: " + whole;
    }
    if (code.find_first_of("`@!|") != std::string::npos) return "outside a string: " + whole;
    for (std::size_t at = 0; at < code.size(); ++at) {
      const std::size_t from = at;
      while (at < code.size() && is_word(code[at]))
        ++at;
      const std::string word = code.substr(from, at - from);
      const bool block =
          from > 0 && code[from - 1] == '$' && (word.starts_with("panel") || word.starts_with("rows"));
      if (at > from && !block && std::isdigit(static_cast<unsigned char>(word.front())) == 0)
        words.insert(word);
    }
    block_ = code.ends_with(" << e");
    if (code.starts_with("set terminal"))
      tex_ = code.starts_with("set terminal tikz") || code.starts_with("set terminal cairolatex");
    if (tex_ && (code.starts_with("set label") || code.starts_with("set xtics") ||
                 code.starts_with("set ytics") || code.find(" title ") != std::string::npos))
      for (const auto& string : strings)
        if (auto fault = fault_of_tex(string); fault && string != "#DDDDDD") return fault; // a colour of ours
    return {};
  }

  bool block_ = false, tex_ = false;
};

std::optional<std::string> only_known(const std::set<std::string>& found,
                                      const std::set<std::string>& known) {
  for (const auto& word : found)
    if (!known.contains(word)) return "not known: " + word;
  return {};
}
} // namespace

int cases() {
  const char* const requested = std::getenv("RECOUNT_CASES");
  return requested ? std::atoi(requested) : RECOUNT_PROPERTY_CASES;
}

std::string formula_text(const std::string& path) {
  return base::read_file(path).value_or("");
}

std::vector<std::string> pieces(const std::string& marker) {
  const std::string touch = "touch " + marker;
  return {"\nsystem('" + touch + "')\n#",
          "'; system('" + touch + "') #",
          "'.system('" + touch + "').'",
          "\"; system(\"" + touch + "\") #",
          "`" + touch + "`",
          "@GPVAL_TERMINALS",
          "$(" + touch + ")",
          "\n!" + touch + "\n",
          "\r\nset output '|" + touch + "'\r\n",
          "\\immediate\\write18{" + touch + "}",
          "\\input{/etc/passwd}",
          "^^5cinput{x}",
          "<script>alert(1)</script>",
          "\"><img src=x onerror=alert(1)>",
          "&#x3c;script>",
          "[a](javascript:x) ![b](http://c/d)",
          "```\n# x\n```",
          "|---|\n",
          "{/Symbol a}",
          "%n%s%d %",
          "$x^2$ _{y}",
          std::string("\0", 1),
          "\033[31m\033]0;title\007\033[2J",
          "\u009b2J\u0085",
          "\177\b\r",
          "\u202e\u2066\ufeff\u200b",
          "\xff\xc0\x80\xed\xa0\x80",
          "e\n1 2 3 4\n",
          "EOD\n",
          "\\",
          "'",
          "''",
          "\"",
          "#",
          "-->",
          "]]>",
          "../../" + marker,
          "|" + touch,
          std::string(3000, 'x'),
          ""};
}

std::string payload(std::mt19937& random, const std::vector<std::string>& pieces) {
  std::string text;
  for (std::size_t n = 1 + below(random, 3); n > 0; --n)
    text += pieces[below(random, pieces.size())];
  constexpr std::string_view signs = "abc019 _-.,:;=<>()[]{}'\"\\`@#$%^&*|~!?/\n\r\t";
  for (std::size_t n = below(random, 6); n > 0; --n)
    text.insert(below(random, text.size() + 1), 1, signs[below(random, signs.size())]);
  return text;
}

JsonText::JsonText(const std::string& text) {
  std::set<std::string> all;
  std::istringstream in(text);
  if (const auto whole = Json::parse(text, nullptr, false); !whole.is_discarded()) {
    lines_ = {whole};
  } else {
    for (std::string line; std::getline(in, line);)
      lines_.push_back(Json::parse(line));
  }
  for (const auto& line : lines_)
    collect(line, all);
  strings_.assign(all.begin(), all.end());
}

std::string JsonText::mutated(std::mt19937& random, const std::vector<std::string>& pieces) const {
  std::vector<Json> lines = lines_;
  for (std::size_t n = 1 + below(random, 2); n > 0; --n) {
    const std::string& from = strings_[below(random, strings_.size())];
    const std::string change = payload(random, pieces);
    const std::array<std::string, 3> ways{change, from + change, change + from};
    const std::string to = ways[below(random, ways.size())];
    for (auto& line : lines)
      line = replaced(line, from, to);
  }
  std::string text;
  for (const auto& line : lines)
    text += dumped(line) + "\n";
  return text;
}

void collect_words(std::string_view script, std::set<std::string>& words) {
  ScriptReader reader;
  static_cast<void>(reader.read(script));
  words.merge(reader.words);
}

std::optional<std::string> fault_of_script(std::string_view script, const std::set<std::string>& words) {
  if (auto fault = fault_of_terminal_text(script)) return fault;
  if (script.find('\t') != script.npos) return "a tab";
  ScriptReader reader;
  if (auto fault = reader.read(script)) return fault;
  return only_known(reader.words, words);
}

std::set<std::string> elements_of(std::string_view html) {
  std::set<std::string> names;
  for (std::size_t at = 0; (at = html.find('<', at)) != html.npos; ++at) {
    std::string tag(html.substr(at, html.find('>', at) - at + 1));
    // Of an attribute only its name: values are quoted, and a quote in one is an entity.
    std::string bare;
    bool within = false;
    for (const char c : tag) {
      if (c == '"')
        within = !within;
      else if (!within)
        bare += c;
    }
    names.insert(bare);
  }
  return names;
}

std::set<std::string> commands_of(std::string_view tex) {
  const auto all = test::latex_commands(tex);
  return {all.begin(), all.end()};
}

std::optional<std::string> fault_of_html(std::string_view html, const std::set<std::string>& elements) {
  if (auto fault = fault_of_terminal_text(html)) return fault;
  return only_known(elements_of(html), elements);
}

std::optional<std::string> fault_of_latex(std::string_view tex, const std::set<std::string>& commands) {
  if (auto fault = fault_of_terminal_text(tex)) return fault;
  if (tex.find("^^") != tex.npos) return "^^";
  if (!test::latex_braces_match(tex)) return "a brace without the other one";
  return only_known(commands_of(tex), commands);
}

std::optional<std::string> fault_of_markdown(std::string_view markdown) {
  if (auto fault = fault_of_terminal_text(markdown)) return fault;
  std::istringstream in{std::string(markdown)};
  std::string fence;
  for (std::string line; std::getline(in, line);) {
    if (!fence.empty()) {
      if (line == fence) fence.clear();
      continue;
    }
    if (line.starts_with("```")) {
      fence = line;
      if (fence.find_first_not_of('`') != std::string::npos) return "a fence: " + line;
      continue;
    }
    if (line.starts_with("![Figure ")) continue; // a picture of ours
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '\\') {
        ++at;
        continue;
      }
      if (std::string_view("<>`[]$").find(line[at]) != std::string_view::npos) return "markup: " + line;
      if (line.compare(at, 3, "://") == 0) return "a link: " + line;
    }
  }
  return fence.empty() ? std::nullopt : std::optional<std::string>("a fence without an end");
}

std::optional<std::string> fault_of_terminal_text(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const char first = rest.front();
    const auto before = rest;
    const char32_t c = base::next_character(rest);
    const auto bytes = before.substr(0, before.size() - rest.size());
    if (first == '\n' || first == '\t') continue;
    if (base::is_control(c) || (c == 0xFFFD && bytes != "\xEF\xBF\xBD"))
      return "a control in: " +
             base::printable(
                 text.substr(0, text.size() - rest.size())
                     .substr(text.size() - rest.size() > 60 ? text.size() - rest.size() - 60 : 0));
  }
  return {};
}

} // namespace recount::hostile
