// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/topology_loader.h"

#include "lib/base/text.h"

#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <sys/epoll.h>

namespace distinit {

/// What the thread leaves, and where it says so; its owner may be gone by then.
struct TopologyLoader::Shared {
  std::mutex mutex;
  std::optional<Result<Discovery>> result;
  Fd finished;
};

namespace {

Result<Discovery> load(const std::string& file) {
  if (file.empty()) {
    return discover_machine(SystemRoots{});
  }
  DISTINIT_ASSIGN_OR_RETURN(Machine machine, load_machine_file(file));
  return Discovery{std::move(machine), {}};
}

}  // namespace

TopologyLoader::TopologyLoader(EventLoop& loop, std::string file, milliseconds longest, Done done)
    : loop_(loop), file_(std::move(file)), longest_(longest), done_(std::move(done)) {}

TopologyLoader::~TopologyLoader() {
  loop_.cancel_timer(deadline_);
  if (ready_.is_open()) {
    loop_.remove(ready_.get());
  }
}

Status TopologyLoader::start() {
  DISTINIT_ASSIGN_OR_RETURN(Pipe pipe, make_pipe());
  ready_ = std::move(pipe.read);
  shared_ = std::make_shared<Shared>();
  shared_->finished = std::move(pipe.write);
  DISTINIT_RETURN_IF_ERROR(loop_.add(ready_.get(), EPOLLIN, [this](uint32_t) {
    const std::scoped_lock lock(shared_->mutex);
    finish(std::move(*shared_->result));
  }));
  deadline_ = loop_.add_timer(longest_, [this] {
    finish(Error{
        ErrorCode::kTopology,
        concat("its topology could not be read within ", longest_.count() / 1000, " s"),
        "a sick PCI device? see that node's system log; topology=FILE gives it from a file", 0});
  });
  std::thread([file = file_, shared = shared_] {
    Result<Discovery> result = load(file);
    const std::scoped_lock lock(shared->mutex);
    shared->result = std::move(result);
    shared->finished.reset();  // end of file is the word
  }).detach();
  return Ok{};
}

void TopologyLoader::finish(Result<Discovery> result) {
  loop_.cancel_timer(deadline_);
  loop_.remove(ready_.get());
  ready_.reset();
  done_(std::move(result));
}

}  // namespace distinit
