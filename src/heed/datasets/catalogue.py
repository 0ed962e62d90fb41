"""The data sets that `heed data get` knows, as values.

Sizes and checksums stand here only where somebody has published them or the file itself was at hand. The rest are
None or empty, and `heed data list` says so.
"""

import difflib
from dataclasses import dataclass

from heed.errors import ConfigError


@dataclass(frozen=True)
class Upstream:
    """A file as its publisher offers it."""

    url: str
    n_bytes: int | None = None  # None: not known
    checksum: str = ""  # such as "sha256:0224c7..."; empty: not known

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Text:
    """One side of a bitext: a file that is downloaded, or a member of an archive that is."""

    file: Upstream
    member: str = ""  # path inside the archive; empty: the file is the text


@dataclass(frozen=True)
class Bitext:
    """Two texts whose lines translate each other."""

    source: Text
    target: Text


@dataclass(frozen=True)
class Part:
    """A pair of files to write, such as train.en and train.de."""

    name: str
    bitexts: tuple[Bitext, ...] = ()  # written one after the other; none: only a folder (--from) can have it
    n_pairs: int | None = None  # as published; None: not known
    every: int = 0  # n: only every n-th line; -n: all lines but those; 0: all lines
    other_names: tuple[str, ...] = ()  # that line-aligned files in a folder may have
    is_optional: bool = False  # a folder (--from) need not have it

    def files(self) -> list[Upstream]:
        """List what must be downloaded for it, each file once."""
        texts = [text for bitext in self.bitexts for text in (bitext.source, bitext.target)]
        return list(dict.fromkeys(text.file for text in texts))


@dataclass(frozen=True)
class DataSet:
    """A data set by name."""

    name: str
    title: str
    source: str  # language codes, which are the endings of the files
    target: str
    pairs: str  # of training, for people
    parts: tuple[Part, ...]
    licence: str
    attribution: str
    home: str
    preset: str  # a fitting one
    valid: str = ""  # the part to validate on, if there is one

    def files(self) -> list[Upstream]:
        """List what must be downloaded, each file once."""
        return list(dict.fromkeys(file for part in self.parts for file in part.files()))


def _members(file: Upstream, source: str, target: str) -> Bitext:
    return Bitext(Text(file, source), Text(file, target))


# --- Multi30k ---------------------------------------------------------------------------------------------

# Pinned: train.en was corrected later, and published scores are from before.
_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/{}/data/task1"
_MULTI30K_RAW = _MULTI30K.format("c9be912dc05a3ebf9ae5bb5f7f58c1791cda43ab") + "/raw/"
_MULTI30K_TOK = _MULTI30K.format("7bee46bc74186b4b6254603143610f730d40bf66") + "/tok/"
_MULTI30K_TOK_FILES = {
    "train.lc.norm.tok.en": (1_837_696, "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119"),
    "train.lc.norm.tok.de": (2_150_008, "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505"),
    "val.lc.norm.tok.en": (64_608, "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec"),
    "val.lc.norm.tok.de": (77_273, "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00"),
    "test_2016_flickr.lc.norm.tok.en": (63_307, "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2"),
    "test_2016_flickr.lc.norm.tok.de": (71_917, "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4"),
}
_MULTI30K_LINES = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}


def _multi30k_tok(name: str) -> Text:
    n_bytes, sha256 = _MULTI30K_TOK_FILES[name]
    return Text(Upstream(_MULTI30K_TOK + name, n_bytes, f"sha256:{sha256}"))


MULTI30K = DataSet(
    name="multi30k",
    title="image captions, raw; also lower-cased and tokenised (.lc.norm.tok)",
    source="en",
    target="de",
    pairs="29,000",
    parts=(
        *(
            Part(
                name,
                (Bitext(*(Text(Upstream(f"{_MULTI30K_RAW}{name}.{language}.gz")) for language in ("en", "de"))),),
                n_pairs,
            )
            for name, n_pairs in _MULTI30K_LINES.items()
        ),
        *(
            Part(
                f"{name}.lc.norm.tok",
                (Bitext(*(_multi30k_tok(f"{name}.lc.norm.tok.{language}") for language in ("en", "de"))),),
                n_pairs,
                is_optional=True,
            )
            for name, n_pairs in _MULTI30K_LINES.items()
        ),
    ),
    licence="research and education only; do not redistribute",
    attribution="Elliott, Frank, Sima'an, Specia: Multi30K (2016)",
    home="https://github.com/multi30k/dataset",
    preset="tiny",
    valid="val",
)

