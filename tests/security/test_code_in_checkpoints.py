"""A stranger's checkpoint is read as data; code in it is refused."""

import json
import os
import pickle

import pytest
import torch

from clipaudit.errors import InputError, StoreError
from clipaudit.models.clip import from_directory, from_pretrained, load_weights, weights_bytes
from clipaudit.training.optimization import Optimization
from clipaudit.training.state import FILE_NAME, load_state

BRINGS_CODE = {
    "tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["theirs.Theirs", None]}},
    "config.json": {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Theirs"}},
}


class Hostile:
    """A pickle that creates a folder when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def trace(tmp_path):
    """Return the folder that a checkpoint creates if its code runs."""
    return tmp_path / "its code ran"


@pytest.fixture
def encoder(architecture, clip, tmp_path, trace, monkeypatch):
    """Return a function: a folder with weights, a Python file and more keys in its text_cfg."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))

    def make(**text):
        folder = tmp_path / "encoder"
        folder.mkdir()
        definition = {**architecture.definition}
        definition["text_cfg"] = {**definition["text_cfg"], **text}
        (folder / "open_clip_model.safetensors").write_bytes(weights_bytes(clip.model))
        for name, content in BRINGS_CODE.items():
            (folder / name).write_text(json.dumps(content))
        (folder / "theirs.py").write_text(
            f"import os\nos.mkdir({str(trace)!r})\nclass Theirs: pass"
        )
        config = {"model_cfg": definition}
        (folder / "open_clip_config.json").write_text(json.dumps(config))
        return folder

    return make


def test_a_checkpoint_cannot_request_that_its_code_runs(encoder, trace):
    folder = encoder(hf_tokenizer_name="any", tokenizer_kwargs={"trust_remote_code": True})

    with pytest.raises(InputError, match="clipaudit runs no code of a checkpoint: remove the key"):
        from_directory(folder)

    assert not trace.exists()


def test_a_tokenizer_with_code_is_refused_without_a_prompt(encoder, trace):
    folder = encoder(hf_tokenizer_name="any")

    with pytest.raises(InputError, match=r"its tokenizer cannot be read: .*contains custom code"):
        from_directory(folder)

    assert not trace.exists()


def test_a_text_model_with_code_is_refused_without_a_prompt(encoder, trace, tmp_path):
    folder = encoder(hf_model_name=str(tmp_path / "encoder"))

    with pytest.raises(InputError, match="needs code of its own, which clipaudit does not run"):
        from_directory(folder)

    assert not trace.exists()


def pickled(content, path):
    path.write_bytes(pickle.dumps(content, protocol=2))


@pytest.mark.parametrize("name", ["theirs.pt", "theirs.bin", "theirs.safetensors"])
@pytest.mark.parametrize("write", [torch.save, pickled])
def test_a_pickle_is_refused_whatever_its_name(architecture, tmp_path, trace, name, write):
    path = tmp_path / name
    write(Hostile(trace), path)

    with pytest.raises(InputError, match="not a checkpoint of only weights"):
        from_pretrained(architecture, str(path))

    assert not trace.exists()


def test_our_own_files_are_read_only_as_safetensors(clip, tmp_path, trace):
    torch.save(Hostile(trace), tmp_path / "model")

    with pytest.raises(InputError, match="not a safetensors file"):
        load_weights(clip.model, tmp_path / "model")

    assert not trace.exists()


def test_the_state_of_a_training_run_in_a_shared_store_runs_nothing(clip, tmp_path, trace):
    torch.save(Hostile(trace), tmp_path / FILE_NAME)
    optimizer = torch.optim.AdamW(clip.model.parameters())
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    work = Optimization(clip.model, optimizer, float, scaler, lambda *_: iter(()))

    with pytest.raises(StoreError, match=r"(?s)is damaged .* Delete it"):
        load_state(tmp_path, identity="any", work=work)

    assert not trace.exists()


def test_a_folder_cannot_request_a_download(encoder, monkeypatch):
    folder = encoder()
    config = json.loads((folder / "open_clip_config.json").read_text())
    asks = {"timm_model_name": "resnet18", "timm_model_pretrained": True, "image_size": 32}
    config["model_cfg"]["vision_cfg"] = asks
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    monkeypatch.setattr(
        "timm.models._builder.load_pretrained", lambda *_, **__: pytest.fail("asked")
    )

    with pytest.raises(InputError, match="do not fit the architecture"):
        from_directory(folder)
