// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/handshake.h"

#include "lib/base/text.h"
#include "lib/base/wire.h"

#include <sodium.h>

namespace distinit {

Result<StepKey> StepKey::create(std::string_view secret_hex, std::string_view step) {
  if (sodium_init() < 0) {
    return Error{ErrorCode::kInternal, "libsodium can't be initialised", {}, 0};
  }
  auto secret = from_hex(secret_hex);
  if (!secret || secret->size() != crypto_auth_KEYBYTES) {
    return Error{ErrorCode::kRendezvous, "the step's secret is not 64 hexadecimal digits",
                 "srun's plugin sets it; for `distinit exec` set DISTINIT_SECRET to the output of "
                 "`openssl rand -hex 32` before srun, or leave it unset",
                 0};
  }
  StepKey key;
  key.key_ = std::move(*secret);
  key.step_ = step;
  return key;
}

std::string StepKey::proof(std::string_view side, std::string_view member_nonce,
                           std::string_view root_nonce) const {
  WireWriter writer;
  writer.put_text(side);
  writer.put_text(step_);
  writer.put_text(member_nonce);
  writer.put_text(root_nonce);
  const std::string message = writer.take();
  std::string out(crypto_auth_BYTES, '\0');
  crypto_auth(reinterpret_cast<unsigned char*>(out.data()),
              reinterpret_cast<const unsigned char*>(message.data()), message.size(),
              reinterpret_cast<const unsigned char*>(key_.data()));
  return out;
}

bool StepKey::accepts(std::string_view given, std::string_view side, std::string_view member_nonce,
                      std::string_view root_nonce) const {
  const std::string wanted = proof(side, member_nonce, root_nonce);
  return given.size() == wanted.size() &&
         sodium_memcmp(given.data(), wanted.data(), wanted.size()) == 0;
}

std::string make_nonce() {
  std::string nonce(kNonceSize, '\0');
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

}  // namespace distinit
