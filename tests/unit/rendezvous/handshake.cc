// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/handshake.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

const std::string kSecret(64, 'a');
const std::string kOtherSecret(64, 'b');

StepKey make_key(const std::string& secret, const std::string& step) {
  return StepKey::create(secret, step).value();
}

}  // namespace

Test(handshake, proof_is_accepted_by_the_same_secret_step_side_and_nonces_only) {
  const StepKey key = make_key(kSecret, "1.0.0");
  const std::string member = make_nonce();
  const std::string root = make_nonce();
  const std::string proof = key.proof(kRootSide, member, root);
  cr_assert_eq(proof.size(), 32u);
  cr_assert(key.accepts(proof, kRootSide, member, root));
  cr_assert_not(key.accepts(proof, kMemberSide, member, root));
  cr_assert_not(key.accepts(proof, kRootSide, root, member));
  cr_assert_not(key.accepts(proof, kRootSide, make_nonce(), root));
  cr_assert_not(make_key(kOtherSecret, "1.0.0").accepts(proof, kRootSide, member, root));
  cr_assert_not(make_key(kSecret, "1.0.1").accepts(proof, kRootSide, member, root));
}

Test(handshake, proof_of_another_length_is_refused) {
  const StepKey key = make_key(kSecret, "1.0.0");
  cr_assert_not(key.accepts("", kRootSide, "m", "r"));
  cr_assert_not(key.accepts(key.proof(kRootSide, "m", "r") + "x", kRootSide, "m", "r"));
}

Test(handshake, nonces_differ) {
  cr_assert_neq(make_nonce(), make_nonce());
}

Test(handshake, unreadable_secret_is_refused_and_not_repeated) {
  for (const std::string& bad : {std::string(), std::string(63, 'a'), std::string(64, 'X')}) {
    const auto key = StepKey::create(bad, "1.0.0");
    cr_assert_not(key.has_value());
    cr_assert_eq(key.error().code, ErrorCode::kRendezvous);
    cr_assert_eq(key.error().what, "the step's secret is not 64 hexadecimal digits");
  }
}

Test(handshake, preamble_is_sixteen_bytes_that_no_client_begins_with) {
  cr_assert_eq(kAgentPreamble.size(), 16u);
  cr_assert_eq(static_cast<unsigned char>(kAgentPreamble[0]), 0xd1);
}
