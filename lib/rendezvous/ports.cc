// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/ports.h"

#include "lib/base/text.h"

#include <algorithm>
#include <string_view>

#include <stdint.h>

namespace distinit {

namespace {

constexpr size_t kSequenceLength = 8;

/// torchrun's and its relatives' defaults, NCCL's RAS, Ray's client and dashboard.
bool is_taken_by_others(int port) {
  constexpr int kOthers[] = {23456, 28028, 29400, 29500};
  return std::find(std::begin(kOthers), std::end(kOthers), port) != std::end(kOthers);
}

/// FNV-1a for the start, splitmix64 for the walk: two steps of one job, or two jobs in a row, must
/// not walk side by side.
uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

uint64_t next_random(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = state;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

void add_new(std::vector<int>& ports, int port) {
  if (std::find(ports.begin(), ports.end(), port) == ports.end()) {
    ports.push_back(port);
  }
}

}  // namespace

std::vector<int> port_sequence(const StepFacts& facts, const Options& options) {
  const auto width = static_cast<uint64_t>(options.port_high - options.port_low + 1);
  uint64_t state = hash_text(concat(facts.job_id, '.', facts.step_id, '.', facts.restart_count));
  std::vector<int> ports;
  // A narrow range is exhausted after some tries; then fewer ports have to do.
  for (int tries = 0; tries < 256 && ports.size() < kSequenceLength; ++tries) {
    const int port = options.port_low + static_cast<int>(next_random(state) % width);
    if (width < 64 || !is_taken_by_others(port)) {
      add_new(ports, port);
    }
  }
  return ports;
}

std::vector<int> port_candidates(const StepFacts& facts, const Options& options,
                                 std::optional<int> fixed) {
  if (fixed) {
    return {*fixed};
  }
  std::vector<int> ports;
  for (const int port : facts.reserved_ports) {
    add_new(ports, port);
  }
  for (const int port : port_sequence(facts, options)) {
    add_new(ports, port);
  }
  return ports;
}

}  // namespace distinit
