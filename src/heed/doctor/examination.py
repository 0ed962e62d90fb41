"""Examine a corpus: read its files three times, and combine the findings of all checks."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from heed.data.corpus import ParallelText
from heed.doctor.alignment import Alignment, Stretch, Traits, align
from heed.doctor.damage import damages, first_damage
from heed.doctor.kinds import KEPT, KINDS, REFUSED, Kind
from heed.doctor.language import Profile, learn, lowercase_words, without_shared_words
from heed.doctor.lengths import log_ratios, outliers
from heed.doctor.measure import Ints, Lines, Mask, hashes, is_utf8
from heed.doctor.overlap import Fingerprints, Hashes, TestText, repeated, repeated_or_first
from heed.doctor.reading import (
    NOT_TWO_COLUMNS,
    PAIRS_PER_CHUNK,
    Progress,
    RawPair,
    chunks,
    count_lines,
    without_progress,
)

MAX_WORDS, MAX_CHARACTERS = 250, 2000
EXAMPLES_PER_KIND = 5
LEARNING_CHUNKS = 32  # evenly spaced; enough to learn two languages from
COPY_WORD_SHARE = 0.75  # a pair is a copy if both sides share this many of their words
SHORT_COPY_WORDS = 2  # up to this many lowercase words ("Hotel Adlon", "Tom!") may be the same in both languages
MIN_LANGUAGE_BYTES = 20_000  # of each side, to tell two languages apart; English and German need a quarter
EXAMPLE_CHARACTERS = 200  # of a line
CHARACTERS_BEFORE_DAMAGE = 25
BOTH_SIDES = 2


@dataclass(frozen=True)
class Example:
    """A pair with a finding; `side` is "source" or "target" if only that line has it, else empty."""

    line: int
    side: str
    source: str
    target: str
    other: "Example | None" = None  # the pair it was compared with, if any


@dataclass(frozen=True)
class Finding:
    kind: Kind
    lines: Ints
    """Numbers of the pairs, from 1, in ascending order."""
    note: str = ""
    examples: tuple[Example, ...] = ()

    @property
    def count(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class Examination:
    text: ParallelText
    n_source: int
    n_target: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.kind.fault)

    @property
    def refused(self) -> tuple[Finding, ...]:
        """Return the faults that --fix cannot repair."""
        return tuple(finding for finding in self.faults if finding.kind.fix == REFUSED)

    def faulty_lines(self) -> Ints:
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(fault.lines for fault in self.faults)]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.text.source,
            "target": self.text.target or None,
            "source_lines": self.n_source,
            "target_lines": self.n_target,
            "healthy": not self.faults,
            "faulty_pairs": len(self.faulty_lines()),
            "notes": list(self.notes),
            "findings": [
                {
                    "kind": finding.kind.name,
                    "title": finding.kind.title,
                    "fault": finding.kind.fault,
                    "fix": finding.kind.fix,
                    "count": finding.count,
                    "share": finding.count / self.n_source,
                    "note": finding.note or None,
                    "lines": finding.lines.tolist(),
                    "examples": [asdict(example) for example in finding.examples],
                }
                for finding in self.findings
            ],
        }


def examine(
    text: ParallelText,
    tests: Iterable[ParallelText] = (),
    keep: Collection[str] = (),
    progress: Progress = without_progress,
) -> Examination:
    """Find the faults of a corpus. Kinds named in `keep` are reported, but not as faults.

    Raises:
        DataError: a file cannot be read, is empty or is UTF-16, or a test's two files differ in length.
    """
    n_source = count_lines(text.source)
    n_target = count_lines(text.target) if text.target else n_source
    total = max(n_source, n_target)

    stride = -(-total // (PAIRS_PER_CHUNK * LEARNING_CHUNKS))
    all_chunks = progress(chunks(text), total, "learning the languages")
    profile = learn([_sides(chunk) for number, chunk in enumerate(all_chunks) if number % stride == 0])
    test = TestText(tests, profile)

    examiner = _Examiner(profile, test, tsv=not text.target)
    for chunk in progress(chunks(text), total, "examining"):
        examiner.examine_chunk(chunk)
    findings = examiner.findings(n_source, n_target)
    findings = [_kept(finding) if finding.kind.name in keep else finding for finding in findings]
    notes = (*_language_notes(profile), *examiner.notes)
    examples = _examples(text, findings, examiner, progress)
    findings = [replace(finding, examples=examples[finding.kind.name]) for finding in findings]
    return Examination(text, n_source, n_target, tuple(findings), notes)


def _language_notes(profile: Profile) -> list[str]:
    if profile.distinct:
        return []
    if profile.n_bytes < MIN_LANGUAGE_BYTES:
        return [
            f"languages: too little text to tell them apart ({profile.n_bytes:,} bytes; needs {MIN_LANGUAGE_BYTES:,})"
        ]
    return ["languages: both sides look like the same language"]


@dataclass
class _Examiner:
    """Collects findings and measurements, chunk by chunk."""

    profile: Profile
    test: TestText
    tsv: bool
    n: int = 0
    notes: tuple[str, ...] = ()
    lines: defaultdict[tuple[str, int], list[Ints]] = field(default_factory=lambda: defaultdict(list))
    traits: tuple[list[Traits], list[Traits]] = field(default_factory=lambda: ([], []))
    prints: list[Fingerprints] = field(default_factory=list)
    sound: list[Mask] = field(default_factory=list)
    """Pairs neither blank nor damaged. The others are not checked for language or length before they are repaired."""
    compared: dict[str, tuple[Hashes, Hashes]] = field(default_factory=dict)
    """For each kind that compares pairs: the hashes that must be equal, and the hashes that must differ."""

    def note(self, kind: str, which: Mask | Sequence[int], side: int = BOTH_SIDES) -> None:
        """Record that these pairs of the current chunk (of all pairs, after the last chunk) are of this kind."""
        places = np.flatnonzero(which) if isinstance(which, np.ndarray) else np.array(which, dtype=np.int64)
        if len(places):
            self.lines[kind, side].append(places + self.n + 1)

    def examine_chunk(self, chunk: Sequence[RawPair]) -> None:
        sides = _sides(chunk)
        malformed = np.zeros(len(chunk), dtype=bool)
        if self.tsv:
            malformed |= [source.startswith(NOT_TWO_COLUMNS) for source, _ in chunk]
        blank = (sides[0].blank() | sides[1].blank()) & ~malformed
        self.note("columns", malformed)
        self.note("blank", blank)
        sound = ~(blank | malformed)
        for side, lines in enumerate(sides):
            sound &= ~self._damaged(lines, side)
            characters = lines.characters()
            self.note("too-long", (characters > MAX_CHARACTERS) | (lines.words() > MAX_WORDS), side)
            self.traits[side].append(
                Traits(
                    np.minimum(characters, 65_535).astype(np.uint16), lines.digits().astype(np.int32), lines.has("?")
                )
            )
        self._compare(*sides, sound)
        prints = Fingerprints.of(*sides)
        for kind, mask in self.test.shared(prints):
            self.note(kind, mask & ~blank)
        self.prints.append(prints)
        self.sound.append(sound)
        self.n += len(chunk)

    def _damaged(self, lines: Lines, side: int) -> Mask:
        not_utf8 = lines.not_utf8()
        self.note("not-utf8", not_utf8.tolist(), side)
        found = defaultdict(list)
        for place in np.setdiff1d(lines.suspects(), not_utf8).tolist():
            for kind in damages(lines.lines[place].decode()):
                found[kind].append(place)
        for kind, places in found.items():
            self.note(kind, places, side)
        damaged = np.zeros(len(lines.lines), dtype=bool)
        damaged[not_utf8] = True
        for kind, places in found.items():
            damaged[places] |= KINDS[kind].fault
        return damaged

    def _compare(self, source: Lines, target: Lines, sound: Mask) -> None:
        """Check whether the two sides of each pair are the same, and in the right languages."""
        lettered = source.lettered() & target.lettered()
        self.note("no-letters", ~lettered & sound)
        same = (hashes(source.folded) == hashes(target.folded)) & lettered & sound
        if not self.profile.distinct:  # in a spelling-correction corpus, many pairs are rightly the same
            self.note("short-copy", same)
            return
        doubtful = sound & ~same
        doubtful &= self.profile.doubtful(source, 0) | self.profile.doubtful(target, 1)
        at = np.flatnonzero(doubtful)
        rests = [without_shared_words(source.lines[place], target.lines[place]) for place in at.tolist()]
        own = Lines([rest[0] for rest in rests]), Lines([rest[1] for rest in rests])
        # Nearly the same, and the other words do not show two languages ("Tom is in Boston. – Tom ist in Boston.").
        alike = np.array([rest[2] >= COPY_WORD_SHARE for rest in rests], dtype=bool) & ~self.profile.in_order(*own)
        same[at[alike]] = True
        text = np.array(
            [
                place
                for place in np.flatnonzero(same).tolist()
                if lowercase_words(source.lines[place]) > SHORT_COPY_WORDS
            ]
        )
        self.note("copy", text.tolist())
        self.note("short-copy", np.setdiff1d(np.flatnonzero(same), text).tolist())
        swapped = self.profile.swapped(*own) & ~alike
        self.note("swapped", at[swapped].tolist())
        for side in (0, 1):
            foreign = self.profile.foreign(own[side], side) & ~swapped & ~alike
            self.note("wrong-language", at[foreign].tolist(), side)

    def findings(self, n_source: int, n_target: int) -> list[Finding]:
        """Return all findings, in the order of `KINDS`."""
        note_of = {"not-utf8": "to convert a whole file from another encoding: iconv -f latin1 -t utf-8"}
        self.n = 0
        source, target = (
            Traits(
                *(
                    np.concatenate([getattr(part, name) for part in parts])
                    for name in ("characters", "digits", "questions")
                )
            )
            for parts in self.traits
        )
        source, target = source.cut(n_source), target.cut(n_target)
        alignment = align(source, target)
        if alignment.stretches is None:
            self.notes += ("shifts: line lengths do not tell which lines belong together",)
        if n_source != n_target:
            return [
                Finding(
                    KINDS["line-count"], _rest(n_source, n_target), _describe_line_count(alignment, n_source, n_target)
                )
            ]
        if alignment.unrelated:
            self.note("unrelated", np.ones(n_source, dtype=bool))
            note_of["unrelated"] = (
                f"the lengths of lines and their translations have a correlation of only {alignment.correlation:.2f}"
            )
        away = [stretch for stretch in alignment.stretches or () if stretch.shift]
        shifted = np.zeros(n_source, dtype=bool)
        for stretch in away:
            shifted[stretch.begin : stretch.end] = True
        self.note("shifted", shifted)
        note_of["shifted"] = "\n".join(map(_describe, away))

        sound = np.concatenate(self.sound) & ~shifted
        ratios = log_ratios(source.characters, target.characters)
        odd = np.zeros(n_source, dtype=bool)
        odd[sound] = outliers(ratios[sound])
        self.note("length-ratio", odd)
        if odd.any():
            usual = float(np.exp(np.median(ratios[sound])))
            note_of["length-ratio"] = f"a target usually has {usual:.2f} times the characters of its source"
        self._repeats(note_of)
        if self.test.exchanged:
            self.note("exchanged-files", np.ones(n_source, dtype=bool))
            note_of["exchanged-files"] = "the test source looks like this target, and the test target like this source"
        return [
            Finding(kind, lines, note_of.get(kind.name, ""))
            for kind in KINDS.values()
            if len(lines := self.lines_of(kind.name))
        ]

    def _repeats(self, note_of: dict[str, str]) -> None:
        prints = Fingerprints.joined(self.prints)
        blank = np.zeros(len(prints.pair), dtype=bool)
        for kind in ("blank", "columns"):
            blank[self.lines_of(kind) - 1] = True
        again = repeated(prints.pair) & ~blank
        self.note("duplicate", again)
        self.note("near-duplicate", repeated(prints.folded_pair) & ~again & ~blank)
        self.compared = {
            "near-duplicate": (prints.folded_pair, prints.pair),
            "several-targets": (prints.source, prints.pair),
        }
        once = np.flatnonzero(~again & ~blank)
        several = once[repeated_or_first(prints.source[once])]
        self.note("several-targets", several.tolist())
        note_of["several-targets"] = f"{len(np.unique(prints.source[several])):,} different sources"
        kinds = ("pair-in-test", "source-in-test", "near-test")
        lines = np.concatenate([self.lines_of(kind) for kind in kinds])
        touched = self.test.touched(prints.folded_source[lines - 1])
        note = f"{touched:,} of {len(self.test):,} test sentences are in the training text in one of these ways"
        note_of |= dict.fromkeys([kind for kind in kinds if len(self.lines_of(kind))][:1], note)

    def other(self, kind: str, line: int) -> int | None:
        """Return the first line that a pair of this kind was compared with; None if the kind compares no pairs."""
        if kind not in self.compared:
            return None
        same, differ = self.compared[kind]
        others = np.flatnonzero((same == same[line - 1]) & (differ != differ[line - 1]))
        return int(others[0]) + 1

    def lines_of(self, kind: str, *sides: int) -> Ints:
        parts = [part for side in sides or (0, 1, BOTH_SIDES) for part in self.lines.get((kind, side), [])]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))


def _sides(chunk: Sequence[RawPair]) -> tuple[Lines, Lines]:
    return Lines([source for source, _ in chunk]), Lines([target for _, target in chunk])


def _kept(finding: Finding) -> Finding:
    return replace(finding, kind=replace(finding.kind, fault=False, fix=KEPT))


def _rest(n_source: int, n_target: int) -> Ints:
    """Return the numbers of the lines that only one file has."""
    return np.arange(min(n_source, n_target), max(n_source, n_target)) + 1


def _describe(stretch: Stretch) -> str:
    lines = f"{abs(stretch.shift)} line{'s' * (abs(stretch.shift) > 1)}"
    where = f"from about line {stretch.begin + 1:,} to {stretch.end:,} the target runs {lines}"
    example = (stretch.begin + stretch.end) // 2 + 1
    return (
        f"{where} {'behind' if stretch.shift > 0 else 'ahead'}:\n"
        f"source line {example:,} is translated by target line {example + stretch.shift:,}"
    )


def _describe_line_count(alignment: Alignment, n_source: int, n_target: int) -> str:
    longer, extra = ("source", n_source - n_target) if n_source > n_target else ("target", n_target - n_source)
    counts = f"the source has {n_source:,} lines, the target {n_target:,}"
    if alignment.stretches is None:
        return f"{counts};\ntheir lengths do not tell where they diverge"
    away = [stretch for stretch in alignment.stretches if stretch.shift]
    if not away:
        return f"{counts};\nthey match up to the end of the shorter file, so the {longer} has {extra:,} more at its end"
    return "\n".join([counts, *map(_describe, away)])


def _examples(
    text: ParallelText, findings: Sequence[Finding], examiner: _Examiner, progress: Progress
) -> dict[str, tuple[Example, ...]]:
    """Return a few pairs of each kind with their text, spread over the file."""
    chosen = {
        finding.kind.name: [
            int(finding.lines[place])
            for place in np.unique(np.linspace(0, finding.count - 1, min(EXAMPLES_PER_KIND, finding.count)).astype(int))
        ]
        for finding in findings
    }
    others = {(kind, line): examiner.other(kind, line) for kind, lines in chosen.items() for line in lines}
    wanted = {line for pair in others.items() for line in (pair[0][1], pair[1]) if line is not None}
    pairs = _fetch(text, wanted, progress)

    def example(kind: str, line: int, other: int | None = None) -> Example:
        sides = [side for side in (0, 1) if line in examiner.lines_of(kind, side)]
        side = ("source", "target")[sides[0]] if len(sides) == 1 else ""
        source, target = map(_text, pairs[line])
        return Example(line, side, source, target, None if other is None else example(kind, other))

    return {kind: tuple(example(kind, line, others[kind, line]) for line in lines) for kind, lines in chosen.items()}


def _fetch(text: ParallelText, wanted: Collection[int], progress: Progress) -> dict[int, RawPair]:
    """Read the text of these lines."""
    last, read = max(wanted, default=0), 0
    found: dict[int, RawPair] = {}
    for chunk in progress(chunks(text), last, "fetching examples") if last else ():
        found |= {line: pair for line, pair in enumerate(chunk, read + 1) if line in wanted}
        read += len(chunk)
        if read >= last:
            break
    return found


def _text(line: bytes) -> str:
    text = line.removeprefix(NOT_TWO_COLUMNS).decode("utf-8", "backslashreplace")
    place = first_damage(text) if is_utf8(line) else text.index("\\x")
    begin = max(0, place - CHARACTERS_BEFORE_DAMAGE)
    return "…" * (begin > 0) + text[begin : begin + EXAMPLE_CHARACTERS] + "…" * (len(text) > begin + EXAMPLE_CHARACTERS)
