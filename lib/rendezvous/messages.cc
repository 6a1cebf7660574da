// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/messages.h"

#include "lib/base/frame.h"
#include "lib/base/wire.h"

namespace distinit {

namespace {

WireWriter start(AgentMessage kind) {
  WireWriter writer;
  writer.put_u8(static_cast<uint8_t>(kind));
  return writer;
}

/// A reader behind the kind, which the caller has looked at already.
WireReader content(std::string_view message) {
  return WireReader(message.substr(message.empty() ? 0 : 1));
}

template <typename T>
Result<T> finish(const WireReader& reader, T value) {
  if (!reader.at_end()) {
    return Error{ErrorCode::kInternal, "malformed message from another agent",
                 "install one release of distinit on all nodes", 0};
  }
  return value;
}

}  // namespace

std::string encode(const Join& join) {
  WireWriter writer = start(AgentMessage::kJoin);
  writer.put_text(join.node);
  writer.put_u32(static_cast<uint32_t>(join.group_rank));
  writer.put_numbers(join.ranks);
  writer.put_text(join.reached);
  writer.put_text(join.spec);
  writer.put_text(join.version);
  return make_frame(writer.take());
}

Result<Join> decode_join(std::string_view message) {
  WireReader reader = content(message);
  Join join;
  join.node = reader.get_text();
  join.group_rank = static_cast<int>(reader.get_u32());
  join.ranks = reader.get_numbers();
  join.reached = reader.get_text();
  join.spec = reader.get_text();
  join.version = reader.get_text();
  return finish(reader, std::move(join));
}

std::string encode(const Release& release) {
  WireWriter writer = start(AgentMessage::kRelease);
  writer.put_text(release.master_addr);
  writer.put_u32(static_cast<uint32_t>(release.master_port));
  writer.put_text(release.store_addr);
  writer.put_u32(static_cast<uint32_t>(release.store_port));
  return make_frame(writer.take());
}

Result<Release> decode_release(std::string_view message) {
  WireReader reader = content(message);
  Release release;
  release.master_addr = reader.get_text();
  release.master_port = static_cast<int>(reader.get_u32());
  release.store_addr = reader.get_text();
  release.store_port = static_cast<int>(reader.get_u32());
  return finish(reader, std::move(release));
}

std::string encode(const VouchQuestion& question) {
  WireWriter writer = start(AgentMessage::kVouch);
  writer.put_u64(question.id);
  writer.put_text(question.member_host);
  writer.put_u32(static_cast<uint32_t>(question.member_port));
  writer.put_text(question.root_host);
  writer.put_u32(static_cast<uint32_t>(question.root_port));
  return make_frame(writer.take());
}

Result<VouchQuestion> decode_vouch_question(std::string_view message) {
  WireReader reader = content(message);
  VouchQuestion question;
  question.id = reader.get_u64();
  question.member_host = reader.get_text();
  question.member_port = static_cast<int>(reader.get_u32());
  question.root_host = reader.get_text();
  question.root_port = static_cast<int>(reader.get_u32());
  return finish(reader, std::move(question));
}

std::string encode(const VouchAnswer& answer) {
  WireWriter writer = start(AgentMessage::kVouched);
  writer.put_u64(answer.id);
  writer.put_u8(answer.ours ? 1 : 0);
  writer.put_text(answer.why);
  return make_frame(writer.take());
}

Result<VouchAnswer> decode_vouch_answer(std::string_view message) {
  WireReader reader = content(message);
  VouchAnswer answer;
  answer.id = reader.get_u64();
  answer.ours = reader.get_u8() == 1;
  answer.why = reader.get_text();
  return finish(reader, std::move(answer));
}

std::string encode(const NodeReport& report) {
  WireWriter writer = start(AgentMessage::kFound);
  writer.put_text(report.node);
  writer.put_text(report.fabric);
  writer.put_u8(report.knows_fabric ? 1 : 0);
  std::vector<std::string> texts;
  for (const Finding& finding : report.findings) {
    texts.push_back(finding.what);
    texts.push_back(finding.hint);
  }
  writer.put_texts(texts);
  return make_frame(writer.take());
}

Result<NodeReport> decode_node_report(std::string_view message) {
  WireReader reader = content(message);
  NodeReport report;
  report.node = reader.get_text();
  report.fabric = reader.get_text();
  report.knows_fabric = reader.get_u8() == 1;
  const std::vector<std::string> texts = reader.get_texts();
  for (size_t i = 0; i + 1 < texts.size(); i += 2) {
    report.findings.push_back(Finding{texts[i], texts[i + 1]});
  }
  return finish(reader, std::move(report));
}

std::string encode(AgentMessage kind, const Error& error) {
  WireWriter writer = start(kind);
  writer.put_u32(static_cast<uint32_t>(error.code));
  writer.put_text(error.what);
  writer.put_text(error.hint);
  writer.put_u32(static_cast<uint32_t>(error.sys_errno));
  return make_frame(writer.take());
}

std::optional<Error> decode_error(std::string_view message) {
  WireReader reader = content(message);
  const uint32_t code = reader.get_u32();
  Error error;
  error.what = reader.get_text();
  error.hint = reader.get_text();
  error.sys_errno = static_cast<int>(reader.get_u32());
  error.code = code <= static_cast<uint32_t>(ErrorCode::kNotFound) ? static_cast<ErrorCode>(code)
                                                                   : ErrorCode::kInternal;
  if (!reader.at_end()) {
    return std::nullopt;
  }
  return error;
}

std::string encode(AgentMessage kind, const std::vector<int>& ranks) {
  WireWriter writer = start(kind);
  writer.put_numbers(ranks);
  return make_frame(writer.take());
}

Result<std::vector<int>> decode_ranks(std::string_view message) {
  WireReader reader = content(message);
  std::vector<int> ranks = reader.get_numbers();
  return finish(reader, std::move(ranks));
}

std::string encode(AgentMessage kind, uint32_t number) {
  WireWriter writer = start(kind);
  writer.put_u32(number);
  return make_frame(writer.take());
}

Result<uint32_t> decode_count(std::string_view message) {
  WireReader reader = content(message);
  const uint32_t number = reader.get_u32();
  return finish(reader, number);
}

std::string encode(AgentMessage kind, std::string_view text) {
  WireWriter writer = start(kind);
  writer.put_text(text);
  return make_frame(writer.take());
}

Result<std::string> decode_text(std::string_view message) {
  WireReader reader = content(message);
  std::string text = reader.get_text();
  return finish(reader, std::move(text));
}

std::string encode(AgentMessage kind) {
  return make_frame(start(kind).take());
}

}  // namespace distinit
