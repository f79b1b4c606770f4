"""The measurements behind `bench.search`: each gives rows of its table."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.search_scale import at_scale
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, Target
from cairn.embedding.static import StaticEmbedder
from cairn.evaluation.judged import load
from cairn.evaluation.scoring import AskingWay, Lines, Scored, ask, folder_as_codebase, ndcg
from cairn.search.types import Group, Mode, SearchRequest
from cairn.store.format.postings import PostingsBuilder

HERE = Path(__file__).resolve().parent
MB = 1_000_000


class Row(NamedTuple):
    """A line of the table: ours, theirs, what was to be reached (`<=` or `>=` a number), and what to know about it."""

    what: str
    ours: str
    theirs: str
    value: float
    target: str
    note: str = ""

    @property
    def is_reached(self) -> bool | None:
        if not self.target:
            return None
        sign, bound = self.target.split()
        return self.value <= float(bound) if sign == "<=" else self.value >= float(bound)


class Places(NamedTuple):
    """Where the benchmark, semble's Python, its models, ripgrep and scratch data are."""

    benchmark: Path
    semble: str
    model: str | None
    rg: str
    scratch: Path


# --- quality ----------------------------------------------------------------------------------------------------------


class QualitySet(NamedTuple):
    """Questions, where they and their repositories lie, the signals left out, and what to reach."""

    title: str
    data: str
    repos: str
    without: tuple[str, ...]
    target: str


SETS = (
    QualitySet("NDCG@10, judged questions", "data", "repos", (), ">= 0.90"),
    QualitySet("the same without file names", "data", "repos", ("filename",), ">= 0.85"),
    QualitySet("NDCG@10, commit subjects", "history/queries/plain", "history", (), ">= 0.72"),
    QualitySet("NDCG@10, commit subjects, masked", "history/queries/masked", "history", (), ">= 0.48"),
)


def quality(places: Places) -> Iterator[Row]:
    """Both development sets, beside semble's BM25 and rules; its results are read from files and made when missing."""
    environ = {**os.environ, "CAIRN_HOME": str(places.scratch / "quality")}
    for one in SETS:
        scored: list[Scored] = []
        judged = load(str(places.benchmark / one.data), str(places.benchmark / one.repos), "dev")
        for _, folder, questions in judged.repositories:
            way = AskingWay(10, without=frozenset(one.without))
            scored += ask(folder_as_codebase(folder, environ), environ, questions, way)
        mean = statistics.fmean(row.ndcg for row in scored)
        note = f"{len(scored)} questions"
        theirs = ""
        if not one.without:
            peer = _semble_scores(places, one, scored)
            theirs, difference = (
                f"{statistics.fmean(peer):.3f}",
                [a.ndcg - b for a, b in zip(scored, peer, strict=True)],
            )
            error = 1.96 * statistics.stdev(difference) / math.sqrt(len(difference))
            note += f"; paired difference {statistics.fmean(difference):+.3f} ± {error:.3f}; files alone on both sides"
        yield Row(one.title, f"{mean:.3f}", theirs, mean, one.target, note)
        if one.data == "data" and not one.without:
            lines = statistics.fmean(row.ndcg_lines for row in scored)
            yield Row(
                "with the right lines shown", f"{lines:.3f}", _as_published(places, one), lines, "", "24 have lines"
            )
            symbols = [row.ndcg for row in scored if row.question.category == "symbol"]
            value = statistics.fmean(symbols)
            yield Row("symbol questions", f"{value:.3f}", "", value, ">= 0.98", f"{len(symbols)} questions")


def _results_file(places: Places, one: QualitySet) -> Path:
    """The results of semble on a set, as the benchmark's own harness writes them."""
    file = places.benchmark / "out" / f"semble-{one.data.replace('/', '-')}.json"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        command = [places.semble, "evaluate.py", "--repos", one.repos, "--data", one.data, "--half", "dev"]
        command += ["--repeat", "1", "--system", "systems/semble_system.py:SembleLexical", "--json", str(file)]
        environ = {**os.environ, "SEMBLE_BENCH_MODEL": str(places.benchmark / "dummy-model")}
        subprocess.run(command, cwd=places.benchmark, check=True, env=environ, stdout=subprocess.DEVNULL)
    return file


def _semble_scores(places: Places, one: QualitySet, ours: Sequence[Scored]) -> list[float]:
    """By files alone and each file once, which is kinder to it than the harness: its chunks repeat files."""
    rows = json.loads(_results_file(places, one).read_text())["queries"]
    assert [row["query"] for row in rows] == [row.question.text for row in ours], "both sides ask the same"
    found = []
    for row, mine in zip(rows, ours, strict=True):
        files = [Lines(path) for path in dict.fromkeys(hit[0] for hit in row["hits"])]
        found.append(ndcg(files, mine.question.targets, 10))
    return found


def _as_published(places: Places, one: QualitySet) -> str:
    return f"{json.loads(_results_file(places, one).read_text())['summary']['ndcg10']:.3f}"


