// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/check_result.h"

#include "lib/base/wire.h"

#include <bit>

namespace distinit {

namespace {

constexpr size_t kMostGroups = 4096;

void put_double(WireWriter& writer, double value) {
  writer.put_u64(std::bit_cast<uint64_t>(value));
}

double get_double(WireReader& reader) {
  return std::bit_cast<double>(reader.get_u64());
}

}  // namespace

std::string encode_check_result(const CheckResult& result) {
  WireWriter writer;
  writer.put_u32(static_cast<uint32_t>(result.rank));
  writer.put_u8(static_cast<uint8_t>(result.outcome));
  writer.put_texts(
      {result.what, result.hint, result.library, result.transport, result.gpu_pci, result.hcas});
  writer.put_u32(static_cast<uint32_t>(result.version));
  writer.put_u8(result.by_split ? 1 : 0);
  writer.put_u32(static_cast<uint32_t>(result.groups.size()));
  for (const GroupFigures& group : result.groups) {
    writer.put_text(group.name);
    writer.put_numbers({group.index, group.position, group.size});
    put_double(writer, group.seconds);
    put_double(writer, group.small_gbps);
    put_double(writer, group.large_gbps);
  }
  return writer.take();
}

Result<CheckResult> decode_check_result(std::string_view text) {
  const Error malformed{ErrorCode::kInternal, "the result of a rank's check can't be read",
                        "all nodes must have the same release of distinit", 0};
  WireReader reader(text);
  CheckResult result;
  result.rank = static_cast<int>(reader.get_u32());
  const uint8_t outcome = reader.get_u8();
  std::vector<std::string> texts = reader.get_texts();
  if (texts.size() != 6 || outcome > static_cast<uint8_t>(CheckOutcome::kConsequence)) {
    return malformed;
  }
  result.outcome = static_cast<CheckOutcome>(outcome);
  result.what = std::move(texts[0]);
  result.hint = std::move(texts[1]);
  result.library = std::move(texts[2]);
  result.transport = std::move(texts[3]);
  result.gpu_pci = std::move(texts[4]);
  result.hcas = std::move(texts[5]);
  result.version = static_cast<int>(reader.get_u32());
  result.by_split = reader.get_u8() == 1;
  const uint32_t count = reader.get_u32();
  if (count > kMostGroups) {
    return malformed;
  }
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    GroupFigures group;
    group.name = reader.get_text();
    const std::vector<int> numbers = reader.get_numbers();
    if (numbers.size() != 3) {
      return malformed;
    }
    group.index = numbers[0];
    group.position = numbers[1];
    group.size = numbers[2];
    group.seconds = get_double(reader);
    group.small_gbps = get_double(reader);
    group.large_gbps = get_double(reader);
    result.groups.push_back(std::move(group));
  }
  if (!reader.at_end()) {
    return malformed;
  }
  return result;
}

}  // namespace distinit
