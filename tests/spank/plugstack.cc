// SPDX-License-Identifier: Apache-2.0
#include "spank/plugstack.h"

#include <criterion/criterion.h>

namespace distinit {

namespace {

Plugstack read(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  return read_plugstack(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

Test(plugstack, no_arguments_are_no_error) {
  const Plugstack plugstack = read({});
  cr_assert(!plugstack.error);
  cr_assert(plugstack.helper.empty() && plugstack.stage.empty());
  cr_assert(plugstack.defaults == Spec{});
}

Test(plugstack, the_stage_is_beside_the_helper_unless_given) {
  cr_assert(read({"helper=/opt/d/bin/distinit"}).stage == "/opt/d/bin/distinit-stage");
  const Plugstack given = read({"stage=/s", "helper=/opt/d/bin/distinit"});
  cr_assert(given.stage == "/s" && given.helper == "/opt/d/bin/distinit");
}

Test(plugstack, takes_a_providers_list_of_nccl_settings) {
  const Plugstack plugstack = read({"helper=/h", "nccl.IB_SL=3", "nccl.IB_TC=160",
                                    "hca.skip=mlx5_bond_0", "topology=/etc/distinit/%n.xml"});
  cr_assert(!plugstack.error);
  const Options options = typed_options(plugstack.defaults);
  const std::vector<std::pair<std::string, std::string>> nccl = {{"IB_SL", "3"}, {"IB_TC", "160"}};
  cr_assert(options.nccl == nccl);
  cr_assert(options.skipped_hcas == std::vector<std::string>{"mlx5_bond_0"});
  cr_assert(options.topology == "/etc/distinit/%n.xml");
}

Test(plugstack, a_later_argument_wins_over_an_earlier_one) {
  const Plugstack plugstack = read({"spec=tp2,timeout=60", "timeout=70"});
  cr_assert(plugstack.defaults.options.at("timeout") == "70");
  const std::vector<Dimension> tp2 = {{"tp", 2}};
  cr_assert(plugstack.defaults.dims == tp2);
  cr_assert(read({"timeout=70", "spec=timeout=60"}).defaults.options.at("timeout") == "60");
}

Test(plugstack, an_unknown_argument_is_an_error_with_the_nearest_spelling) {
  const Plugstack helper = read({"helprr=/h"});
  cr_assert(helper.error.has_value());
  cr_assert(helper.error->what == "plugstack.conf: unknown argument 'helprr=/h'");
  cr_assert(helper.error->hint == "did you mean 'helper='?");
  const Plugstack option = read({"timeot=60"});
  cr_assert(option.error.has_value());
  cr_assert(option.error->what.starts_with("plugstack.conf: "));
  cr_assert(option.error->what.find("timeot") != std::string::npos);
  cr_assert(option.error->hint.find("timeout") != std::string::npos, "%s",
            option.error->hint.c_str());
}

Test(plugstack, the_first_error_is_kept_and_the_rest_still_read) {
  const Plugstack plugstack = read({"bare", "helper=relative", "helper=/h"});
  cr_assert(plugstack.error->what == "plugstack.conf: 'bare' is not key=value");
  cr_assert(plugstack.helper == "/h");
}

Test(plugstack, a_relative_path_is_an_error) {
  const Plugstack plugstack = read({"helper=distinit"});
  cr_assert(plugstack.error->what == "plugstack.conf: helper=distinit is not an absolute path");
  cr_assert(plugstack.helper.empty());
}

Test(plugstack, a_wrong_spec_is_an_error) {
  cr_assert(read({"spec=tp2,tp2"}).error->what.starts_with("plugstack.conf: "));
}

}  // namespace distinit
