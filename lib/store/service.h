// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a request does to the data, and which bytes answer it.

#include "lib/base/result.h"
#include "lib/store/codec.h"
#include "lib/store/key_value.h"

#include <string>

namespace distinit {

/// No reply is longer; a MULTI_GET that asks for more closes the connection.
constexpr size_t kLongestReply = size_t{1} << 30;

/// Executes one request and appends the whole reply to `reply`. Nothing is appended for operations
/// without a reply, nor for a WAIT or BARRIER that is not over yet: KeyValue's OnWake tells when
/// kReplyReady is due. A wait of this waiter that is still pending is dropped: a client asks for
/// something new only after giving up, and its old answer would desynchronise it.
///
/// A kRendezvous Error means that the connection is to be closed, PyTorch's only way to refuse: an
/// ADD or BARRIER on what is not a number, a reply over kLongestReply.
Status serve(KeyValue& data, Waiter waiter, Request request, std::string& reply);

/// The unasked message to the watcher of a key.
std::string encode_change(const Change& change);

}  // namespace distinit
