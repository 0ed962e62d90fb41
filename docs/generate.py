"""Write docs/config.md from src/heed/config.py and presets.py: `make docs`. A test checks that it is up to date."""

import inspect
from dataclasses import fields
from pathlib import Path

from heed import config, presets

_HEAD = ["| key | type | default | |", "| --- | --- | --- | --- |"]


def _row(setting: config.Setting) -> str:
    type_ = setting.type.replace("|", "or").replace("Literal[", "").replace("]", "")
    type_ = "tables" if type_.startswith("tuple") else type_
    return f"| `{setting.key}` | {type_} | `{setting.default}` | {setting.meaning} |"


def render() -> str:
    out = [
        "# Every setting",
        "",
        "This page lists every setting of a training, its default and its meaning. The defaults are the paper's base",
        "model; the [presets](#presets) `quick`, `tiny`, `swift`, `small` and `big` change the ones listed with them.",
        "Change a setting with `--set section.key=value`, or in a TOML file:",
        "",
        "```toml",
        'preset = "tiny"',
        "",
        "[train]",
        "max_steps = 600",
        "```",
        "",
        "`heed train --preset tiny --settings` prints the same list with the values of a preset, file or option.",
        "`make docs` generates this page from `src/heed/config.py` and `presets.py`.",
        "",
    ]
    base = presets.base()
    for section in (field.name for field in fields(config.Config) if field.name != "preset"):
        kind = type(getattr(base, section))
        out += [
            f"## [{section}]",
            "",
            str(inspect.getdoc(kind)),
            "",
            *_HEAD,
        ]
        out += [*map(_row, config.settings_of(section, kind)), ""]
        if section == "data":
            out += [
                "Each `[[data.train]]` has these keys; [train.md](train.md#several-corpora) has an example.",
                "",
                *_HEAD,
                *map(_row, config.settings_of("data.train", config.TrainingText)),
                "",
            ]
    out += ["## Presets", "", "A preset never changes its meaning; an improved one gets a new name.", ""]
    for name, preset in presets.PRESETS.items():
        made = preset().to_dict()
        changed = [
            f"`{section}.{key} = {value}`"
            for section, values in made.items()
            if section != "preset"
            for key, value in values.items()
            if value != base.to_dict()[section][key]
        ]
        first_line = str(inspect.getdoc(preset)).splitlines()[0]
        out.append(f"- **{name}**: {first_line} {', '.join(changed) or 'All the defaults above.'}")
    rows = ", ".join(f"`table3-{row}`" for row in presets.TABLE_3)
    out.append(f"- {rows}: {inspect.getdoc(presets.table3)} ([experiments](experiments.md#table-3))")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "config.md").write_text(render(), encoding="utf-8")
