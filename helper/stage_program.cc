// SPDX-License-Identifier: Apache-2.0
#include "helper/stage_program.h"

#include "helper/stage_binding.h"
#include "lib/base/text.h"

#include <algorithm>
#include <string>
#include <vector>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

namespace distinit {

namespace {

void apply_environment(const Go& go) {
  for (const std::string& name : go.unset) {
    unsetenv(name.c_str());
  }
  for (const std::string& entry : go.set) {
    const size_t at = entry.find('=');
    setenv(entry.substr(0, at).c_str(), entry.c_str() + at + 1, 1);
  }
}

void apply_limits(const Go& go) {
  for (const LimitRequest& request : go.limits) {
    const auto resource = static_cast<__rlimit_resource_t>(request.resource);
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur < request.value) {
      limit.rlim_cur = std::min<rlim_t>(request.value, limit.rlim_max);
      setrlimit(resource, &limit);
    }
  }
}

bool is_there(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Error explain(const std::string& name, const std::string& path, int exec_errno) {
  const std::string what = concat("can't run '", abbreviate(name, 200), "'");
  if (exec_errno == ENOENT && is_there(path)) {
    return system_error(ErrorCode::kNotExecutable, concat(what, ": its interpreter"), exec_errno,
                        "look at the first line (#!) of a script, or the loader of a binary");
  }
  if (exec_errno == ENOENT || exec_errno == ENOTDIR) {
    return system_error(ErrorCode::kNotFound, what, exec_errno,
                        "check the spelling, PATH, and that the file is there on every node");
  }
  if (exec_errno == ENOEXEC) {
    return system_error(
        ErrorCode::kNotExecutable, what, exec_errno,
        "a script needs #!INTERPRETER as its first line; a binary, this machine's kind");
  }
  return system_error(ErrorCode::kNotExecutable, what, exec_errno,
                      "is it executable (chmod +x) on every node?");
}

}  // namespace

Error execute_program(const Go& go, char** argv) {
  apply_environment(go);
  apply_limits(go);
  bind_to_cpus(go.cpus);
  prefer_memory_of(go.memory_node);
  std::string name = go.program;
  if (name.empty() && argv[0] != nullptr) {
    name = argv[0];
  }
  if (name.empty()) {
    return Error{ErrorCode::kNotFound, "no program to run", "name one after the options", 0};
  }
  argv[0] = name.data();
  if (name.find('/') != std::string::npos) {
    execve(name.c_str(), argv, environ);
    return explain(name, name, errno);
  }
  const char* search = getenv("PATH");
  // As execvp: go on after a candidate that is not there, and remember one that may not be
  // executed.
  int denied = 0;
  std::string denied_path;
  for (const std::string_view directory :
       split(search == nullptr ? "/usr/bin:/bin" : search, ':')) {
    const std::string path = directory.empty() ? name : concat(directory, '/', name);
    execve(path.c_str(), argv, environ);
    if (errno == ENOENT && is_there(path)) {
      return explain(name, path, errno);
    }
    if (errno == ENOEXEC || (errno == EACCES && is_there(path))) {
      denied = denied == 0 ? errno : denied;
      denied_path = path;
    }
  }
  return denied != 0 ? explain(name, denied_path, denied) : explain(name, name, ENOENT);
}

}  // namespace distinit