# --- beside semble, in the same run -----------------------------------------------------------------------------------


class Side:
    """A tool in its own process that is told what to do; see `search_side.py`."""

    def __init__(self, python: str, *arguments: str) -> None:
        command = [python, str(HERE / "search_side.py"), *arguments]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._answer()

    def tell(self, **what: object) -> dict:
        self._child.stdin.write(json.dumps(what) + "\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict:
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"{self._child.args[1:]} ended with {self._child.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self._child.stdin.close()
        self._child.wait(timeout=30)
        self._child.stdout.close()


@contextmanager
def sides(*commands: tuple[str, ...]) -> Iterator[list[Side]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Side(*command))) for command in commands]


def beside(places: Places) -> Iterator[Row]:
    """CPU of a cold index and time of a warm query, repository by repository, the sides taking turns."""
    dummy = str(places.benchmark / "dummy-model")
    pairs = [("embedding taken out of both", ("--no-embedding",), (dummy, "--lexical"), "<= 1.3")]
    if places.model:
        pairs.insert(0, ("whole, a static model of 256 dimensions on both sides", (), (places.model,), "<= 0.8"))
    folders = dict(_same_files(places, dummy))
    sizes = [_bytes(folder) for folder, _ in folders.values()]
    for title, mine, other, target in pairs:
        with sides((sys.executable, "cairn", *mine), (places.semble, "semble", *other)) as (ours, theirs):
            cpu: list[tuple[float, float]] = []
            ms: tuple[list[float], list[float]] = ([], [])
            for number, (folder, queries) in enumerate(folders.values()):
                # Who goes first takes turns too: it is the one that reads cold files.
                both = [(0, ours), (1, theirs)][:: 1 if number % 2 else -1]
                took = {at: side.tell(index=str(folder))["cpu"] for at, side in both}
                cpu.append((took[0], took[1]))
                for at, side in both:
                    ms[at].extend(side.tell(ask=queries)["ms"])
        note = f"{sum(sizes) / MB:.1f} MB, {len(folders)} repositories, same files"
        yield _cold(f"cold index, CPU, {title}", *map(sum, zip(*cpu, strict=True)), sum(sizes), target, note)
        large = sizes.index(max(sizes))
        note = f"{sizes[large] / MB:.1f} MB; the many small ones pay for a worker process each"
        yield _cold("of which the largest repository", *cpu[large], sizes[large], "", note)
        median = [statistics.median(times) for times in ms]
        shown = [f"{value:.2f} ms" for value in median]
        note = f"{len(ms[0])} queries, of each the best of five asks on both sides"
        yield Row(f"warm query p50, {title}", *shown, median[0] / median[1], "<= 1.0", note)


def _cold(what: str, ours: float, theirs: float, size: int, target: str, note: str) -> Row:
    each = [f"{seconds / size * MB:.3f} s/MB" for seconds in (ours, theirs)]
    return Row(what, *each, ours / theirs, target, note)


def _same_files(places: Places, dummy: str) -> Iterator[tuple[str, tuple[Path, list[str]]]]:
    """Each repository as a copy of the files that both sides index, and its questions."""
    judged = load(str(places.benchmark / "data"), str(places.benchmark / "repos"), "dev")
    with sides((sys.executable, "cairn", "--no-embedding"), (places.semble, "semble", dummy)) as both:
        for name, folder, questions in judged.repositories:
            ours, theirs = (set(side.tell(index=folder)["files"]) for side in both)
            copy = places.scratch / "same" / name
            for path in sorted(ours & theirs):
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(folder, path), copy / path)
            yield name, (copy, [question.text for question in questions])


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# --- large stores -----------------------------------------------------------------------------------------------------


def scale(places: Places, sizes: Sequence[int] = (50_000, 500_000)) -> Iterator[Row]:
    """A warm query beside the bare scan of as many vectors."""
    for chunks in sizes:
        timed = at_scale(places.scratch / "scale", chunks)
        shutil.rmtree(places.scratch / "scale")
        shown = f"{timed.query:.1f} ms", f"{timed.scan:.2f} ms"
        note = "made-up text, random vectors; beside: bare int8 scan, one thread"
        yield Row(f"warm query p50, {chunks:,} chunks", *shown, timed.query / timed.scan, "<= 4.0", note)


# --- patterns ---------------------------------------------------------------------------------------------------------

PATTERNS = (
    ("rare literal", r"unexpected_end_of"),
    ("common word", r"\breturn\b"),
    ("alternation", r"(?:lock|mutex)_(?:acquire|release)"),
    ("classes", r"[A-Z][a-z]+Error\([a-z]+"),
    ("any case", r"(?i)timeout exceeded"),
    ("nothing", r"zqxjk[0-9]{3}vw"),
)


