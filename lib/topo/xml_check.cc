// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/readers.h"

#include <algorithm>
#include <optional>

#include <expat.h>

namespace distinit {

namespace {

constexpr int kMostDepth = 128;
constexpr int kMostElements = 1'000'000;
// expat's work for one tag grows faster than the tag.
constexpr size_t kMostBytesBetweenTags = size_t{1} << 20;
constexpr int kMostAttributes = 256;
constexpr int kNewestHwloc = 2;
constexpr const char* kKindsHint =
    "give an hwloc export (lstopo FILE.xml) or an NCCL topology XML (NCCL_TOPO_DUMP_FILE)";

struct Pass {
  XML_Parser parser = nullptr;
  int depth = 0;
  int elements = 0;
  XmlKind kind = XmlKind::kHwloc;
  std::optional<Error> error;

  void fail(std::string what, std::string hint) {
    if (!error) {
      error = Error{ErrorCode::kTopology, std::move(what), std::move(hint), 0};
    }
    XML_StopParser(parser, XML_FALSE);
  }
  std::string line() const { return concat("line ", XML_GetCurrentLineNumber(parser)); }
};

/// The number before the dot of <topology version="2.0">; hwloc 1 wrote none at all. -1: no number.
long long major_version(const XML_Char** attributes) {
  for (; *attributes != nullptr; attributes += 2) {
    if (std::string_view(attributes[0]) == "version") {
      const std::string_view version = attributes[1];
      return parse_number(version.substr(0, version.find('.')), 0, 1'000'000).value_or(-1);
    }
  }
  return 1;
}

void check_root(Pass& pass, std::string_view name, const XML_Char** attributes) {
  if (name == "system") {
    pass.kind = XmlKind::kNccl;
    return;
  }
  if (name != "topology") {
    pass.fail(concat("begins with <", abbreviate(name),
                     ">, but hwloc's begin with <topology> and NCCL's with <system>"),
              kKindsHint);
    return;
  }
  const long long version = major_version(attributes);
  if (version < 0) {
    pass.fail("its <topology> has a version that is no number", kKindsHint);
  } else if (version > kNewestHwloc) {
    pass.fail(concat("written by hwloc ", version,
                     "; this is built for the exports of hwloc 2, which are of version 1 or 2"),
              "export it again with: lstopo --export-xml-flags v2 FILE.xml");
  }
}

int attributes_of(const XML_Char** attributes) {
  int count = 0;
  while (attributes[size_t{2} * static_cast<size_t>(count)] != nullptr) {
    ++count;
  }
  return count;
}

/// Where a stretch without the beginning of a tag starts that is longer than any of a machine's;
/// npos: nowhere.
size_t find_long_stretch(std::string_view xml) {
  size_t start = xml.find('<');
  while (start != std::string_view::npos) {
    const size_t next = xml.find('<', start + 1);
    if (std::min(next, xml.size()) - start > kMostBytesBetweenTags) {
      return start;
    }
    start = next;
  }
  return start;
}

void start_element(void* data, const XML_Char* name, const XML_Char** attributes) {
  Pass& pass = *static_cast<Pass*>(data);
  if (pass.error) {
    return;
  }
  if (pass.elements == 0) {
    check_root(pass, name, attributes);
  }
  if (attributes_of(attributes) > kMostAttributes) {
    pass.fail(concat(pass.line(), ": <", abbreviate(name), "> has more than ", kMostAttributes,
                     " attributes"),
              "no element has; export it again");
  }
  if (++pass.depth > kMostDepth) {
    pass.fail(concat(pass.line(), ": elements are nested more than ", kMostDepth, " deep"),
              "no machine is; export it again");
  }
  if (++pass.elements > kMostElements) {
    pass.fail(concat(pass.line(), ": more than ", kMostElements, " elements"),
              "no machine has that many; export it again");
  }
}

void end_element(void* data, const XML_Char*) {
  --static_cast<Pass*>(data)->depth;
}

void start_doctype(void* data, const XML_Char*, const XML_Char*, const XML_Char*,
                   int has_internal_subset) {
  Pass& pass = *static_cast<Pass*>(data);
  if (has_internal_subset != 0) {
    pass.fail(concat(pass.line(), ": declares entities or elements of its own"),
              "remove what stands between [ and ] in its <!DOCTYPE>");
  }
}

bool is_cut_off(const Pass& pass, XML_Error code) {
  switch (code) {
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
      return pass.elements > 0;
    default:
      return false;
  }
}

Error explain(const Pass& pass) {
  const XML_Error code = XML_GetErrorCode(pass.parser);
  const std::string text = XML_ErrorString(code);
  if (is_cut_off(pass, code)) {
    return {ErrorCode::kTopology,
            concat("cut off in ", pass.line(), ": ", pass.depth, " elements are still open"),
            "copy or export it again", 0};
  }
  if (pass.elements == 0) {
    return {ErrorCode::kTopology, concat("is not XML: ", pass.line(), ": ", text), kKindsHint, 0};
  }
  return {ErrorCode::kTopology, concat(pass.line(), ": not well-formed XML: ", text),
          "copy or export it again", 0};
}

}  // namespace

Result<XmlKind> check_xml(const std::string& xml, const std::string& source) {
  if (xml.find_first_not_of(" \t\r\n") == std::string::npos) {
    return Error{ErrorCode::kTopology, concat(source, ": is empty"), kKindsHint, 0};
  }
  if (const size_t at = find_long_stretch(xml); at != std::string::npos) {
    return Error{ErrorCode::kTopology,
                 concat(source, ": more than ", kMostBytesBetweenTags,
                        " bytes without the beginning of an element, from byte ", at, " on"),
                 kKindsHint, 0};
  }
  Pass pass;
  pass.parser = XML_ParserCreate(nullptr);
  if (pass.parser == nullptr) {
    return Error{ErrorCode::kInternal, concat(source, ": out of memory"), {}, 0};
  }
  XML_SetUserData(pass.parser, &pass);
  XML_SetElementHandler(pass.parser, start_element, end_element);
  XML_SetStartDoctypeDeclHandler(pass.parser, start_doctype);
  const bool parsed =
      XML_Parse(pass.parser, xml.data(), static_cast<int>(xml.size()), XML_TRUE) == XML_STATUS_OK;
  if (!parsed && !pass.error) {
    pass.error = explain(pass);
  }
  XML_ParserFree(pass.parser);
  if (pass.error) {
    return with_context(*pass.error, source);
  }
  return pass.kind;
}

}  // namespace distinit
