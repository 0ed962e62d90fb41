import argparse
from pathlib import Path

from heed.cli import demo
from heed.config import preset


def test_the_demo_trains_the_tiny_model(tmp_path: Path) -> None:
    config = demo.demo_config(tmp_path, seed=3)
    assert config.preset == "tiny"
    tiny = preset("tiny").model
    assert (config.model.encoder_layers, config.model.decoder_layers) == (tiny.encoder_layers, tiny.decoder_layers)
    assert (config.model.d_model, config.model.d_ff, config.model.h) == (tiny.d_model, tiny.d_ff, tiny.h)
    assert config.train.seed == 3
    assert Path(config.data.train_source).parent == tmp_path


def test_a_second_demo_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    made = []
    for _ in range(3):
        made.append(demo._fresh(tmp_path / "demo"))
        made[-1].mkdir()
    assert [path.name for path in made] == ["demo", "demo-2", "demo-3"]


def test_defaults() -> None:
    parser = argparse.ArgumentParser()
    demo.configure(parser)
    args = parser.parse_args([])
    assert (args.folder, args.seed) == (Path("runs"), 1)
