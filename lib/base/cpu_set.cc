// SPDX-License-Identifier: Apache-2.0
#include "lib/base/cpu_set.h"

#include "lib/base/text.h"

#include <algorithm>
#include <bit>

#include <errno.h>
#include <sched.h>

namespace distinit {

namespace {

constexpr int kWordBits = 64;
constexpr size_t kMostWords = CpuSet::kMostCpus / kWordBits;

size_t word_of(int cpu) {
  return static_cast<size_t>(cpu) / kWordBits;
}

uint64_t bit_of(int cpu) {
  return uint64_t{1} << (cpu % kWordBits);
}

/// One word of a mask; up to 8 digits.
std::optional<uint32_t> parse_mask_word(std::string_view text) {
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
  }
  uint32_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (text.empty() || text.size() > 8 || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return word;
}

}  // namespace

CpuSet CpuSet::range(int low, int high) {
  CpuSet out;
  for (int cpu = low; cpu <= high && cpu < kMostCpus; ++cpu) {
    out.add(cpu);
  }
  return out;
}

std::optional<CpuSet> CpuSet::parse_list(std::string_view text) {
  CpuSet out;
  if (text.empty()) {
    return out;
  }
  for (const std::string_view piece : split(text, ',')) {
    const size_t dash = piece.find('-');
    const auto low = parse_number(piece.substr(0, dash), 0, kMostCpus - 1);
    const auto high = dash == std::string_view::npos
                          ? low
                          : parse_number(piece.substr(dash + 1), 0, kMostCpus - 1);
    if (!low || !high || *low > *high) {
      return std::nullopt;
    }
    for (auto cpu = *low; cpu <= *high; ++cpu) {
      out.add(static_cast<int>(cpu));
    }
  }
  return out;
}

std::optional<CpuSet> CpuSet::parse_mask(std::string_view text) {
  CpuSet out;
  const auto pieces = split(text, ',');
  if (pieces.size() > kMostWords * 2) {
    return std::nullopt;
  }
  int low = static_cast<int>(pieces.size()) * 32;
  for (const std::string_view piece : pieces) {
    low -= 32;
    const auto word = parse_mask_word(piece);
    if (!word) {
      return std::nullopt;
    }
    for (uint32_t rest = *word; rest != 0; rest &= rest - 1) {
      out.add(low + std::countr_zero(rest));
    }
  }
  return out;
}

void CpuSet::add(int cpu) {
  if (cpu < 0 || cpu >= kMostCpus) {
    return;
  }
  if (words_.size() <= word_of(cpu)) {
    words_.resize(word_of(cpu) + 1);
  }
  words_[word_of(cpu)] |= bit_of(cpu);
}

void CpuSet::remove(int cpu) {
  if (contains(cpu)) {
    words_[word_of(cpu)] &= ~bit_of(cpu);
    trim();
  }
}

bool CpuSet::contains(int cpu) const {
  return cpu >= 0 && word_of(cpu) < words_.size() && (words_[word_of(cpu)] & bit_of(cpu)) != 0;
}

int CpuSet::count() const {
  int out = 0;
  for (const uint64_t word : words_) {
    out += std::popcount(word);
  }
  return out;
}

int CpuSet::first() const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != 0) {
      return static_cast<int>(i) * kWordBits + std::countr_zero(words_[i]);
    }
  }
  return -1;
}

std::vector<int> CpuSet::members() const {
  std::vector<int> out;
  for (size_t i = 0; i < words_.size(); ++i) {
    for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
      out.push_back(static_cast<int>(i) * kWordBits + std::countr_zero(word));
    }
  }
  return out;
}

std::string CpuSet::format() const {
  std::string out;
  const std::vector<int> cpus = members();
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) {
      ++end;
    }
    append_text(out, out.empty() ? "" : ",");
    append_text(out, cpus[i]);
    if (end - i > 1) {
      append_text(out, '-');
      append_text(out, cpus[end - 1]);
    }
    i = end;
  }
  return out;
}

CpuSet CpuSet::operator&(const CpuSet& other) const {
  CpuSet out;
  out.words_.resize(std::min(words_.size(), other.words_.size()));
  for (size_t i = 0; i < out.words_.size(); ++i) {
    out.words_[i] = words_[i] & other.words_[i];
  }
  out.trim();
  return out;
}

CpuSet CpuSet::operator|(const CpuSet& other) const {
  CpuSet out = words_.size() >= other.words_.size() ? *this : other;
  const CpuSet& smaller = words_.size() >= other.words_.size() ? other : *this;
  for (size_t i = 0; i < smaller.words_.size(); ++i) {
    out.words_[i] |= smaller.words_[i];
  }
  return out;
}

CpuSet CpuSet::operator-(const CpuSet& other) const {
  CpuSet out = *this;
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
    out.words_[i] &= ~other.words_[i];
  }
  out.trim();
  return out;
}

bool CpuSet::intersects(const CpuSet& other) const {
  return !(*this & other).is_empty();
}

bool CpuSet::is_subset_of(const CpuSet& other) const {
  return (*this - other).is_empty();
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) {
    words_.pop_back();
  }
}

std::optional<CpuSet> process_cpus(pid_t pid) {
  // The kernel refuses a mask that is shorter than its own, whose size is not told.
  for (int bits = 1024; bits <= CpuSet::kMostCpus; bits *= 4) {
    std::vector<cpu_set_t> mask(static_cast<size_t>(bits) / (8 * sizeof(cpu_set_t)));
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(pid, bytes, mask.data()) == 0) {
      CpuSet out;
      for (int cpu = 0; cpu < bits; ++cpu) {
        if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask.data())) {
          out.add(cpu);
        }
      }
      return out;
    }
    if (errno != EINVAL) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace distinit
