"""Write docs/config.md from src/heed/config.py: `make docs`. A test checks that it is up to date."""

import inspect
from dataclasses import fields
from pathlib import Path

from heed import config


def render() -> str:
    out = [
        "# Every setting",
        "",
        "Generated from `src/heed/config.py` by `make docs`. The defaults are the paper's base model; the list at the",
        "end says what the other presets change. Set a key with `--set section.key=value`, or in a TOML file:",
        "",
        "```toml",
        'preset = "tiny"',
        "",
        "[train]",
        "max_steps = 600",
        "```",
        "",
    ]
    base = config.base()
    for section in (field.name for field in fields(config.Config) if field.name != "preset"):
        kind = type(getattr(base, section))
        out += [
            f"## [{section}]",
            "",
            str(inspect.getdoc(kind)),
            "",
            "| key | type | default | |",
            "| --- | --- | --- | --- |",
        ]
        for setting in config.all_settings():
            if setting.section == section:
                type_ = setting.type.replace("|", "or").replace("Literal[", "").replace("]", "")
                out.append(f"| `{setting.key}` | {type_} | `{setting.default}` | {setting.meaning} |")
        out.append("")
    out += ["## Presets", "", "A preset's name never changes its meaning; an improved one gets a new name.", ""]
    for name, preset in config.PRESETS.items():
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
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "config.md").write_text(render(), encoding="utf-8")
