// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/library.h"

#include "lib/base/text.h"

#include <algorithm>

#include <dirent.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr std::string_view kNames[] = {"libnccl.so.2", "librccl.so.1"};

bool is_file(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

/// PREFIX/lib/python3.X/site-packages/nvidia/nccl/lib/libnccl.so.2, for every X, newest first.
std::vector<std::string> bundled_in(std::string_view prefix) {
  std::vector<std::string> found;
  const std::string lib = concat(prefix, "/lib");
  DIR* directory = opendir(lib.c_str());
  if (directory == nullptr) {
    return found;
  }
  while (const dirent* entry = readdir(directory)) {
    if (strncmp(entry->d_name, "python", 6) == 0) {
      const std::string path = concat(lib, '/', std::string_view(entry->d_name),
                                      "/site-packages/nvidia/nccl/lib/libnccl.so.2");
      if (is_file(path)) {
        found.push_back(path);
      }
    }
  }
  closedir(directory);
  std::sort(found.rbegin(), found.rend());
  return found;
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

NcclApi find_functions(void* library) {
  NcclApi api;
  find(library, "ncclGetVersion", api.get_version);
  find(library, "ncclGetErrorString", api.get_error_string);
  find(library, "ncclGetLastError", api.get_last_error);
  find(library, "ncclGetUniqueId", api.get_unique_id);
  find(library, "ncclCommInitRank", api.comm_init_rank);
  find(library, "ncclCommInitRankConfig", api.comm_init_rank_config);
  find(library, "ncclCommInitRankScalable", api.comm_init_rank_scalable);
  find(library, "ncclCommSplit", api.comm_split);
  find(library, "ncclCommGetAsyncError", api.comm_get_async_error);
  find(library, "ncclCommFinalize", api.comm_finalize);
  find(library, "ncclCommDestroy", api.comm_destroy);
  find(library, "ncclCommAbort", api.comm_abort);
  find(library, "ncclAllReduce", api.all_reduce);
  return api;
}

/// The first function that every version we support has, and this library has not.
std::string_view missing_function(const NcclApi& api) {
  const std::pair<bool, std::string_view> needed[] = {
      {api.get_version != nullptr, "ncclGetVersion"},
      {api.get_error_string != nullptr, "ncclGetErrorString"},
      {api.get_unique_id != nullptr, "ncclGetUniqueId"},
      {api.comm_init_rank_config != nullptr, "ncclCommInitRankConfig (2.14)"},
      {api.comm_get_async_error != nullptr, "ncclCommGetAsyncError"},
      {api.comm_finalize != nullptr, "ncclCommFinalize (2.14)"},
      {api.comm_destroy != nullptr, "ncclCommDestroy"},
      {api.comm_abort != nullptr, "ncclCommAbort"},
      {api.all_reduce != nullptr, "ncclAllReduce"},
  };
  for (const auto& [is_there, name] : needed) {
    if (!is_there) {
      return name;
    }
  }
  return {};
}

std::string file_of(const NcclApi& api, const std::string& asked) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(api.get_unique_id), &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : asked;
}

Result<NcclLibrary> take(void* handle, const std::string& asked) {
  NcclLibrary library;
  library.api = find_functions(handle);
  library.path = file_of(library.api, asked);
  if (const std::string_view missing = missing_function(library.api); !missing.empty()) {
    return Error{ErrorCode::kCommunicator, concat(library.path, " has no ", missing),
                 "NCCL 2.14 or newer is needed; DISTINIT_NCCL_LIBRARY=PATH names another", 0};
  }
  if (library.api.get_version(&library.version) != kNcclSuccess) {
    return Error{ErrorCode::kCommunicator, concat(library.path, " does not tell its version"),
                 "DISTINIT_NCCL_LIBRARY=PATH names another library", 0};
  }
  // Both have the same functions; RCCL alone has this one besides.
  library.is_rccl = library.path.find("librccl") != std::string::npos ||
                    dlsym(handle, "rcclGetVersion") != nullptr;
  return library;
}

}  // namespace

std::string format_nccl_version(int version) {
  return version < 10000 ? concat(version / 1000, '.', version / 100 % 10, '.', version % 100)
                         : concat(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

std::string nccl_call_failed(const NcclApi& api, std::string_view call, int code, NcclComm comm) {
  const char* last = api.get_last_error == nullptr ? nullptr : api.get_last_error(comm);
  const std::string_view more = last == nullptr ? "" : last;
  return concat(call, " failed: ", std::string_view(api.get_error_string(code)), " (", code, ")",
                more.empty() ? "" : ": ", abbreviate(more, 300));
}

std::vector<std::string> nccl_candidates(const Environment& environment) {
  const std::string named = environment.get_or("DISTINIT_NCCL_LIBRARY", "");
  if (!named.empty()) {
    return {named};
  }
  std::vector<std::string> candidates;
  const std::string search = environment.get_or("LD_LIBRARY_PATH", "");
  for (const std::string_view directory : split(search, ':')) {
    const std::string path = concat(directory, '/', kNames[0]);
    if (!directory.empty() && is_file(path)) {
      candidates.push_back(path);
    }
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto prefix = environment.get(variable); prefix && !prefix->empty()) {
      for (std::string& path : bundled_in(*prefix)) {
        candidates.push_back(std::move(path));
      }
    }
  }
  for (const std::string_view name : kNames) {
    candidates.emplace_back(name);
  }
  return candidates;
}

Result<NcclLibrary> open_nccl(const Environment& environment) {
  const std::vector<std::string> candidates = nccl_candidates(environment);
  std::string last;
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      return take(handle, candidate);
    }
    const char* why = dlerror();
    // The loader's words on a name that is nowhere say no more than that.
    if (candidate.find('/') != std::string::npos && why != nullptr) {
      last = concat(": ", why);
    }
  }
  return Error{ErrorCode::kCommunicator,
               concat("no NCCL library, tried ", join(candidates, ", "), last),
               "DISTINIT_NCCL_LIBRARY=PATH names the program's own", 0};
}

}  // namespace distinit
