// SPDX-License-Identifier: Apache-2.0
#include "lib/store/service.h"

#include "lib/base/text.h"

#include <utility>

namespace distinit {

namespace {

Error not_a_number(std::string_view key) {
  return Error{ErrorCode::kRendezvous,
               concat("the value of store key '", abbreviate(key), "' is not a number to add to"),
               {},
               0};
}

void put_number(std::string& out, int64_t number) {
  put_u64(out, static_cast<uint64_t>(number));
}

void put_value(std::string& out, const std::string* value) {
  put_text(out, value == nullptr ? std::string_view() : *value);
}

Status get_all(const KeyValue& data, const std::vector<std::string>& keys, std::string& reply) {
  size_t length = 0;
  for (const std::string& key : keys) {
    const std::string* value = data.find(key);
    length += 8 + (value == nullptr ? 0 : value->size());
  }
  if (length > kLongestReply) {
    return Error{
        ErrorCode::kRendezvous,
        concat("a store request asks for ", length, " bytes at once, more than ", kLongestReply),
        {},
        0};
  }
  reply.reserve(reply.size() + length);
  for (const std::string& key : keys) {
    put_value(reply, data.find(key));
  }
  return Ok{};
}

Status arrive(KeyValue& data, Waiter waiter, const Request& request, std::string& reply) {
  switch (data.arrive(waiter, request.keys[0], request.number)) {
    case KeyValue::Barrier::kComplete:
      put_u8(reply, kReplyReady);
      break;
    case KeyValue::Barrier::kWaiting:
      break;
    case KeyValue::Barrier::kNotANumber:
      return not_a_number(request.keys[0]);
  }
  return Ok{};
}

void pop(KeyValue& data, std::string_view key, std::string& reply) {
  const KeyValue::Popped popped = data.pop(key);
  put_u64(reply, popped.length_before);
  if (popped.length_before > 0) {
    put_text(reply, popped.value);
  }
}

void list_keys(const KeyValue& data, std::string& reply) {
  put_u64(reply, data.size());
  for (const std::string_view key : data.keys()) {
    put_text(reply, key);
  }
}

void set_all(KeyValue& data, Request& request) {
  for (size_t i = 0; i < request.keys.size(); ++i) {
    data.set(request.keys[i], std::move(request.values[i]));
  }
}

}  // namespace

Status serve(KeyValue& data, Waiter waiter, Request request, std::string& reply) {
  data.cancel(waiter);
  switch (request.operation) {
    case Operation::kValidate:
      break;
    case Operation::kPing:
      put_u32(reply, static_cast<uint32_t>(request.number));
      break;
    case Operation::kSet:
      data.set(request.keys[0], std::move(request.values[0]));
      break;
    case Operation::kAppend:
      data.append(request.keys[0], request.values[0]);
      break;
    case Operation::kMultiSet:
      set_all(data, request);
      break;
    case Operation::kCompareSet:
      put_text(reply,
               data.compare_set(request.keys[0], request.values[0], std::move(request.values[1])));
      break;
    case Operation::kGet:
      put_value(reply, data.find(request.keys[0]));
      break;
    case Operation::kMultiGet:
      return get_all(data, request.keys, reply);
    case Operation::kAdd: {
      const auto sum = data.add(request.keys[0], request.number);
      if (!sum) {
        return not_a_number(request.keys[0]);
      }
      put_number(reply, *sum);
      break;
    }
    case Operation::kCheck:
      put_u8(reply, data.are_present(request.keys) ? kReplyReady : kReplyNotReady);
      break;
    case Operation::kWait:
      if (data.wait(waiter, request.keys)) {
        put_u8(reply, kReplyReady);
      }
      break;
    case Operation::kCancelWait:
      put_u8(reply, kReplyWaitCanceled);
      break;
    case Operation::kBarrier:
      return arrive(data, waiter, request, reply);
    case Operation::kCountKeys:
      put_u64(reply, data.size());
      break;
    case Operation::kListKeys:
      list_keys(data, reply);
      break;
    case Operation::kDelete:
      put_number(reply, data.remove(request.keys[0]) ? 1 : 0);
      break;
    case Operation::kWatch:
      data.watch(waiter, request.keys[0]);
      put_u8(reply, kReplyWatchRegistered);
      break;
    case Operation::kQueuePush:
      data.push(request.keys[0], std::move(request.values[0]));
      break;
    case Operation::kQueuePop:
      pop(data, request.keys[0], reply);
      break;
    case Operation::kQueueLength:
      put_u64(reply, data.queue_length(request.keys[0]));
      break;
  }
  return Ok{};
}

std::string encode_change(const Change& change) {
  std::string out;
  put_u8(out, static_cast<uint8_t>(change.kind));
  put_text(out, change.key);
  put_text(out, change.old_value);
  put_text(out, change.new_value);
  return out;
}

}  // namespace distinit
