// SPDX-License-Identifier: Apache-2.0
// A fuzz target: whatever a connection sends, the store neither fails nor answers differently when
// the bytes come in other pieces. The first input byte says how the rest is cut.
//
//   clang++-14 -std=c++20 -I. -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined \
//     tests/fuzz/store_codec.cc lib/store/{codec,dialect,key_value,service}.cc \
//     lib/base/{check,error,text}.cc -o build/fuzz-store
//   build/fuzz-store -max_total_time=60 -max_len=4096

#include "lib/base/check.h"
#include "lib/store/service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <stddef.h>
#include <stdint.h>

using namespace distinit;

namespace {

// A connection as the server treats it, without socket and loop.
class Session {
 public:
  void receive(std::string_view bytes) {
    if (closed_) {
      return;
    }
    if (decoder_) {
      decoder_->append(bytes);
    } else {
      head_ += bytes;
      identify();
    }
    while (!closed_ && decoder_ && serve_next()) {
    }
  }

  std::string result() const { return output_ + (closed_ ? "closed" : "open"); }

 private:
  void identify() {
    switch (read_opening(head_, "")) {
      case Opening::kNeedMore:
        return;
      case Opening::kD0:
        decoder_.emplace(Dialect::kD0);
        break;
      case Opening::kD1OrD2:
        decoder_.emplace(Dialect::kD1OrD2);
        break;
      case Opening::kD3:
        decoder_.emplace(Dialect::kD3);
        break;
      case Opening::kForeign:
      case Opening::kGarbage:
        closed_ = true;
        return;
    }
    decoder_->append(head_);
  }

  bool serve_next() {
    const auto command = decoder_->next_command();
    if (decoder_->dialect() == Dialect::kD1OrD2 && command) {
      decoder_->set_dialect(settle_by_command(*command, false).value_or(Dialect::kD1OrD2));
    }
    auto request = decoder_->next();
    closed_ = !request;
    if (closed_ || !*request) {
      return false;
    }
    closed_ = !serve(data_, 1, std::move(**request), output_);
    return true;
  }

  KeyValue data_{[this](Waiter) { put_u8(output_, kReplyReady); },
                 [this](Waiter, const Change& change) { output_ += encode_change(change); }};
  std::string head_;
  std::optional<RequestDecoder> decoder_;
  std::string output_;
  bool closed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const size_t piece = 1 + data[0] % 16;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  Session whole;
  whole.receive(input);
  Session pieces;
  for (size_t start = 0; start < input.size(); start += piece) {
    pieces.receive(input.substr(start, piece));
  }
  DISTINIT_CHECK(whole.result() == pieces.result());
  return 0;
}