def regex(places: Places, most: int = 60 * MB) -> Iterator[Row]:
    """Patterns over a tree of 60 MB beside ripgrep, which is a process each time; and the size of the index."""
    tree = places.scratch / "sixty"
    size = _tree_of(places.benchmark / "history", tree, most)
    environ = {**os.environ, "CAIRN_HOME": str(places.scratch / "regex")}
    codebase = folder_as_codebase(str(tree), environ)
    ask(codebase, environ, (), AskingWay(10))
    with Session(Target(str(tree), codebase), environ) as session:
        prepare(session, Policy(create=False, sync=False))
        ratios, best = [], ([], [])
        for name, pattern in PATTERNS:
            request = SearchRequest(pattern, Mode.REGEX, limit=100, group=Group.NONE)
            ours, theirs = [], []
            for _ in range(5):
                ours.append(_wall(lambda request=request: session.ask(request)))
                theirs.append(_wall(lambda pattern=pattern: _ripgrep(places.rg, pattern, tree)))
            mine, other = statistics.median(ours), statistics.median(theirs)
            best[0].append(mine)
            best[1].append(other)
            ratios.append(mine / other)
            yield Row(f"regex, {name}", f"{mine:.1f} ms", f"{other:.1f} ms", ratios[-1], "", f"`{pattern}`")
        both = [f"{statistics.median(times):.1f} ms" for times in best]
        note = f"{size / MB:.0f} MB, {len(PATTERNS)} patterns; ours shows 100 lines and counts the rest,"
        note += " ripgrep starts anew and prints all"
        yield Row("regex, median pattern", *both, statistics.median(ratios), "<= 1.0", note)
    segments = sum(path.stat().st_size for path in (places.scratch / "regex").rglob("segments/*/*"))
    indexed = size / MB, segments / MB
    yield Row(
        "live segments on disk", f"{indexed[1]:.0f} MB", f"{indexed[0]:.0f} MB", segments / size, "<= 2.0", "source"
    )


def _tree_of(source: Path, tree: Path, most: int) -> int:
    size = 0
    for path in sorted(source.rglob("*")):
        below = path.relative_to(source)
        if path.is_file() and below.parts[0] != "queries" and size + path.stat().st_size <= most:
            (tree / below).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, tree / below)
            size += path.stat().st_size
    return size


def _ripgrep(program: str, pattern: str, tree: Path) -> None:
    command = [program, "--no-ignore", "--hidden", "-n", "--no-heading", pattern, str(tree)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def _wall(job) -> float:
    began = time.perf_counter()
    job()
    return (time.perf_counter() - began) * 1000


# --- what it weighs ---------------------------------------------------------------------------------------------------

_IMPORT = "import time; a = time.process_time(); import cairn; print((time.process_time() - a) * 1000)"
_LOAD = """
import time, numpy, mmap
from cairn.embedding.static import StaticEmbedder
model = StaticEmbedder()
a = time.process_time(); model.embed_query("x"); b = time.process_time()
model.embed_query("x"); print((b - a - (time.process_time() - b)) * 1000)
"""


def weight(places: Places) -> Iterator[Row]:
    """Install size, import, model load, and one pass of tokenising for words and for the model."""
    size = _installed()
    yield Row("installed with the model", f"{size / MB:.0f} MB", "", size / MB, "<= 160", "its requirements included")
    for what, code, target in (("import cairn, CPU", _IMPORT, "<= 60"), ("model load, CPU", _LOAD, "<= 30")):
        times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7)]
        value = statistics.median(times)
        yield Row(what, f"{value:.1f} ms", "", value, target)
    value = _tokenising(places.benchmark / "repos")
    yield Row("tokenising, words and model together", f"{value:.1f} MB/s", "", value, ">= 10", "CPU of one core")


def _installed() -> int:
    """Bytes of the package in this checkout and of all distributions that it requires, without extras."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    own = [path for path in (HERE.parent / "src" / "cairn").rglob("*") if "__pycache__" not in path.parts]
    size = sum(path.stat().st_size for path in own if path.is_file())
    waiting, seen = list(project["dependencies"]), set()
    while waiting:
        required = waiting.pop()
        name = re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[(]", required, maxsplit=1)[0]).lower()
        # A requirement with a condition is for extras or other systems.
        if name in seen or ";" in required:
            continue
        seen.add(name)
        found = importlib.metadata.distribution(name)
        files = [Path(str(found.locate_file(file))) for file in found.files or ()]
        size += sum(path.stat().st_size for path in files if path.is_file())
        waiting += found.requires or ()
    return size


def _tokenising(folder: Path, most: int = 16 * MB, piece: int = 2_000) -> float:
    texts: list[bytes] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and len(texts) * piece < most:
            data = path.read_bytes()
            texts += [data[at : at + piece] for at in range(0, len(data), piece)]
    model = StaticEmbedder()
    model.embed_query("warm")
    pieces = model._model().words
    words = PostingsBuilder()
    began = time.process_time()
    for text in texts:
        words.add("", (), b"", text)
    words._count()
    for at in range(0, len(texts), 256):
        pieces.count(texts[at : at + 256])
    return sum(map(len, texts)) / MB / (time.process_time() - began)