# --- Tatoeba ----------------------------------------------------------------------------------------------

_TATOEBA = Upstream("https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12/moses/de-en.txt.zip")

TATOEBA = DataSet(
    name="tatoeba-en-de",
    title="everyday sentences, OPUS release of 2023-04-12",
    source="en",
    target="de",
    pairs="not known",
    parts=(
        Part(
            "train",
            (_members(_TATOEBA, "Tatoeba.de-en.en", "Tatoeba.de-en.de"),),
            other_names=("tatoeba.en-de", "Tatoeba.de-en"),
        ),
    ),
    licence="CC BY 2.0 FR: name tatoeba.org",
    attribution="sentences from tatoeba.org; Tiedemann: OPUS (2012)",
    home="https://tatoeba.org",
    preset="small",
)

# --- WMT 2014 ---------------------------------------------------------------------------------------------

# Sizes and sha256 as TensorFlow Datasets records them; the md5 of the test set is sacreBLEU's.
_EUROPARL_V7 = Upstream(
    "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
    657_632_379,
    "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
)
_COMMON_CRAWL = Upstream(
    "https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
    918_311_367,
    "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
)
_NEWS_COMMENTARY_V9 = Upstream(
    "https://www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
    80_418_416,
    "sha256:cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
)
_UN = Upstream(
    "https://www.statmt.org/wmt13/training-parallel-un.tgz",
    2_365_634_246,
    "sha256:29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
)
_GIGA_FREN = Upstream(
    "https://www.statmt.org/wmt10/training-giga-fren.tar",
    2_595_102_720,
    "sha256:3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
)
_DEV = Upstream(
    "https://data.statmt.org/wmt19/translation-task/dev.tgz",
    38_654_961,
    "sha256:7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
)
_TEST_2014 = Upstream("https://www.statmt.org/wmt14/test-full.tgz", None, "md5:a8cd784e006feb32ac6f3d9ec7eb389a")
_WMT_LICENCE = "free for research; each corpus has its own terms"
_WMT_ATTRIBUTION = "Bojar et al.: Findings of the 2014 Workshop on SMT, and each corpus"


def _wmt_tests(language: str) -> tuple[Part, Part]:
    """The paper's validation and test text."""
    segments = f"test-full/newstest2014-{language}en-{{}}.sgm"
    return (
        Part("newstest2013", (_members(_DEV, "dev/newstest2013.en", f"dev/newstest2013.{language}"),), 3_000),
        Part(
            "newstest2014",
            (_members(_TEST_2014, segments.format("src.en"), segments.format(f"ref.{language}")),),
            3_003,
        ),
    )


WMT14_EN_DE = DataSet(
    name="wmt14-en-de",
    title="Europarl v7, Common Crawl, News Commentary v9",
    source="en",
    target="de",
    pairs="4.5 million",
    parts=(
        Part(
            "train",
            (
                _members(_EUROPARL_V7, "training/europarl-v7.de-en.en", "training/europarl-v7.de-en.de"),
                _members(_COMMON_CRAWL, "commoncrawl.de-en.en", "commoncrawl.de-en.de"),
                _members(
                    _NEWS_COMMENTARY_V9, "training/news-commentary-v9.de-en.en", "training/news-commentary-v9.de-en.de"
                ),
            ),
        ),
        *_wmt_tests("de"),
    ),
    licence=_WMT_LICENCE,
    attribution=_WMT_ATTRIBUTION,
    home="https://www.statmt.org/wmt14/translation-task.html",
    preset="base",
    valid="newstest2013",
)

