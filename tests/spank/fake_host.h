// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Slurm process that is none: every answer is a field, everything the plugin does is recorded.

#include "lib/base/environment.h"
#include "spank/spank_host.h"

#include <map>
#include <string>
#include <vector>

namespace distinit {

class FakeHost final : public SpankHost {
 public:
  HostContext where = HostContext::kSrun;
  std::map<HostItem, uint32_t> items;
  Environment variables;
  std::vector<std::string> options;  ///< command_options()
  std::vector<char*> argv;           ///< null-terminated; empty for none
  std::vector<std::string> errors;
  std::vector<std::string> infos;

  HostContext context() const override { return where; }
  std::optional<uint32_t> item(HostItem item) const override {
    const auto found = items.find(item);
    return found == items.end() ? std::nullopt : std::optional<uint32_t>(found->second);
  }
  std::vector<std::string> environment() const override { return variables.entries(); }
  bool set_env(const std::string& name, const std::string& value) override {
    variables.set(name, value);
    return true;
  }
  void unset_env(const std::string& name) override { variables.unset(name); }
  char** job_argv() const override {
    return argv.empty() ? nullptr : const_cast<char**>(argv.data());
  }
  std::vector<std::string> command_options() const override { return options; }
  bool register_option(OptionCallback) override { return true; }
  void error(const std::string& line) override { errors.push_back(line); }
  void info(const std::string& line) override { infos.push_back(line); }
  spank_handle* handle() const override { return nullptr; }
};

}  // namespace distinit
