#include "nest/lexer.hpp"

#include "base/characters.hpp"
#include "base/text.hpp"

#include <charconv>

namespace recount::nest {
namespace {

constexpr std::size_t longest_name = 32;

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
public:
  Lexer(const std::string& file, std::string_view text) : file_(file), rest_(text) {}

  std::vector<Token> run() {
    while (!rest_.empty())
      next();
    add(Token::Kind::newline, 0);
    add(Token::Kind::end, 0);
    return std::move(all_);
  }

private:
  void next() {
    const char c = rest_.front();
    if (c == ' ' || c == '\t' || c == '\r') return skip(1);
    if (c == '#' || rest_.starts_with("//")) return comment();
    if (c == '\n') return line_end();
    if (letter(c)) return word();
    if (digit(c)) return number();
    symbol();
  }
  void skip(std::size_t length) {
    rest_.remove_prefix(length);
    at_.column += static_cast<int>(length);
  }
  Token& add(Token::Kind kind, std::size_t length) {
    Token token;
    token.kind = kind;
    token.text = kind == Token::Kind::newline ? std::move(comment_) : std::string(rest_.substr(0, length));
    token.at = at_;
    comment_.clear();
    all_.push_back(std::move(token));
    skip(length);
    return all_.back();
  }
  void comment() {
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    comment_ = base::printable(base::trim(line.substr(line.front() == '#' ? 1 : 2)));
    skip(line.size());
  }
  void line_end() {
    if (open_ == 0) add(Token::Kind::newline, 0);
    rest_.remove_prefix(1);
    ++at_.line;
    at_.column = 1;
  }
  void word() {
    std::size_t length = 0;
    while (length < rest_.size() && (letter(rest_[length]) || digit(rest_[length])))
      ++length;
    if (length > longest_name)
      refuse(file_, at_, "a name of more than " + std::to_string(longest_name) + " letters",
             "use a shorter name");
    add(Token::Kind::name, length);
  }
  void number() {
    std::size_t length = 0;
    while (length < rest_.size() && (digit(rest_[length]) || rest_[length] == '.'))
      ++length;
    if (length < rest_.size() && (rest_[length] == 'e' || rest_[length] == 'E')) {
      ++length;
      if (length < rest_.size() && (rest_[length] == '-' || rest_[length] == '+')) ++length;
      while (length < rest_.size() && digit(rest_[length]))
        ++length;
    }
    if (length < rest_.size() && letter(rest_[length]))
      refuse(file_, at_, "a name begins with a digit", "begin it with a letter");
    const std::string_view text = rest_.substr(0, length);
    const char* const end = text.data() + text.size();
    Token& token = add(Token::Kind::whole, length);
    if (const auto [last, error] = std::from_chars(text.data(), end, token.whole);
        error == std::errc() && last == end)
      return;
    token.kind = Token::Kind::decimal;
    if (const auto [last, error] = std::from_chars(text.data(), end, token.decimal);
        error != std::errc() || last != end || text.find_first_of(".eE") == text.npos)
      refuse(file_, token.at, "\"" + token.text.substr(0, 40) + "\" is not a number of 64 bits",
             "write a number such as 600 or 0.25");
  }
  void symbol() {
    const char c = rest_.front();
    if (std::string_view("+-*/").find(c) != std::string_view::npos && rest_.substr(1).starts_with("=")) {
      add(Token::Kind::symbol, 2);
      return;
    }
    if (std::string_view("()[]{},:;=+-*/").find(c) == std::string_view::npos)
      refuse(file_, at_, "unexpected character \"" + base::printable(character()) + "\"",
             "man recount-nest explains the format");
    if (c == '(' || c == '[') ++open_;
    if ((c == ')' || c == ']') && open_ > 0) --open_;
    if (c == '{' || c == '}') open_ = 0; // a bracket that was left open is told where the statement ends
    add(Token::Kind::symbol, 1);
  }
  [[nodiscard]] std::string_view character() const {
    std::string_view after = rest_;
    static_cast<void>(base::next_character(after));
    return rest_.substr(0, rest_.size() - after.size());
  }

  const std::string& file_;
  std::string_view rest_;
  Spot at_;
  int open_ = 0; ///< parentheses and brackets
  std::string comment_;
  std::vector<Token> all_;
};

} // namespace

std::vector<Token> tokens(const std::string& file, std::string_view text) {
  return Lexer(file, text).run();
}

} // namespace recount::nest
