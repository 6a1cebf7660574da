// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/sysfs.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"

#include <algorithm>
#include <memory>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr size_t kMostBytes = 4096;
constexpr size_t kMostEntries = 4096;
constexpr std::string_view kBlanks = " \t\r\n\v\f";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string link_target(const std::string& path) {
  char target[kMostBytes];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length <= 0 ? std::string() : std::string(target, static_cast<size_t>(length));
}

std::optional<PciAddress> slot_of_uevent(const std::string& text) {
  constexpr std::string_view kKey = "PCI_SLOT_NAME=";
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(kKey)) {
      return parse_pci_address(trimmed(line.substr(kKey.size())));
    }
  }
  return std::nullopt;
}

}  // namespace

std::string read_small_file(const std::string& path) {
  // A named pipe in somebody's copy of a tree must not stop us.
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about;
  if (!file.is_open() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return {};
  }
  char bytes[kMostBytes];
  size_t got = 0;
  while (got < sizeof bytes) {
    const ssize_t n = read(file.get(), bytes + got, sizeof bytes - got);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      break;
    }
    got += static_cast<size_t>(n);
  }
  return std::string(trimmed(std::string_view(bytes, got)));
}

std::vector<std::string> list_folder(const std::string& path) {
  struct Closer {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  std::vector<std::string> names;
  const std::unique_ptr<DIR, Closer> folder(opendir(path.c_str()));
  while (folder && names.size() < kMostEntries) {
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) {
      break;
    }
    if (entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<int> list_numbers(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  for (const std::string& name : list_folder(folder)) {
    if (!name.starts_with(prefix)) {
      continue;
    }
    if (const auto number = parse_number(std::string_view(name).substr(prefix.size()), 0, 65535)) {
      numbers.push_back(static_cast<int>(*number));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<PciAddress> linked_function(const std::string& path) {
  if (const auto address = parse_pci_address(last_name(link_target(path)))) {
    return address;
  }
  return slot_of_uevent(read_small_file(path + "/uevent"));
}

std::optional<PciAddress> owning_function(const std::string& path) {
  if (const auto address = linked_function(path)) {
    return address;
  }
  const std::unique_ptr<char, decltype(&free)> whole(realpath(path.c_str(), nullptr), &free);
  if (!whole) {
    return std::nullopt;
  }
  const auto names = split(whole.get(), '/');
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (const auto address = parse_pci_address(*name)) {
      return address;
    }
  }
  return std::nullopt;
}

}  // namespace distinit
