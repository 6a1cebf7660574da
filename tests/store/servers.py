# SPDX-License-Identifier: Apache-2.0
"""The two kinds of server that are compared, each in a process of its own."""

import signal
import subprocess
import sys

import torch.distributed as dist

OWN_SERVER = """
import sys, torch.distributed as dist
options = {"use_libuv": sys.argv[1] == "libuv"} if sys.argv[1] else {}
store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False, **options)
print(f"listening 127.0.0.1:{store.port}", flush=True)
sys.stdin.read()
"""


class Server:
    """A running server; `port` is where it listens. Use as a context."""

    def __init__(self, command, stdin=subprocess.DEVNULL):
        self.process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.line = self.process.stdout.readline().strip()
        if not self.line.startswith("listening "):
            raise RuntimeError(f"{command[0]}: {self.line} {self.process.stderr.read()}")
        self.host, _, port = self.line.removeprefix("listening ").rpartition(":")
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number=signal.SIGTERM):
        """The exit status and what was written to stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


def ours(program, *options, listen="127.0.0.1:0"):
    return Server([program, "store", "--listen", listen, *options])


def pytorchs(kind):
    """PyTorch's own; `kind` is "libuv", "legacy", or empty where there is only one."""
    return Server([sys.executable, "-c", OWN_SERVER, kind], stdin=subprocess.PIPE)


def knows_libuv():
    return "use_libuv" in (dist.TCPStore.__init__.__doc__ or "")


def has_libuv():
    """This build can be a libuv server."""
    if not knows_libuv():
        return False
    try:
        pytorchs("libuv").stop(signal.SIGKILL)
        return True
    except RuntimeError:
        return False


def client_options(libuv):
    """What a client has to be told: a build without libuv refuses even a client otherwise."""
    return {"use_libuv": libuv} if knows_libuv() else {}
