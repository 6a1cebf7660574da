// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/readers.h"
#include "tests/unit/expect_text.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

constexpr const char* kHead =
    "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";

std::string repeat(const std::string& piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += piece;
  }
  return out;
}

void expect_refused(const std::string& xml, const std::string& why) {
  const auto kind = check_xml(xml, "node.xml");
  cr_assert(!kind.has_value(), "was to be refused: %s", why.c_str());
  cr_expect(kind.error().code == ErrorCode::kTopology);
  EXPECT_TEXT(kind.error().what, "node.xml: " + why);
  cr_expect(!kind.error().hint.empty());
}

void expect_kind(const std::string& xml, XmlKind kind) {
  const auto found = check_xml(xml, "node.xml");
  cr_assert(found.has_value(), "%s", found ? "" : found.error().what.c_str());
  cr_expect(*found == kind);
}

}  // namespace

Test(xml_check, the_root_element_tells_the_kind) {
  expect_kind(std::string(kHead) + "<topology version=\"2.0\"/>", XmlKind::kHwloc);
  expect_kind("<topology/>", XmlKind::kHwloc);
  expect_kind("<topology version=\"1.0\"/>", XmlKind::kHwloc);
  expect_kind("<system version=\"1\"><cpu/></system>", XmlKind::kNccl);
}

Test(xml_check, version_3_is_refused_with_the_way_to_cure_it) {
  expect_refused("<topology version=\"3.0\"/>",
                 "written by hwloc 3; this is built for the exports of hwloc 2, which are of "
                 "version 1 or 2");
  const auto kind = check_xml("<topology version=\"3.0\"/>", "x");
  EXPECT_TEXT(kind.error().hint, "export it again with: lstopo --export-xml-flags v2 FILE.xml");
  expect_refused("<topology version=\"new\"/>", "its <topology> has a version that is no number");
}

Test(xml_check, other_files_are_told_from_one_another) {
  expect_refused("", "is empty");
  expect_refused(" \n\n", "is empty");
  expect_refused("not XML at all\n", "is not XML: line 1: syntax error");
  expect_refused(std::string("\x1f\x8b\x08\0\0", 5),
                 "is not XML: line 1: not well-formed (invalid token)");
  expect_refused(
      "<domain><cpu/></domain>",
      "begins with <domain>, but hwloc's begin with <topology> and NCCL's with <system>");
  expect_refused("<topology>\n<object>\n</topology>",
                 "line 3: not well-formed XML: mismatched tag");
  expect_refused("<topology/><topology/>",
                 "line 1: not well-formed XML: junk after document element");
}

Test(xml_check, a_file_that_is_cut_off_says_where) {
  expect_refused("<topology>\n<object>\n<obj", "cut off in line 3: 2 elements are still open");
  expect_refused("<topology>\n<object>\n", "cut off in line 3: 2 elements are still open");
}

Test(xml_check, depth_ends_at_128) {
  const auto nested = [](int depth) {
    return "<topology>" + repeat("<object>\n", depth - 1) + repeat("</object>", depth - 1) +
           "</topology>";
  };
  expect_kind(nested(128), XmlKind::kHwloc);
  expect_refused(nested(129), "line 128: elements are nested more than 128 deep");
}

Test(xml_check, a_million_elements_are_enough) {
  expect_kind("<topology>" + repeat("<a/>", 999'999) + "</topology>", XmlKind::kHwloc);
  expect_refused("<topology>" + repeat("<a/>", 1'000'000) + "</topology>",
                 "line 1: more than 1000000 elements");
}

Test(xml_check, an_element_has_neither_endless_text_nor_endless_attributes) {
  const std::string head = "<topology>";
  const auto with_text = [&](size_t bytes) {
    return head + std::string(bytes - head.size() + 1, 'a') + "</topology>";
  };
  expect_kind(with_text((1 << 20) - 1), XmlKind::kHwloc);
  expect_refused(with_text(1 << 20),
                 "more than 1048576 bytes without the beginning of an element, from byte 0 on");
  const auto with_attributes = [](int count) {
    std::string xml = "<topology";
    for (int i = 0; i < count; ++i) {
      xml += " a" + std::to_string(i) + "=\"\"";
    }
    return xml + "/>";
  };
  expect_kind(with_attributes(256), XmlKind::kHwloc);
  expect_refused(with_attributes(257), "line 1: <topology> has more than 256 attributes");
}

Test(xml_check, declarations_of_its_own_are_refused) {
  expect_refused(
      "<!DOCTYPE topology [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><topology>&b;"
      "</topology>",
      "line 1: declares entities or elements of its own");
  expect_refused(
      "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\" [<!ENTITY a SYSTEM \"/etc/passwd\">]>"
      "<topology>&a;</topology>",
      "line 1: declares entities or elements of its own");
}

Test(xml_check, fifty_megabytes_of_nested_objects_are_refused_at_once) {
  const std::string xml = std::string(kHead) + "<topology version=\"2.0\">\n" +
                          repeat("<object type=\"Group\" cpuset=\"0x1\">\n", 1'500'000);
  cr_assert_geq(xml.size(), size_t{50} << 20);
  expect_refused(xml, "line 131: elements are nested more than 128 deep");
}
