// SPDX-License-Identifier: Apache-2.0
#include "tests/double/comm.h"

#include <cstdio>

#include <string.h>

#include "tests/double/fault.h"
#include "tests/double/reduce.h"

namespace nccl_double {
namespace {

std::string channel_text(int from, int64_t from_device, int to, int64_t to_device) {
  return std::to_string(from) + "[" + std::to_string(from_device) + "] -> " + std::to_string(to) +
         "[" + std::to_string(to_device) + "]";
}

// As in the real library: one line for the next rank in the ring, and one for the rank before where
// that is on another host.
void log_channels(ncclComm& comm) {
  if (comm.has_logged_channels || comm.size < 2) {
    return;
  }
  comm.has_logged_channels = true;
  const std::string net = environment("DOUBLE_NCCL_NET", "IB/0/GDRDMA");
  const int next = (comm.rank + 1) % comm.size;
  const int previous = (comm.rank + comm.size - 1) % comm.size;
  const Peer& self = comm.peers[static_cast<size_t>(comm.rank)];
  const Peer& after = comm.peers[static_cast<size_t>(next)];
  const Peer& before = comm.peers[static_cast<size_t>(previous)];
  const std::string channel = "Channel 00/0 : ";
  if (before.host != self.host) {
    log_info(comm.device, channel + channel_text(previous, before.device, comm.rank, self.device) +
                              " [receive] via NET/" + net);
  }
  log_info(comm.device,
           channel + channel_text(comm.rank, self.device, next, after.device) +
               (after.host == self.host ? " via P2P/CUMEM" : " [send] via NET/" + net));
}

}  // namespace

ncclResult_t ask_hub(ncclComm& comm, Request request, const void* payload, Reply& reply,
                     std::string& answer) {
  request.sequence = comm.sequence++;
  Outcome outcome = send_all(comm.hub, &request, sizeof request, comm.wake);
  if (outcome == Outcome::kDone) {
    outcome = send_all(comm.hub, payload, request.bytes, comm.wake);
  }
  if (outcome == Outcome::kDone) {
    outcome = receive_all(comm.hub, &reply, sizeof reply, comm.wake);
  }
  if (outcome == Outcome::kDone) {
    answer.resize(reply.bytes);
    outcome = receive_all(comm.hub, answer.data(), answer.size(), comm.wake);
  }
  if (outcome != Outcome::kDone) {
    return failed(comm, outcome);
  }
  if (reply.result == ncclRemoteError) {
    return failed(comm, Outcome::kClosed);
  }
  if (reply.result != ncclSuccess) {
    log_warning(comm.device, "Mismatched collective detected : the ranks' calls differ");
  }
  return reply.result;
}

ncclResult_t all_reduce(ncclComm& comm, const void* send_buffer, void* receive_buffer, size_t count,
                        int datatype, int op) {
  log_channels(comm);
  if (has_fault("hang_reduce", comm.size)) {
    return hang(comm, comm.wake);
  }
  Request request = {};
  request.kind = kReduce;
  request.datatype = datatype;
  request.op = op;
  request.count = count;
  request.bytes = count * element_size(datatype);
  Reply reply = {};
  std::string sum;
  const ncclResult_t result = ask_hub(comm, request, send_buffer, reply, sum);
  int pause = 0;
  if (has_fault("slow", comm.size, &pause) &&
      wait_ready(-1, 0, comm.wake, pause) == Outcome::kWoken) {
    return ncclInternalError;
  }
  if (result == ncclSuccess && count > 0) {
    memcpy(receive_buffer, sum.data(), sum.size());
    if (has_fault("wrong_sum", comm.size)) {
      spoil_one_element(datatype, count, element_size(datatype),
                        static_cast<char*>(receive_buffer));
    }
  }
  return result;
}

}  // namespace nccl_double
