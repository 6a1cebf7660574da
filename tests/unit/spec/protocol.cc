// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/protocol.h"

#include "lib/base/frame.h"

#include <criterion/criterion.h>

#include <functional>
#include <random>

using namespace distinit;

namespace {

/// The content of the one frame that `bytes` are.
std::string content(const std::string& bytes) {
  FrameReader reader;
  reader.append(bytes);
  auto message = reader.next();
  cr_assert(message.has_value() && message->has_value());
  cr_assert(reader.pending() == 0);
  return **message;
}

const Hello kHello{7, 3, "./train", {"CUDA_VISIBLE_DEVICES=0,1", "SLURM_STEP_GPUS="}};
const Go kGo{"python3",
             {"RANK=7", "EMPTY=", "TEXT=a\nb=c"},
             {"SLURM_DISTINIT_SECRET"},
             {{7, UINT64_MAX}, {8, 65536}},
             "0-3,1030",
             1,
             true,
             600000,
             "rank 7 on n2"};
const Report kReport{"can't run './train': permission denied", "is it executable?"};

/// True when the text is taken as a message of any kind.
bool is_taken(std::string_view text) {
  return decode_hello(text) || decode_go(text) || decode_report(text) ||
         decode_number(TaskMessage::kFail, text) || decode_number(TaskMessage::kExited, text) ||
         decode_number(TaskMessage::kWait, text);
}

}  // namespace

Test(protocol, gives_back_what_was_sent) {
  cr_assert(*decode_hello(content(encode_hello(kHello))) == kHello);
  cr_assert(*decode_hello(content(encode_hello(Hello{}))) == Hello{});
  cr_assert(*decode_go(content(encode_go(kGo))) == kGo);
  cr_assert(*decode_go(content(encode_go(Go{}))) == Go{});
  cr_assert(*decode_report(content(encode_report(kReport))) == kReport);
  for (const TaskMessage kind : {TaskMessage::kFail, TaskMessage::kExited, TaskMessage::kWait}) {
    cr_assert(*decode_number(kind, content(encode_number(kind, 0xdeadbeef))) == 0xdeadbeef);
  }
}

Test(protocol, tells_kinds_apart) {
  cr_assert(message_kind(content(encode_hello(kHello))) == 1);
  cr_assert(message_kind(content(encode_go(kGo))) == 2);
  cr_assert(message_kind(content(encode_number(TaskMessage::kFail, 2))) == 3);
  cr_assert(message_kind(content(encode_number(TaskMessage::kExited, 2))) == 4);
  cr_assert(message_kind(content(encode_end())) == 5);
  cr_assert(message_kind(content(encode_number(TaskMessage::kWait, 2))) == 6);
  cr_assert(message_kind(content(encode_report(kReport))) == 7);
  cr_assert(message_kind("") == 0);
  cr_assert(!decode_hello(content(encode_go(kGo))));
  cr_assert(!decode_go(content(encode_hello(kHello))));
  cr_assert(!decode_report(content(encode_number(TaskMessage::kFail, 2))));
  cr_assert(!decode_number(TaskMessage::kWait, content(encode_number(TaskMessage::kFail, 2))));
}

Test(protocol, refuses_every_truncation_and_every_extra_byte) {
  for (const std::string& frame :
       {encode_hello(kHello), encode_go(kGo), encode_report(kReport),
        encode_number(TaskMessage::kFail, 2), encode_number(TaskMessage::kExited, 2)}) {
    const std::string message = content(frame);
    cr_assert(is_taken(message));
    for (size_t length = 0; length < message.size(); ++length) {
      cr_assert(!is_taken(message.substr(0, length)), "kind %d, %zu bytes", message[0], length);
    }
    cr_assert(!is_taken(message + '\0'), "kind %d", message[0]);
  }
}

Test(protocol, refuses_a_hello_of_another_release_or_of_no_rank) {
  std::string message = content(encode_hello(kHello));
  message[1] = static_cast<char>(message[1] ^ 1);
  const auto other = decode_hello(message);
  cr_assert(!other.has_value());
  cr_assert(other.error().what == "malformed hello message");
  cr_assert(other.error().hint.find("one release") != std::string::npos);
  Hello negative = kHello;
  negative.rank = -1;
  cr_assert(!decode_hello(content(encode_hello(negative))));
}

Test(protocol, announces_no_memory_for_lengths_that_are_not_there) {
  // kGo, then a text of 4 GiB; and a list of four thousand million texts.
  cr_assert(!decode_go(std::string("\x02\xff\xff\xff\xff", 5)));
  cr_assert(!decode_go(std::string("\x02\0\0\0\0\xff\xff\xff\xff", 9)));
}

Test(protocol, refuses_garbage) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string text(std::uniform_int_distribution<size_t>(0, 64)(random), '\0');
    for (char& c : text) {
      c = static_cast<char>(random());
    }
    // Five bytes whose first is a number's kind are a number; nothing else can come out right.
    const bool could_be_number = text.size() == 5 && text[0] >= 3 && text[0] <= 6;
    cr_assert(could_be_number || !is_taken(text), "seed %u", seed);
  }
}

Test(protocol, knows_the_variables_that_are_not_for_the_program) {
  for (const std::string_view name :
       {kDefaultSpecVariable, kSpecVariable, kSecretVariable, kStepVariable, kRootNodeVariable,
        kRootAddressVariable, kStartTimeVariable, kCpuBindVariable, kOptionVariable}) {
    cr_assert(is_private_variable(name), "%s", std::string(name).c_str());
  }
  cr_assert(is_private_variable("DISTINIT_SAVED_LD_PRELOAD"));
  for (const char* name : {"SLURM_PROCID", "DISTINIT_MESH", "SLURM_DISTINITX", "RANK", ""}) {
    cr_assert(!is_private_variable(name), "%s", name);
  }
}

Test(protocol, hides_the_loaders_variables_from_the_agent) {
  cr_assert(
      agent_environment({"LD_PRELOAD=x.so", "PATH=/bin", "LD_LIBRARY_PATH=/a:/b", "OLD_X=1"}) ==
      (std::vector<std::string>{"DISTINIT_SAVED_LD_PRELOAD=x.so", "PATH=/bin",
                                "DISTINIT_SAVED_LD_LIBRARY_PATH=/a:/b", "OLD_X=1"}));
}

Test(protocol, reads_the_stages_descriptor_from_its_path) {
  cr_assert(stage_fd_from_path("/proc/self/fd/700") == 700);
  cr_assert(stage_fd_from_path("/proc/self/fd/0") == 0);
  for (const char* path : {"", "/proc/self/fd/", "/proc/self/fd/-1", "/proc/self/fd/7x",
                           "/proc/self/fd/99999999999", "/usr/bin/distinit-stage", "700"}) {
    cr_assert(stage_fd_from_path(path) == -1, "%s", path);
  }
}
