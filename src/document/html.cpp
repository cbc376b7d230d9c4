// HTML: one page with its style and its pictures.
#include "base/utf8.hpp"
#include "document/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

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
figure img { width: 100%; max-width: 36em; height: auto; display: block; }
figcaption { font-size: 0.9em; color: #333; max-width: 44em; }
pre { background: #f4f4f4; padding: 0.6em; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
td, li, p { overflow-wrap: break-word; }
@media print { body { font-size: 10.5pt; max-width: none; margin: 0; } nav { display: none; }
               figure, table { break-inside: avoid; } }
)";

struct Entity {
  char32_t character;
  const char* html;
};
constexpr std::array entities{Entity{'<', "&lt;"}, Entity{'>', "&gt;"}, Entity{'&', "&amp;"},
                              Entity{'"', "&quot;"}, Entity{'\'', "&#39;"}};

/// Escaped; "10^6" gets a raised 6.
std::string html_text(std::string_view text) {
  std::string out;
  char32_t before = 0;
  while (!text.empty()) {
    if (const auto exponent = take_exponent(before, text); !exponent.empty()) {
      out += fmt::format("<sup>{}</sup>", exponent);
      continue;
    }
    const char32_t c = before = base::next_character(text);
    if (const auto* const entity = std::ranges::find(entities, c, &Entity::character);
        entity != entities.end())
      out += entity->html;
    else
      base::append_character(out, base::is_control(c) ? U' ' : c);
  }
  return out;
}

/// Of an attribute: no elements within.
std::string attribute_text(std::string_view text) {
  std::string plain(text);
  std::ranges::replace(plain, '^', ' ');
  return html_text(plain);
}

/// An image within the page: no script in it runs, and its names do not meet those of other images.
std::string image_address(std::string_view svg) {
  std::string address = "data:image/svg+xml,";
  for (const char c : svg) {
    const auto byte = static_cast<unsigned char>(c);
    address += std::isalnum(byte) != 0 ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return address;
}

class Html {
public:
  Html(const Document& document, const Svg& svg) : svg_(svg) {
    text_ =
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                    "'unsafe-inline'; img-src data:\">\n<meta name=\"viewport\" "
                    "content=\"width=device-width\">\n<title>{}</title>\n"
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
        text_ += cell("td", table.columns.at(i).number, row[i]);
      text_ += "</tr>\n";
    }
    text_ += "</tbody></table></div>\n";
    for (const auto& note : table.notes)
      text_ += "<p class=\"note\">" + html_text(note) + "</p>\n";
  }
  void operator()(const Picture& picture) {
    text_ +=
        fmt::format("<figure>\n<img alt=\"{}\" src=\"{}\">\n<figcaption><b>Figure {}.</b> {}</figcaption>\n"
                    "</figure>\n",
                    attribute_text(picture.caption), image_address(svg_(picture.name)), ++pictures_,
                    html_text(picture.caption));
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

std::string to_html(const Document& document, const Svg& svg) {
  return Html(document, svg).text();
}

} // namespace recount::document
