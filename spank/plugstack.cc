// SPDX-License-Identifier: Apache-2.0
#include "spank/plugstack.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"

namespace distinit {

namespace {

Error wrong_argument(std::string what, std::string hint) {
  return Error{ErrorCode::kUsage, std::move(what), std::move(hint), 0};
}

Status read_path(std::string_view key, std::string_view value, std::string& into) {
  if (!value.starts_with('/')) {
    return wrong_argument(concat(key, "=", abbreviate(value), " is not an absolute path"),
                          "give the path that the file has on the nodes");
  }
  into = value;
  return Ok{};
}

Status read_argument(std::string_view argument, Plugstack& plugstack) {
  const size_t equals = argument.find('=');
  const std::string_view key = argument.substr(0, equals);
  if (equals == std::string_view::npos) {
    return wrong_argument(concat("'", abbreviate(argument), "' is not key=value"),
                          "write key=value without blanks or quotes");
  }
  const std::string_view value = argument.substr(equals + 1);
  if (key == "helper") {
    return read_path(key, value, plugstack.helper);
  }
  if (key == "stage") {
    return read_path(key, value, plugstack.stage);
  }
  if (key == "spec") {
    DISTINIT_ASSIGN_OR_RETURN(const Spec spec, parse_spec(value));
    plugstack.defaults = merge_specs(plugstack.defaults, spec);
    return Ok{};
  }
  // Alone, as one argument may well repeat another: the later one wins.
  Spec alone;
  const Status option = parse_option(argument, alone);
  if (option) {
    plugstack.defaults = merge_specs(plugstack.defaults, alone);
    return Ok{};
  }
  const std::string_view near = nearest(key, {"helper", "stage", "spec"});
  if (near.empty()) {
    return option;
  }
  return wrong_argument(concat("unknown argument '", abbreviate(argument), "'"),
                        concat("did you mean '", near, "='?"));
}

std::string beside(const std::string& helper) {
  return concat(helper.substr(0, helper.rfind('/') + 1), "distinit-stage");
}

}  // namespace

Plugstack read_plugstack(int argc, char** argv) {
  Plugstack plugstack;
  for (int i = 0; i < argc; ++i) {
    const Status status = read_argument(argv[i], plugstack);
    if (!status && !plugstack.error) {
      plugstack.error = with_context(status.error(), "plugstack.conf");
    }
  }
  if (plugstack.stage.empty() && !plugstack.helper.empty()) {
    plugstack.stage = beside(plugstack.helper);
  }
  return plugstack;
}

}  // namespace distinit
