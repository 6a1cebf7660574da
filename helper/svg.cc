// SPDX-License-Identifier: Apache-2.0
#include "helper/svg.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace distinit {

namespace {

constexpr std::string_view kFonts =
    "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

template <typename... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' ? '?' : c;
    }
  }
  return out;
}

void SvgWriter::rect(double x, double y, double width, double height, double radius,
                     std::string_view attributes) {
  append(body_, "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" rx=\"{:g}\" {}/>\n", x,
         y, width, height, radius, attributes);
}

void SvgWriter::text(double x, double y, std::string_view content, const SvgFont& font) {
  append(body_, "<text x=\"{:g}\" y=\"{:g}\" font-size=\"{:g}\" fill=\"{}\"", x, y, font.size,
         font.fill);
  if (font.bold) {
    body_ += " font-weight=\"700\"";
  }
  if (font.anchor != "start") {
    append(body_, " text-anchor=\"{}\"", font.anchor);
  }
  append(body_, ">{}</text>\n", escape_xml(content));
}

void SvgWriter::mark(SvgShape shape, double x, double y, double size, std::string_view fill) {
  const double r = size / 2;
  switch (shape) {
    case SvgShape::kCircle:
      append(body_, "<circle cx=\"{:g}\" cy=\"{:g}\" r=\"{:g}\" fill=\"{}\"/>\n", x, y, r, fill);
      return;
    case SvgShape::kSquare:
      rect(x - r * 0.9, y - r * 0.9, size * 0.9, size * 0.9, 1, fmt::format("fill=\"{}\"", fill));
      return;
    case SvgShape::kDiamond:
      append(body_, "<path d=\"M{:g} {:g}l{:g} {:g} {:g} {:g} {:g} {:g}z\" fill=\"{}\"/>\n", x,
             y - r * 1.15, r * 1.15, r * 1.15, -r * 1.15, r * 1.15, -r * 1.15, -r * 1.15, fill);
      return;
    case SvgShape::kTriangle:
      append(body_, "<path d=\"M{:g} {:g}l{:g} {:g}h{:g}z\" fill=\"{}\"/>\n", x, y - r, r * 1.1,
             size, -r * 2.2, fill);
      return;
  }
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  append(body_, "<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" {}/>\n", x1, y1, x2, y2,
         attributes);
}

void SvgWriter::begin_group(std::string_view attributes) {
  append(body_, "<g {}>\n", attributes);
}

void SvgWriter::end_group() {
  body_ += "</g>\n";
}

std::string SvgWriter::finish(double width, double height, std::string_view title,
                              std::string_view description) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
      "viewBox=\"0 0 {0:g} {1:g}\" role=\"img\" font-family=\"{2}\">\n"
      "<title>{3}</title>\n<desc>{4}</desc>\n"
      "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#ffffff\"/>\n{5}</svg>\n",
      width, height, kFonts, escape_xml(title), escape_xml(description), body_);
}

double estimate_text_width(std::string_view text, double font_size) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return 0.62 * font_size * static_cast<double>(characters);
}

double fitting_size(std::string_view text, double wanted, double width) {
  const double needed = estimate_text_width(text, wanted);
  return needed <= width ? wanted : std::floor(10 * wanted * width / needed) / 10;
}

}  // namespace distinit
