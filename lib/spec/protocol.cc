// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/protocol.h"

#include "lib/base/frame.h"
#include "lib/base/text.h"
#include "lib/base/wire.h"

#include <limits.h>

namespace distinit {

namespace {

/// First bytes of a Hello, so that a stranger's bytes, or another release's, are told apart.
constexpr uint32_t kHelloMagic = 0x31696e64;

Error malformed(std::string_view what) {
  return Error{ErrorCode::kInternal, concat("malformed ", what, " message"),
               "plugin, helper and stage must be of one release: install them together", 0};
}

WireWriter start(TaskMessage kind) {
  WireWriter writer;
  writer.put_u8(static_cast<uint8_t>(kind));
  return writer;
}

}  // namespace

const std::vector<std::string_view> kPerTaskVariables = {
    "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "SLURMD_TRES_BIND",   "SLURM_CPU_BIND",
    "SLURM_STEP_GPUS",      "SLURM_TASK_PID",     "ZE_AFFINITY_MASK",
};

bool is_private_variable(std::string_view name) {
  return name == kOptionVariable || name == kDefaultSpecVariable ||
         name.starts_with("SLURM_DISTINIT_") || name == "DISTINIT_SECRET" ||
         name.starts_with(kSavedPrefix);
}

std::vector<std::string> agent_environment(const std::vector<std::string>& entries) {
  std::vector<std::string> out;
  out.reserve(entries.size());
  for (const std::string& entry : entries) {
    out.push_back(entry.starts_with("LD_") ? concat(kSavedPrefix, entry) : entry);
  }
  return out;
}

int stage_fd_from_path(std::string_view argv0) {
  if (!argv0.starts_with(kStagePathPrefix)) {
    return -1;
  }
  return static_cast<int>(
      parse_number(argv0.substr(kStagePathPrefix.size()), 0, INT_MAX - 1).value_or(-1));
}

std::string encode_hello(const Hello& hello) {
  WireWriter writer = start(TaskMessage::kHello);
  writer.put_u32(kHelloMagic);
  writer.put_u32(static_cast<uint32_t>(hello.rank));
  writer.put_u32(static_cast<uint32_t>(hello.local_rank));
  writer.put_text(hello.program);
  writer.put_texts(hello.environment);
  return make_frame(writer.take());
}

Result<Hello> decode_hello(std::string_view message) {
  WireReader reader(message);
  Hello hello;
  const bool known = reader.get_u8() == static_cast<uint8_t>(TaskMessage::kHello) &&
                     reader.get_u32() == kHelloMagic;
  hello.rank = static_cast<int>(reader.get_u32());
  hello.local_rank = static_cast<int>(reader.get_u32());
  hello.program = reader.get_text();
  hello.environment = reader.get_texts();
  if (!known || !reader.at_end() || hello.rank < 0 || hello.local_rank < 0) {
    return malformed("hello");
  }
  return hello;
}

std::string encode_go(const Go& go) {
  WireWriter writer = start(TaskMessage::kGo);
  writer.put_text(go.program);
  writer.put_texts(go.set);
  writer.put_texts(go.unset);
  writer.put_u32(static_cast<uint32_t>(go.limits.size()));
  for (const LimitRequest& limit : go.limits) {
    writer.put_u32(static_cast<uint32_t>(limit.resource));
    writer.put_u64(limit.value);
  }
  writer.put_text(go.cpus);
  writer.put_u32(static_cast<uint32_t>(go.memory_node));
  writer.put_u8(go.stay ? 1 : 0);
  writer.put_u32(go.linger_ms);
  writer.put_text(go.who);
  return make_frame(writer.take());
}

Result<Go> decode_go(std::string_view message) {
  WireReader reader(message);
  Go go;
  const bool known = reader.get_u8() == static_cast<uint8_t>(TaskMessage::kGo);
  go.program = reader.get_text();
  go.set = reader.get_texts();
  go.unset = reader.get_texts();
  for (uint32_t count = reader.get_u32(); count > 0 && reader.ok(); --count) {
    LimitRequest limit;
    limit.resource = static_cast<int>(reader.get_u32());
    limit.value = reader.get_u64();
    go.limits.push_back(limit);
  }
  go.cpus = reader.get_text();
  go.memory_node = static_cast<int32_t>(reader.get_u32());
  go.stay = reader.get_u8() != 0;
  go.linger_ms = reader.get_u32();
  go.who = reader.get_text();
  if (!known || !reader.at_end()) {
    return malformed("go");
  }
  return go;
}

std::string encode_report(const Report& report) {
  WireWriter writer = start(TaskMessage::kReport);
  writer.put_text(report.what);
  writer.put_text(report.hint);
  return make_frame(writer.take());
}

Result<Report> decode_report(std::string_view message) {
  WireReader reader(message);
  Report report;
  const bool known = reader.get_u8() == static_cast<uint8_t>(TaskMessage::kReport);
  report.what = reader.get_text();
  report.hint = reader.get_text();
  if (!known || !reader.at_end()) {
    return malformed("report");
  }
  return report;
}

std::string encode_number(TaskMessage kind, uint32_t number) {
  WireWriter writer = start(kind);
  writer.put_u32(number);
  return make_frame(writer.take());
}

Result<uint32_t> decode_number(TaskMessage kind, std::string_view message) {
  WireReader reader(message);
  const bool known = reader.get_u8() == static_cast<uint8_t>(kind);
  const uint32_t number = reader.get_u32();
  if (!known || !reader.at_end()) {
    return malformed("status");
  }
  return number;
}

std::string encode_end() {
  return make_frame(start(TaskMessage::kEnd).take());
}

uint8_t message_kind(std::string_view message) {
  return message.empty() ? uint8_t{0} : static_cast<uint8_t>(message[0]);
}

}  // namespace distinit
