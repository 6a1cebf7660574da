// SPDX-License-Identifier: Apache-2.0
// `distinit plan`: the whole job on paper.

#include "helper/command.h"
#include "helper/command_line.h"
#include "helper/plan.h"
#include "helper/plan_json.h"
#include "helper/plan_svg.h"
#include "helper/plan_text.h"
#include "lib/base/exit_status.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/spec/dimensions.h"
#include "lib/spec/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace distinit {

namespace {

/// What stands below the options in --help, made from the tables that the parser uses.
std::string describe_spec() {
  std::string text =
      "SPEC is a list of mesh dimensions with their sizes, innermost first, and options, separated "
      "by commas:\n"
      "tp8,pp2,dp. One size may be left out: it is what is left of the world size.\n\n"
      "Dimensions (any other lower-case name works as well):\n";
  for (const DimensionHelp& dimension : known_dimensions()) {
    text += concat("  ", dimension.name, std::string(16 - dimension.name.size(), ' '),
                   dimension.summary, '\n');
  }
  text += "\nOptions in a SPEC:\n";
  for (const OptionHelp& option : option_helps()) {
    const std::string form = concat(option.key, '=', option.value);
    const size_t blanks = form.size() < 30 ? 30 - form.size() : 1;
    text += concat("  ", form, std::string(blanks, ' '), option.summary, '\n');
  }
  return text;
}

Status write_file(const std::string& path, std::string_view text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const auto written = file.is_open() ? write_all(file.get(), text)
                                      : Status(system_error(ErrorCode::kUsage, "open", errno));
  if (!written) {
    return system_error(ErrorCode::kUsage, concat("can't write --svg file '", path, "'"),
                        written.error().sys_errno, "name a file in a folder that you can write to");
  }
  return Ok{};
}

Status write_stdout(std::string_view text) {
  const auto written = write_all(STDOUT_FILENO, text);
  if (!written) {
    return system_error(ErrorCode::kInternal, "can't write to standard output",
                        written.error().sys_errno);
  }
  return Ok{};
}

bool wants_colour() {
  const char* no_colour = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

Status plan_and_print(const PlanRequest& request, bool json, const std::string& svg) {
  if (json && svg == "-") {
    return Error{ErrorCode::kUsage, "both --json and --svg - want standard output",
                 "give --svg a file", 0};
  }
  DISTINIT_ASSIGN_OR_RETURN(const Plan plan, make_plan(request));
  for (const Finding& finding : plan.findings) {
    Log().warn(finding.what, finding.hint);
  }
  if (svg == "-") {
    return write_stdout(format_plan_svg(plan));
  }
  if (!svg.empty()) {
    DISTINIT_RETURN_IF_ERROR(write_file(svg, format_plan_svg(plan)));
  }
  return write_stdout(json ? format_plan_json(plan) : format_plan_text(plan, wants_colour()));
}

int run_plan(int argc, char** argv) {
  PlanRequest request;
  bool json = false;
  std::string svg;
  CLI::App app("The whole job on paper: nodes, ranks, coordinates and groups.", "distinit plan");
  app.add_option("SPEC", request.spec, "what --distinit= would be given, such as tp2,dp2")
      ->required();
  app.add_option("--nodes", request.nodes,
                 "the step's nodes, such as n[1-4]; under arbitrary one name a rank")
      ->type_name("HOSTLIST")
      ->required();
  app.add_option("--tasks-per-node", request.tasks_per_node,
                 "one count a node in Slurm's form, 4(x2),3; a single number counts for every node")
      ->type_name("LIST");
  app.add_option("--distribution", request.distribution,
                 "block (the default), cyclic, plane=SIZE or arbitrary, as for srun")
      ->type_name("D");
  app.add_flag("--json", json, "print JSON");
  app.add_option("--svg", svg, "draw the job as well; - draws to standard output")
      ->type_name("FILE");
  app.footer(describe_spec());
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  const Status done = plan_and_print(request, json, svg);
  if (!done) {
    Log().error(done.error());
    return exit_status(done.error().code);
  }
  return kExitOk;
}

const CommandRegistration registration{
    {"plan", "the whole job on paper: nodes, ranks, coordinates, groups", run_plan}};

}  // namespace

}  // namespace distinit
