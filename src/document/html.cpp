// HTML: one page with its style and its pictures.
#include "document/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace recount::document {
namespace {

constexpr const char* page_style = R"(
body { font: 16px/1.5 "Liberation Sans", Arial, Helvetica, sans-serif; color: #222; max-width: 52em;
       margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.7em; line-height: 1.2; margin-bottom: 0.2em; }
h2 { font-size: 1.3em; border-bottom: 1px solid #ccc; margin-top: 2.2em; }
h3 { font-size: 1.05em; margin-bottom: 0.3em; }
.subtitle, .note, nav { color: #555; font-size: 0.9em; }
nav ul { columns: 2; list-style: none; padding: 0; }
.wide { overflow-x: auto; margin: 1.2em 0; }
table { border-collapse: collapse; font-size: 0.85em; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; padding-bottom: 0.4em; }
th { border-top: 2px solid #333; border-bottom: 1px solid #333; vertical-align: bottom; max-width: 11em; }
th, td { padding: 0.2em 0.7em; text-align: left; }
tbody tr:last-child td { border-bottom: 2px solid #333; }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
figure { margin: 1.6em 0; }
figure svg { width: 100%; max-width: 36em; height: auto; display: block; }
figcaption { font-size: 0.9em; color: #333; max-width: 44em; }
pre { background: #f4f4f4; padding: 0.6em; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
td, li, p { overflow-wrap: break-word; }
@media print { body { font-size: 10.5pt; max-width: none; margin: 0; } nav { display: none; }
               figure, table { break-inside: avoid; } }
)";

/// Escaped; "10^6" gets a raised 6.
std::string html_text(std::string_view text) {
  std::string out;
  bool raised = false;
  char32_t before = 0;
  while (!text.empty()) {
    const char32_t c = base::next_character(text);
    const bool digit = c >= '0' && c <= '9';
    if (raised && !digit) {
      out += "</sup>";
      raised = false;
    }
    const bool base = (before >= '0' && before <= '9') || before == 'n';
    if (c == '^' && base && !text.empty() && text[0] >= '0' && text[0] <= '9') {
      out += "<sup>";
      raised = true;
    } else if (base::is_control(c)) {
      out += ' ';
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      base::append_character(out, c);
    }
    before = c;
  }
  return raised ? out + "</sup>" : out;
}

/// Of an attribute: no elements within.
std::string attribute_text(std::string_view text) {
  std::string plain;
  for (const char c : text)
    plain += c == '^' ? ' ' : c;
  return html_text(plain);
}

class Html {
public:
  Html(const Document& document, const Svg& svg) : svg_(svg) {
    text_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n"
        "<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
        attribute_text(document.title), page_style, html_text(document.title));
    if (!document.subtitle.empty())
      text_ += "<p class=\"subtitle\">" + html_text(document.subtitle) + "</p>\n";
    contents(document);
    for (const Block& block : document.blocks)
      std::visit(*this, block);
    text_ += "</body>\n</html>\n";
  }

  void operator()(const Heading& heading) {
    if (heading.level == 1)
      text_ += fmt::format("<h2 id=\"section-{}\">{}</h2>\n", ++sections_, html_text(heading.text));
    else
      text_ += "<h3>" + html_text(heading.text) + "</h3>\n";
  }
  void operator()(const Paragraph& paragraph) { text_ += "<p>" + html_text(paragraph.text) + "</p>\n"; }
  void operator()(const List& list) {
    text_ += "<ul>\n";
    for (const auto& item : list.items)
      text_ += "<li>" + html_text(item) + "</li>\n";
    text_ += "</ul>\n";
  }
  void operator()(const Table& table) {
    text_ += fmt::format("<div class=\"wide\"><table>\n<caption>Table {}. {}</caption>\n<thead><tr>",
                         ++tables_, html_text(table.caption));
    if (std::ranges::any_of(table.columns, [](const auto& column) { return !column.head.empty(); }))
      for (const auto& column : table.columns)
        text_ += cell("th", column.number, column.head);
    text_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      text_ += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i)
        text_ += cell("td", i < table.columns.size() && table.columns[i].number, row[i]);
      text_ += "</tr>\n";
    }
    text_ += "</tbody></table></div>\n";
    for (const auto& note : table.notes)
      text_ += "<p class=\"note\">" + html_text(note) + "</p>\n";
  }
  void operator()(const Picture& picture) {
    const std::string drawing = inlined(svg_(picture.name), fmt::format("f{}-", ++pictures_));
    text_ += fmt::format("<figure role=\"img\" aria-label=\"{}\">\n{}\n<figcaption><b>Figure {}.</b> {}"
                         "</figcaption>\n</figure>\n",
                         attribute_text(picture.caption), drawing, pictures_, html_text(picture.caption));
  }
  void operator()(const Code& code) { text_ += "<pre>" + html_text(code.text) + "</pre>\n"; }

  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  static std::string cell(const char* element, bool number, const std::string& text) {
    return fmt::format("<{0}{1}>{2}</{0}>", element, number ? " class=\"number\"" : "", html_text(text));
  }

  void contents(const Document& document) {
    int section = 0;
    std::string items;
    for (const Block& block : document.blocks)
      if (const auto* heading = std::get_if<Heading>(&block); heading && heading->level == 1)
        items +=
            fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", ++section, html_text(heading->text));
    if (section > 1) text_ += "<nav><ul>\n" + items + "</ul></nav>\n";
  }

  const Svg& svg_;
  std::string text_;
  int sections_ = 0, tables_ = 0, pictures_ = 0;
};

} // namespace

std::string inlined(std::string_view svg, const std::string& prefix) {
  const auto begin = svg.find("<svg");
  if (begin == svg.npos) return {};
  svg.remove_prefix(begin);
  // A title would be shown as a hint over the whole picture; the description of its generator is not needed
  // here.
  static constexpr std::array<std::string_view, 2> dropped{"title", "desc"};
  static constexpr std::array<std::string_view, 5> names{"id='", "id=\"", "href='#", "href=\"#", "url(#"};
  std::string out;
  bool within = false; // a tag: in text between tags nothing is a name
  while (!svg.empty()) {
    for (const std::string_view element : dropped)
      if (svg.starts_with(fmt::format("<{}>", element))) {
        const std::string end = fmt::format("</{}>", element);
        const auto at = svg.find(end);
        svg.remove_prefix(at == svg.npos ? svg.size() : at + end.size());
      }
    if (svg.empty()) break;
    if (svg.front() == '<') within = true;
    if (svg.front() == '>') within = false;
    const bool head_of_word =
        !out.empty() && std::string_view(" :'\"(").find(out.back()) != std::string_view::npos;
    const auto* const name =
        within && head_of_word
            ? std::ranges::find_if(names, [&](std::string_view n) { return svg.starts_with(n); })
            : names.end();
    const std::size_t taken = name == names.end() ? 1 : name->size();
    out += svg.substr(0, taken);
    if (name != names.end()) out += prefix;
    svg.remove_prefix(taken);
  }
  return out;
}

std::string to_html(const Document& document, const Svg& svg) {
  return Html(document, svg).text();
}

} // namespace recount::document
