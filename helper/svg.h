// SPDX-License-Identifier: Apache-2.0
#pragma once
// A few SVG elements as text. Coordinates are pixels; every text is escaped here.

#include <string>
#include <string_view>

namespace distinit {

/// The text with &, <, >, " and ' replaced, and bytes that XML 1.0 does not allow as '?'.
std::string escape_xml(std::string_view text);

/// How a text is set.
struct SvgFont {
  double size = 13;
  std::string_view fill = "#1f2933";
  bool bold = false;
  std::string_view anchor = "start";  ///< "start", "middle", "end"

  bool operator==(const SvgFont&) const = default;
};

/// Marks that stay apart without colour.
enum class SvgShape { kCircle, kSquare, kDiamond, kTriangle };

class SvgWriter {
 public:
  /// `attributes` is SVG text such as `fill="#fff" stroke="#000"`.
  void rect(double x, double y, double width, double height, double radius,
            std::string_view attributes);
  /// `y` is the base line.
  void text(double x, double y, std::string_view content, const SvgFont& font);
  /// A mark of about `size` pixels around its centre.
  void mark(SvgShape shape, double x, double y, double size, std::string_view fill);
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);
  void begin_group(std::string_view attributes);
  void end_group();

  /// The whole document; `title` and `description` are for those who can't see it.
  std::string finish(double width, double height, std::string_view title,
                     std::string_view description) const;

 private:
  std::string body_;
};

/// Roughly the width of a text in the fonts that are asked for, in pixels; on the wide side.
double estimate_text_width(std::string_view text, double font_size);

/// The font size, at most `wanted`, at which the text takes no more than `width`.
double fitting_size(std::string_view text, double wanted, double width);

}  // namespace distinit
