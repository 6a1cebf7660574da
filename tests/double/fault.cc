// SPDX-License-Identifier: Apache-2.0
#include "tests/double/fault.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <strings.h>
#include <unistd.h>

#include "tests/double/wire.h"

namespace nccl_double {
namespace {

struct Log {
  std::mutex mutex;
  FILE* file = nullptr;
  std::string last;
};

// Never destroyed: threads of the double may outlive the end of main.
Log& the_log() {
  static Log* log = new Log;
  return *log;
}

void write_line(Log& log, int device, const char* level, const std::string& text) {
  if (log.file == nullptr) {
    const char* path = environment("NCCL_DEBUG_FILE", nullptr);
    log.file = path != nullptr ? fopen(path, "w") : nullptr;
    log.file = log.file != nullptr ? log.file : stdout;
    setvbuf(log.file, nullptr, _IOLBF, BUFSIZ);
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  fprintf(log.file, "%s:%d:%d [%d] NCCL %s %s\n", host, getpid(), gettid(), device, level,
          text.c_str());
}

}  // namespace

bool has_fault(const char* kind, int size, int* value) {
  const std::string rank = environment("RANK", "");
  std::string_view list = environment("DOUBLE_NCCL_FAULT", "");
  while (!list.empty()) {
    const size_t end = list.find(';');
    const std::string entry(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    const size_t colon = entry.find(':');
    if (colon == std::string::npos || rank.empty() || entry.substr(0, colon) != rank) {
      continue;
    }
    const size_t at = entry.find('@', colon);
    const std::string named =
        entry.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
    const size_t equals = named.find('=');
    if (named.substr(0, equals) != kind ||
        (at != std::string::npos && atoi(entry.c_str() + at + 1) != size)) {
      continue;
    }
    if (value != nullptr) {
      *value = equals == std::string::npos ? 0 : atoi(named.c_str() + equals + 1);
    }
    return true;
  }
  return false;
}

void log_info(int device, const std::string& text) {
  if (strcasecmp(environment("NCCL_DEBUG", ""), "INFO") == 0) {
    Log& log = the_log();
    const std::lock_guard<std::mutex> lock(log.mutex);
    write_line(log, device, "INFO", text);
  }
}

void log_warning(int device, const std::string& text) {
  const char* level = environment("NCCL_DEBUG", "");
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  log.last = text;
  if (strcasecmp(level, "INFO") == 0 || strcasecmp(level, "WARN") == 0) {
    write_line(log, device, "WARN", text);
  }
}

std::string last_warning() {
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  return log.last;
}

}  // namespace nccl_double