WMT14_EN_FR = DataSet(
    name="wmt14-en-fr",
    title="as wmt14-en-de, with UN and Giga-FrEn",
    source="en",
    target="fr",
    pairs="40 million",
    parts=(
        Part(
            "train",
            (
                _members(_EUROPARL_V7, "training/europarl-v7.fr-en.en", "training/europarl-v7.fr-en.fr"),
                _members(_COMMON_CRAWL, "commoncrawl.fr-en.en", "commoncrawl.fr-en.fr"),
                _members(_UN, "un/undoc.2000.fr-en.en", "un/undoc.2000.fr-en.fr"),
                _members(
                    _NEWS_COMMENTARY_V9, "training/news-commentary-v9.fr-en.en", "training/news-commentary-v9.fr-en.fr"
                ),
                _members(_GIGA_FREN, "giga-fren.release2.fixed.en.gz", "giga-fren.release2.fixed.fr.gz"),
            ),
        ),
        *_wmt_tests("fr"),
    ),
    licence=_WMT_LICENCE,
    attribution=_WMT_ATTRIBUTION,
    home="https://www.statmt.org/wmt14/translation-task.html",
    preset="big",
    valid="newstest2013",
)

# --- IWSLT 2014 -------------------------------------------------------------------------------------------

_IWSLT14 = Upstream("https://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz")
_IWSLT14_TRAIN = _members(_IWSLT14, "de-en/train.tags.de-en.de", "de-en/train.tags.de-en.en")
_IWSLT14_TESTS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")

IWSLT14 = DataSet(
    name="iwslt14-de-en",
    title="TED talks, in the usual split (every 23rd line validates)",
    source="de",
    target="en",
    pairs="160,000",
    parts=(
        Part("train", (_IWSLT14_TRAIN,), every=-23),
        Part("valid", (_IWSLT14_TRAIN,), every=23),
        Part(
            "test",
            tuple(
                _members(_IWSLT14, f"de-en/IWSLT14.{talk}.de-en.de.xml", f"de-en/IWSLT14.{talk}.de-en.en.xml")
                for talk in _IWSLT14_TESTS
            ),
        ),
    ),
    licence="CC BY-NC-ND: not for commercial use",
    attribution="Cettolo, Girardi, Federico: WIT3 (2012); TED talks, ted.com",
    home="https://wit3.fbk.eu",
    preset="small",
    valid="valid",
)

# --- Europarl ---------------------------------------------------------------------------------------------

_EUROPARL_DE_EN = Upstream("https://www.statmt.org/europarl/v7/de-en.tgz")

EUROPARL = DataSet(
    name="europarl-en-de",
    title="proceedings of the European Parliament, release 7",
    source="en",
    target="de",
    pairs="1.9 million",
    parts=(
        Part("train", (_members(_EUROPARL_DE_EN, "europarl-v7.de-en.en", "europarl-v7.de-en.de"),), 1_920_209),
        Part("dev", is_optional=True),
    ),
    licence="free to reuse, with acknowledgement",
    attribution="Koehn: Europarl (2005); European Parliament",
    home="https://www.statmt.org/europarl",
    preset="small",
    valid="dev",
)

DATA_SETS = {data.name: data for data in (MULTI30K, TATOEBA, WMT14_EN_DE, WMT14_EN_FR, IWSLT14, EUROPARL)}


def find(name: str) -> DataSet:
    """Return the data set of that name.

    Raises:
        ConfigError: there is none.
    """
    if name not in DATA_SETS:
        words = sorted(name.lower().split("-"))
        near = [known for known in DATA_SETS if sorted(known.split("-")) == words]  # languages the other way round
        near = near or difflib.get_close_matches(name.lower(), DATA_SETS, n=1, cutoff=0.5)
        there_are = f'did you mean "{near[0]}"? There are' if near else "there are"
        raise ConfigError(f'unknown data set "{name}"; {there_are}: {", ".join(DATA_SETS)}')
    return DATA_SETS[name]
