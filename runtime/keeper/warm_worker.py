"""A warm worker: it has imported what attempts need, and forks for each of them.

The keeper starts it, and each packet on its socket is an attempt: the words of its command, with a
socket and a file of what else is to be known, which the forked process alone reads, since it may
hold secrets. That process makes itself into what the keeper would have started, says that it is
ready, and runs the command when the keeper says so. If anything of this fails it ends, and the
keeper starts a process of the usual kind, which tells what is wrong.

Its parent is the keeper: from a worker of one thread it is cloned so, and from others it is forked
twice, so that its parent ends. What the imports have started or opened would be shared by all
attempts: then the worker says so, and serves none.
"""

import _io
import asyncio
import atexit
import ctypes
import gc
import glob
import importlib
import importlib.metadata
import os
import pathlib
import random
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import warnings

PACKET_BYTES_MAX = 256 << 10

# What every import may have opened: each process would get the same from it.
HARMLESS = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}

# How OpenBLAS is asked for its threads, which it ends by itself before a fork.
BLAS_THREADS = ["openblas_get_num_threads", "openblas_get_num_threads64_",
                "scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_"]


# How often, and in which distances, it is looked whether threads are there.
THREAD_LOOKS = 100
THREAD_LOOK_S = 0.01

# Of the system call clone: its number and where its arguments begin to differ, by machine.
CLONES = {"x86_64": (56, lambda tid: (tid, 0)), "aarch64": (220, lambda tid: (0, tid))}
CLONE_PARENT = 0x00008000
CLONE_CHILD_CLEARTID = 0x00200000
CLONE_CHILD_SETTID = 0x01000000
PR_GET_TID_ADDRESS = 40


class Worker:
    def __init__(self, control):
        self.control = socket.socket(fileno=os.dup(control.fileno()))
        control.detach()
        null = os.open("/dev/null", os.O_RDWR)
        self.said = [os.memfd_create("stdout"), os.memfd_create("stderr")]
        for target, file in enumerate([null, *self.said]):
            os.dup2(file, target)
        os.close(null)
        self.own = {self.control.fileno(), *self.said, 0, 1, 2}
        self.mark = mark_place()
        place_folders(worker_folder())
        self.loops = []  # of asyncio, made by imports
        self.entries = {}  # by the name of the program
        self.modules = {}  # by name: what its import has written, to stdout and stderr
        self.stamps = {}  # by file: what changes with it

    # ---- Imports.

    def imports(self, name, load):
        """What it returns; what it writes is kept for those who would have written it themselves.
        One that fails is left to the attempts, which come across it as well, and tell.
        """
        try:
            loaded, is_whole = load(), True
        except BaseException:
            loaded, is_whole = None, False
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.modules[name] = [os.pread(file, PACKET_BYTES_MAX, 0) if is_whole else b""
                              for file in self.said]
        for file in self.said:
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        return loaded

    def entry(self, program):
        """What the program of that name calls, if it is one of flytekit's."""
        for found in importlib.metadata.entry_points(group="console_scripts"):
            if found.name == program and found.value.startswith("flytekit."):
                return found.load()
        return None

    def prepare(self, words):
        """Imports what is missing for a command; words say why it cannot be served."""
        program = os.path.basename(words[0])
        names = modules_of(words)
        missing = [name for name in names if name not in self.modules]
        if sys.path[0] == "":  # of a script its folder is in that place
            sys.path[0] = os.path.dirname(shutil.which(words[0]) or words[0])
        if program not in self.entries:
            self.entries[program] = self.imports(program, lambda: self.entry(program))
        elif not missing:
            return ""
        for name in missing:
            self.imports(name, lambda name=name: importlib.import_module(name))
        self.stamps = {file: stamp(file) for file in watched_files()}
        end_runners()
        gc.collect()
        # Those of earlier imports are frozen, and no longer among the objects.
        self.loops += [each for each in gc.get_objects()
                       if issubclass(type(each), asyncio.selector_events.BaseSelectorEventLoop)]
        self.loops = [each for each in self.loops if not each.is_closed()]
        gc.freeze()
        give_back()
        return self.obstacle(program)

    def obstacle(self, program):
        if self.entries[program] is None:
            return f"flytekit, which has {program}, cannot be imported"
        if has_threads():
            return "the imported modules have started threads"
        harmless = {file for loop in self.loops for file in loop_files(loop)} | self.own
        for file in os.listdir("/proc/self/fd"):
            try:
                name = os.readlink(f"/proc/self/fd/{file}")
            except FileNotFoundError:
                continue
            if int(file) not in harmless and name not in HARMLESS:
                return f"the imported modules have opened {name}"
        return ""

    def is_stale(self):
        return any(stamp(file) != seen for file, seen in self.stamps.items())

    # ---- Attempts.

    def serve(self):
        """Forks for each packet; in a forked process it returns what that has to do."""
        while True:
            packet, files, _, _ = socket.recv_fds(self.control, PACKET_BYTES_MAX, 3)
            if not packet or self.is_stale():
                os._exit(0)
            self.own.update(files)
            words = [os.fsdecode(word) for word in packet.split(b"\0")[:-1]]
            reason = self.prepare(words)
            if reason:
                self.control.send(reason.encode())
                os._exit(0)
            if fork_for_keeper():
                return words, files
            for file in files:
                os.close(file)
            self.own.difference_update(files)

    def become(self, words, files):
        """Makes this process into the attempt's own, and waits for the word to run."""
        answer = socket.socket(fileno=files[0])
        plan = read_plan(files[1])
        os.setsid()
        for group in files[2:]:
            os.write(group, b"0")
            os.close(group)
        self.control.close()
        os.chdir(plan["folder"])
        os.umask(plan["umask"])
        open_files(plan["files"])
        mark = set_environment(plan["environment"])
        write_mark(mark, *self.mark)
        for file in self.said:
            os.close(file)
        place_folders(os.environ["TROUPE_TMP"])
        place_provider(os.environ["TROUPE_TMP"])
        renew(self.loops)
        answer.send(b"r")
        if answer.recv(1) != b"g":
            os._exit(127)
        answer.close()

    def run(self, words):
        """As the program's script does it, and the interpreter behind it."""
        program = os.path.basename(words[0])
        script = shutil.which(words[0]) or words[0]
        sys.argv = [script, *words[1:]]
        sys.modules["__main__"].__file__ = script
        for name in [program, *modules_of(words)]:
            for target, written in enumerate(self.modules[name], 1):
                os.write(target, written)
        try:
            sys.exit(self.entries[program]())
        except SystemExit as end:
            status = exit_status(end.code)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        leave(status)


