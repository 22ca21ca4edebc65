"""Commands that do not outlive the process that wants them, even if it is killed with −9.

A warden, a small process of its own, starts the commands and is their parent. To each of them a
line leads: a socket with one end in the process that wants the command, the other in the warden.
When a line ends, because the command is no longer wanted or because the kernel closed it with
everything else of a process that was killed, the warden kills the command with all that it has
started. So there is no list that could be behind: no command runs without its line, and none is
killed by a number that may be somebody else's by now, since only a parent frees a child's number.

The file is the warden's program as well. It needs the standard library alone and starts within
some 20 ms, once per run.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

# Digits of a request's length, which goes ahead of it.
DIGITS = 12

# What a warden is not ended by: it goes when nobody wants anything of it any more.
UNHEARD = ("SIGINT", "SIGTERM", "SIGHUP")


class Warden:
    """Starts commands in sessions of their own; any thread may ask it to.

    OSError where there is none: it needs sockets that carry files, as Linux and macOS have them.
    """

    def __init__(self) -> None:
        if not hasattr(socket, "send_fds"):
            raise OSError("commands can only be run on Linux, macOS and the like")
        self._turn = threading.Lock()
        self._requests, theirs = socket.socketpair()
        words = [sys.executable, "-I", "-S", "-X", f"utf8={sys.flags.utf8_mode}", __file__]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603
                words,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # whoever kills this process's group does not kill it
            )
        self._answers = self._requests.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._answers.close()
        self._requests.close()
        self._process.wait()

    def start(self, words: Sequence[str], environment: Mapping[str, str]) -> "Command":
        """Start a command; OSError if that cannot be done."""
        request = json.dumps([list(words), dict(environment)]).encode()
        line, theirs = socket.socketpair()
        output, inlet = os.pipe()
        try:
            number = self._ask(request, [theirs.fileno(), inlet])
        except BaseException:
            line.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(inlet)
        return Command(number, line, output)

    def _ask(self, request: bytes, files: list[int]) -> int:
        """The number of the process that was started.

        The files stay open here until the answer has come: macOS may lose them under way.
        """
        try:
            with self._turn:
                socket.send_fds(self._requests, [b"%*d" % (DIGITS, len(request))], files)
                self._requests.sendall(request)
                answer = self._answers.readline()
        except ConnectionError:
            answer = b""
        if not answer:
            raise ChildProcessError("the process that starts commands has been killed")
        number, trouble = json.loads(answer)
        if trouble:
            raise OSError(trouble)
        return int(number)


class Command:
    """One that has been started. `output` is the file with what it prints: close it."""

    def __init__(self, number: int, line: socket.socket, output: int) -> None:
        self.output = output
        self._number = number
        self._line = line

    def wait(self, seconds: float | None) -> int | None:
        """Its exit code (−N: killed by signal N), or None if it has not ended by then."""
        self._line.settimeout(seconds)
        try:
            code = self._line.recv(DIGITS)
        except TimeoutError:
            return None
        self._line.close()
        if code:
            return int(code)
        # Somebody has killed the warden.
        _kill(self._number)
        return -signal.SIGKILL

    def stop(self) -> None:
        """It is no longer wanted: on return it has ended."""
        self._line.shutdown(socket.SHUT_WR)
        self.wait(None)


def _kill(group: int) -> None:
    """A command, and whatever it has started."""
    with suppress(ProcessLookupError, PermissionError):  # macOS: of a group that has just ended
        os.killpg(group, signal.SIGKILL)


class _Service:
    """What the warden does."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._bodies = requests.makefile("rb")
        self._children: dict[socket.socket, subprocess.Popen[bytes]] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Until nobody can ask for anything any more and all commands have ended."""
        woken = _wake_up()
        self._selector.register(woken, selectors.EVENT_READ)
        self._selector.register(self._requests, selectors.EVENT_READ)
        try:
            while self._children or self._requests in self._selector.get_map():
                for key, _ in self._selector.select():
                    if key.fileobj is self._requests:
                        self._take()
                    elif key.fileobj is woken:
                        woken.recv(4096)
                    elif isinstance(key.fileobj, socket.socket):
                        # Its line has ended. It was not reaped yet: its number is its own.
                        self._selector.unregister(key.fileobj)
                        _kill(self._children[key.fileobj].pid)
                self._reap()
        finally:
            for child in self._children.values():
                _kill(child.pid)

    def _take(self) -> None:
        """A request: what to run, and the files it comes with."""
        try:
            head, files, _, _ = socket.recv_fds(self._requests, DIGITS, 2)
            body = self._bodies.read(int(head)) if head else b""
        except ConnectionError:  # killed before it had read the last answer
            head = b""
        if not head:
            self._selector.unregister(self._requests)
            return
        try:
            answer = [self._start(files, *json.loads(body)), ""]
        except (OSError, ValueError) as error:  # half a request is no JSON
            answer = [0, str(error)]
        with suppress(OSError):
            self._requests.sendall(json.dumps(answer).encode() + b"\n")

    def _start(self, files: list[int], words: list[str], environment: dict[str, str]) -> int:
        """The command's number. Nothing can go wrong any more once it runs."""
        if len(files) < 2:
            for file in files:
                os.close(file)
            raise OSError("too many open files")
        line, inlet = socket.socket(fileno=files[0]), files[1]
        try:
            self._selector.register(line, selectors.EVENT_READ)
            self._children[line] = subprocess.Popen(  # noqa: S603
                words,
                stdin=subprocess.DEVNULL,
                stdout=inlet,
                env=environment,
                start_new_session=True,  # so that its children can be killed with it
            )
        except (OSError, ValueError):
            self._hang_up(line)
            raise
        finally:
            os.close(inlet)
        return self._children[line].pid

    def _reap(self) -> None:
        """Tell whoever waits how a command has ended.

        One that failed may have left something behind: perhaps because nobody was there any more
        to read what it printed. (Its number is not free as long as that lives.)
        """
        for line, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[line]
                if child.returncode != 0:
                    _kill(child.pid)
                with suppress(OSError):
                    line.sendall(b"%d" % child.returncode)
                self._hang_up(line)

    def _hang_up(self, line: socket.socket) -> None:
        if line in self._selector.get_map():
            self._selector.unregister(line)
        line.close()


def _wake_up() -> socket.socket:
    """Readable after every signal: the end of a child is one.

    Handlers that do nothing are the default again in the commands; what is ignored here would stay
    ignored there.
    """
    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for name in UNHEARD:
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    return woken


if __name__ == "__main__":
    _Service(socket.socket(fileno=0)).serve()
