"""Kernels of pages that have imported JAX and ArviZ before they begin, which is a third of the time of a short page.

`begin` starts a process that imports what most pages import; for each page it becomes a kernel, in a child of its own.
Jupyter starts this file, which asks for that child, hands interrupts on, and ends with it. JAX has begun no thread when
it has only been imported, so that it may be forked.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

SOCKET = "LOCKSTEP_DOCS_KERNELS"  # where to ask, in the environment


def begin():
    """Start the process that becomes kernels, and have Jupyter ask it; it ends with the process that called this."""
    os.environ[SOCKET] = str(Path(tempfile.mkdtemp(prefix="lockstep-docs-")) / "socket")
    os.environ["JUPYTER_PATH"] = str(Path(__file__).parent)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.environ[SOCKET])
        server.listen()
        command = [sys.executable, __file__, "serve", str(server.fileno())]
        return subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[server.fileno()])


def serve(number):
    # Read when ipykernel and matplotlib are imported: with whom a kernel ends, and what it draws with.
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    import arviz_base  # noqa: F401
    import arviz_stats  # noqa: F401
    import ipykernel.kernelapp  # noqa: F401
    import jax.scipy.stats  # noqa: F401
    import matplotlib.pyplot  # noqa: F401

    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel
    threading.Thread(target=end_with_input, daemon=True).start()
    with socket.socket(fileno=number) as server:
        while True:
            end, _ = server.accept()
            if os.fork() == 0:
                server.close()
                become_kernel(end)
            end.close()


def end_with_input():
    sys.stdin.buffer.read()
    shutil.rmtree(Path(os.environ[SOCKET]).parent)
    os._exit(0)


def become_kernel(end):
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = json.loads(end.makefile().readline())
    end.sendall(f"{os.getpid()}\n".encode())
    os.chdir(request["folder"])
    sys.path[0] = ""  # as in other kernels
    IPKernelApp.launch_instance(request["arguments"])
    os._exit(0)


def ask(arguments):
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(os.environ[SOCKET])
        end.sendall(json.dumps({"arguments": arguments, "folder": os.getcwd()}).encode() + b"\n")
        kernel = int(end.recv(100))
        signal.signal(signal.SIGINT, lambda *_: os.kill(kernel, signal.SIGINT))
        end.recv(1)  # no byte comes: the kernel's end is closed when it ends


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        ask(sys.argv[1:])