def worker_folder():
    """A folder for as long as this process lives; those of workers that have ended are removed."""
    begin = os.path.join(tempfile.gettempdir(), "flyte-warm-")
    for folder in glob.glob(f"{glob.escape(begin)}*-*"):
        pid = folder.removeprefix(begin).partition("-")[0]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(folder, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"flyte-warm-{os.getpid()}-")


def place_folders(folder):
    """flytekit makes temporary folders, and leaves some: they are to go with what is around them.

    For others the place does not change, since names of sockets there must not be long.
    """
    make = getattr(tempfile.mkdtemp, "wrapped", tempfile.mkdtemp)

    def mkdtemp(suffix=None, prefix=None, dir=None):
        caller = sys._getframe(1)
        while caller is not None and caller.f_globals.get("__name__") == "tempfile":
            caller = caller.f_back
        name = str(caller.f_globals.get("__name__")) if caller is not None else ""
        is_flytekits = dir is None and name.partition(".")[0] == "flytekit"
        return make(suffix, prefix, folder if is_flytekits else dir)
    mkdtemp.wrapped = make
    tempfile.mkdtemp = mkdtemp


def place_provider(folder):
    """flytekit's own access to files was made by an import, in the worker's folder, and makes a
    folder for each task: of many attempts those would be as many, until the worker ends."""
    persistence = sys.modules.get("flytekit.core.data_persistence")
    provider = getattr(persistence, "default_local_file_access_provider", None)
    if hasattr(provider, "_local_sandbox_dir"):
        provider._local_sandbox_dir = pathlib.Path(folder, "local_flytekit")
        provider._local_sandbox_dir.mkdir(parents=True, exist_ok=True)


def modules_of(words):
    """The modules that flytekit's own resolvers are told to load tasks from."""
    return [name for key, name in zip(words, words[1:]) if key == "task-module"]


def watched_files():
    """The files of imported modules, but those of the environment; of these its folders."""
    prefixes = tuple({f"{prefix}/" for prefix in (sys.prefix, sys.base_prefix)})
    yield from (folder for folder in sys.path if folder.startswith(prefixes))
    for module in list(sys.modules.values()):
        file = names_in(module).get("__file__")
        if isinstance(file, str) and not file.startswith(prefixes):
            yield file


def names_in(module):
    """Past a module's own way, by which one that is loaded when it is needed would be loaded."""
    try:
        return object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}


def give_back():
    """Memory that was needed once, where the C library keeps it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def stamp(file):
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def count_threads():
    """Without those of jemalloc, which pyarrow brings along: it begins them anew behind a fork."""
    count = 0
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as name:
                count += name.read() != "jemalloc_bg_thd\n"
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return count


def has_threads():
    """Beside those that are known. One that has ended is still seen for a moment."""
    for _ in range(THREAD_LOOKS):
        if threading.active_count() == 1 and count_threads() <= 1 + blas_threads():
            return False
        time.sleep(THREAD_LOOK_S)
    return True


def blas_threads():
    """Threads of OpenBLAS's, beside those that call it."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "openblas" in line}
    count = 0
    for path in paths:
        library = ctypes.CDLL(path)
        for name in BLAS_THREADS:
            if hasattr(library, name):
                count += getattr(library, name)() - 1
                break
    return count


