"""List everything the doctor can find, in the order of the report."""

from dataclasses import dataclass

DROPPED, REPAIRED, KEPT, REFUSED = "dropped", "repaired", "kept", "refused"


@dataclass(frozen=True)
class Kind:
    name: str
    title: str
    fix: str  # what --fix does with such a pair
    fault: bool = True  # False: worth knowing, but not wrong


KINDS = {
    kind.name: kind
    for kind in (
        Kind("line-count", "files of different length", REFUSED),
        Kind("unrelated", "lines that do not belong together", REFUSED),
        Kind("exchanged-files", "source and target exchanged", REFUSED),
        Kind("shifted", "lines shifted against each other", DROPPED),
        Kind("columns", "not two columns", DROPPED),
        Kind("not-utf8", "not UTF-8", DROPPED),
        Kind("replacement", "replacement character U+FFFD", DROPPED),
        Kind("private-use", "private-use characters", DROPPED),
        Kind("mojibake", "UTF-8 read as Latin-1 (Ã¼, â€™)", REPAIRED),
        Kind("double-entity", "HTML escaped twice (&amp;quot;)", REPAIRED),
        Kind("control", "control characters", REPAIRED),
        Kind("byte-order-mark", "byte-order mark inside the text", REPAIRED),
        Kind("blank", "blank on one side or both", DROPPED),
        Kind("too-long", "very long line", DROPPED),
        Kind("swapped", "languages swapped", DROPPED),
        Kind("wrong-language", "a side in the wrong language", DROPPED),
        Kind("copy", "not translated (both sides the same)", DROPPED),
        Kind("length-ratio", "lengths that do not match", DROPPED),
        Kind("duplicate", "duplicate pair", DROPPED),
        Kind("pair-in-test", "pair is in the test text", DROPPED),
        Kind("source-in-test", "source is in the test text", DROPPED),
        Kind("near-test", "source is nearly in the test text", DROPPED),
        Kind("near-duplicate", "nearly duplicate pair", KEPT, fault=False),
        Kind("several-targets", "a source with several targets", KEPT, fault=False),
        Kind("short-copy", "both sides the same, perhaps rightly", KEPT, fault=False),
        Kind("no-letters", "only numbers and punctuation", KEPT, fault=False),
        Kind("entity", "HTML entities (&quot;)", KEPT, fault=False),
    )
}
