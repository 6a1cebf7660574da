// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two agents prove to each other that they know the step's secret, without sending it: HMAC over
// both sides' nonces. The member speaks first, so that a silent or foreign server is told apart;
// the root proves first, so that a member says nothing to a stranger.
//
//   member  → kAgentPreamble, frame(nonce_m)
//   root    → frame(nonce_r, HMAC(key, "root" …))
//   member  → frame(HMAC(key, "member" …)), then messages (messages.h)

#include "lib/base/result.h"

#include <string>
#include <string_view>

namespace distinit {

/// The first bytes of an agent's connection to the store's port. No TCPStore client begins so.
constexpr std::string_view kAgentPreamble =
    "\xd1"
    "distinit-agent1";

/// The step's secret with what it is for.
class StepKey {
 public:
  /// `secret_hex`: 64 hexadecimal digits; `step`: "JOB.STEP.RESTART", part of every proof. The
  /// error does not contain the secret.
  static Result<StepKey> create(std::string_view secret_hex, std::string_view step);

  /// HMAC-SHA-512-256 (libsodium's crypto_auth) over side, step and both nonces; 32 bytes.
  std::string proof(std::string_view side, std::string_view member_nonce,
                    std::string_view root_nonce) const;
  /// In constant time.
  bool accepts(std::string_view given, std::string_view side, std::string_view member_nonce,
               std::string_view root_nonce) const;

 private:
  std::string key_;
  std::string step_;
};

constexpr std::string_view kRootSide = "root";
constexpr std::string_view kMemberSide = "member";
constexpr size_t kNonceSize = 32;

/// 32 random bytes.
std::string make_nonce();

}  // namespace distinit