def end_runners():
    """Ends the threads in which flytekit runs coroutines, as for the inputs of a launch plan that a
    module makes. It knows them by the process, and starts another in one that needs it.
    """
    asyn = sys.modules.get("flytekit.utils.asyn")
    runners = getattr(getattr(asyn, "loop_manager", None), "_runner_map", {})
    for runner in runners.values():
        loop = getattr(runner, "_TaskRunner__loop", None)
        thread = getattr(runner, "_TaskRunner__runner_thread", None)
        if loop is not None and thread is not None and not loop.is_closed():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
    runners.clear()


def loop_files(loop):
    return [loop._ssock.fileno(), loop._csock.fileno(), loop._selector.fileno()]


def renew(loops):
    """Gives each loop of asyncio files of its own, and what draws random numbers a new beginning.
    """
    for loop in loops:
        loop._ssock.close()
        loop._csock.close()
        loop._selector.close()
        loop._internal_fds = 0
        loop._selector = selectors.DefaultSelector()
        loop._make_self_pipe()
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    # flytekit's own, by which it calls the folder that a task works in.
    if "flytekit.interfaces.random" in sys.modules:
        sys.modules["flytekit.interfaces.random"].random.seed()


def mark_place():
    """The memory that /proc shows as the environment's first variable, which tells whose process
    this is: an address and a size."""
    with open("/proc/self/stat", "rb") as stat:
        address = int(stat.read().rpartition(b")")[2].split()[47])
    with open("/proc/self/environ", "rb") as environment:
        return address, environment.read().index(b"\0")


def write_mark(mark, address, size):
    with open("/proc/self/mem", "rb+", buffering=0) as memory:
        memory.seek(address)
        memory.write(mark[:size].ljust(size, b"\0"))


def fork_for_keeper():
    """True in a process whose parent is the keeper, or will be; false in this one."""
    is_alone = len(os.listdir("/proc/self/task")) == 1
    forked = clone_for_keeper() if is_alone else None
    return fork_twice() if forked is None else forked


def clone_for_keeper():
    """A fork that gives the new process the parent of this one; none where it cannot be done.

    The C library has no fork of that kind, and what it and other libraries do around one is done
    for other threads, of which there must be none. What Python does is done here as well.
    """
    clone, arguments = CLONES.get(os.uname().machine, (None, None))
    library = ctypes.PyDLL(None)
    tid = ctypes.c_ulong()
    if clone is None or library.prctl(PR_GET_TID_ADDRESS, ctypes.byref(tid), 0, 0, 0) != 0:
        return None
    flags = CLONE_PARENT | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | signal.SIGCHLD
    words = [ctypes.c_ulong(word) for word in (clone, flags, 0, 0, *arguments(tid.value))]
    library.PyOS_BeforeFork()
    made = library.syscall(*words)
    if made == 0:
        library.PyOS_AfterFork_Child()
        return True
    library.PyOS_AfterFork_Parent()
    return False if made > 0 else None


def fork_twice():
    """True in the process that is left without its parent; false in this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        between = os.fork()
        if between != 0:
            os.waitpid(between, 0)
            return False
        try:
            is_parent = os.fork() != 0
        except OSError:
            is_parent = True
        if is_parent:
            os._exit(0)
        return True


def read_plan(file):
    """What the keeper has written: see tri_process_plan_write."""
    with open(file, "rb") as plan:
        parts = plan.read().split(b"\0")[:-1]
    folder, *files, umask = parts[:5]
    return {"folder": folder, "files": files, "umask": int(umask, 8), "environment": parts[5:]}


def open_files(names):
    flags = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
    for target, name in enumerate(names):
        if target == 2 and name and name == names[1]:
            os.dup2(1, 2)
            continue
        how = os.O_RDONLY if target == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(name, how | flags, 0o666) if name else os.open("/dev/null", os.O_RDWR)
        os.set_blocking(file, True)
        os.dup2(file, target)
        os.close(file)


def set_environment(words):
    """Returns the first, which is the keeper's mark."""
    os.environ.clear()
    for word in words:
        name, _, value = word.partition(b"=")
        os.environb[name] = value
    return words[0]


def exit_status(code):
    """As the interpreter has it."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xff
    print(code, file=sys.stderr)
    return 1


def leave(status):
    """Ends as the interpreter would, but lets alone all that the worker has imported."""
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        for each in [sys.stdout, sys.stderr, *gc.get_objects()]:
            if issubclass(type(each), _io._IOBase):  # io.IOBase asks far more of each
                flush(each)
    except BaseException:
        traceback.print_exc()
    os._exit(status)


def flush(file):
    try:
        if not file.closed and file.writable():
            file.flush()
    except (OSError, ValueError):
        pass


def main(control):
    worker = Worker(control)
    try:
        words, files = worker.serve()
    except Exception as error:
        worker.control.send(f"it has failed: {error!r}".encode())
        os._exit(1)
    try:
        worker.become(words, files)
    except BaseException:  # the keeper starts another process, which tells
        os._exit(127)
    worker.run(words)


main(control)  # noqa: F821, which the line that runs this file has named so
