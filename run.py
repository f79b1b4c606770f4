"""Set up a private environment in .venv and run something in it, with nothing but Python and pip on the machine.

python3 run.py cairn ARGS…     Cairn itself, from this checkout
python3 run.py test [ARGS…]    linters, types and the fast tests; with ARGS only `pytest ARGS`
python3 run.py faults [ARGS…]  the long suites, and every property with all of its examples
python3 run.py bench [ARGS…]   the benchmark of the source and syntax layers
"""

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV, STAMP, PYTHON = ROOT / ".venv", ROOT / ".venv/made-by-run.py", str(ROOT / ".venv/bin/python")
PACKAGES = VENV / f"lib/python3.{sys.version_info[1]}/site-packages"
# One more than there are cores: many tests wait for a process or for time to pass. Each gets tests that stand together,
# so that what a file of tests prepares is prepared once.
PYTEST = ["pytest", "-n", str(min(8, len(os.sched_getaffinity(0)) + 1)), "--dist", "worksteal"]
LONG = [*PYTEST, "-m", "long or hypothesis", "--hypothesis-profile", "deep"]
LINTERS = [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]]


def stamp(lock):
    """What the stamp file says once an environment is ready: this Python, this place, these pins."""
    pins = (ROOT / "requirements" / lock).read_bytes()
    return "\n".join([sys.version, str(ROOT), lock, hashlib.sha256(pins).hexdigest()])


def ready(lock):
    return STAMP.is_file() and stamp(lock) in STAMP.read_text().split("\n\n")


def step(*argv):  # prints on stderr: stdout belongs to the command that follows
    subprocess.run(argv, check=True, stdout=sys.stderr, env={**os.environ, "PIP_USER": "0"})


def installer():
    """This Python's pip, working on .venv from outside: that needs no ensurepip and is allowed everywhere."""
    outside, inside = [sys.executable, "-m", "pip", "--python", PYTHON], [PYTHON, "-m", "pip"]
    for pip, probe in (outside, [*outside, "--version"]), (inside, [PYTHON, "-m", "ensurepip"]):
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes"]
    sys.exit(f"run.py: {sys.executable} has neither pip 22.3 (or newer) nor ensurepip; install pip, then try again.")


def set_up(lock):
    """Make or renew .venv; a second run waits here for the first. Only what was made here is ever cleared."""
    with open(__file__, "r+b") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if ready(lock):
            return
        print(f"run.py: setting up {VENV} (about a minute, only when the pins change)", file=sys.stderr, flush=True)
        if VENV.exists() and not STAMP.is_file() and not PACKAGES.is_dir():
            sys.exit(f"run.py: {VENV} is of another Python and was not made here; move it away, then try again.")
        clear = ["--clear"] if STAMP.is_file() and sys.version not in STAMP.read_text() else []
        step(sys.executable, "-m", "venv", "--without-pip", *clear, str(VENV))
        STAMP.write_text("unfinished")
        step(*installer(), "-r", str(ROOT / "requirements" / lock))
        (PACKAGES / "cairn.pth").write_text(f"{ROOT / 'src'}\n")
        STAMP.write_text("\n\n".join(map(stamp, ["runtime.txt", lock])))  # dev.txt holds all of runtime.txt


def main(command="", *args):
    if sys.version_info < (3, 11) or command not in ("cairn", "test", "faults", "bench"):
        sys.exit(__doc__ if sys.version_info >= (3, 11) else "run.py: Cairn needs Python 3.11 or newer.")
    lock = "runtime.txt" if command == "cairn" else "dev.txt"
    ready(lock) or set_up(lock)
    if command == "cairn":
        os.execv(PYTHON, [PYTHON, "-m", "cairn", *args])
    os.chdir(ROOT)
    # Without the bytecode of the last run each worker would compile every test and all of Cairn anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A shell that starts this in the background has it ignore Ctrl-C; what it starts is not to inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    whole = command == "test" and not args
    runs = [PYTEST] if whole else [["pytest", *args]]
    runs = {"faults": [[*LONG, *args]], "bench": [["bench.source", *args]]}.get(command, runs)
    failed = [*(linted() if whole else ()), *(run[0] for run in runs if start(run).wait())]
    sys.exit(f"run.py: failed: {', '.join(failed)}" if failed else 0)


def start(run, **how):
    return subprocess.Popen([PYTHON, "-m", *run], **how)


def linted():
    """Return the names of the linters that found something. The tests of a fresh checkout are compiled meanwhile."""
    fresh = not (ROOT / "tests/__pycache__").is_dir()
    compiling = start(["pytest", "--collect-only", "-qq"], stdout=subprocess.DEVNULL) if fresh else None
    failed = [run[0] for run in LINTERS if start(run).wait()]
    if compiling is not None:
        compiling.wait()
    return failed


try:
    main(*sys.argv[1:])
except (OSError, subprocess.CalledProcessError, KeyboardInterrupt) as error:
    sys.exit(f"run.py: stopped: {error or 'by you'}")
