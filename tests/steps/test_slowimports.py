"""Slow libraries stay out of jobs that do not need them, and come back for those that do."""

import subprocess
import sys
from importlib.util import find_spec

from clipaudit.steps.slowimports import hide_slow_imports


def run(script):
    hide = (
        "import sys\nfrom clipaudit.steps.slowimports import hide_slow_imports, show_slow_imports\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", hide + script], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr) == (0, "")


def test_open_clip_does_without_transformers_until_they_are_shown():
    run(
        "import types\n"
        "hide_slow_imports()\n"
        "import open_clip.hf_model as user\n"
        "assert user.transformers is None\n"
        "show_slow_imports()\n"
        "assert isinstance(user.transformers, types.ModuleType)\n"
    )


def test_pyarrow_does_without_pandas():
    run(
        "hide_slow_imports()\n"
        "import pyarrow as pa\n"
        "assert pa.table({'a': [1, 2]}).to_pylist() == [{'a': 1}, {'a': 2}]\n"
        "assert 'pandas' not in sys.modules\n"
    )


def test_what_is_hidden_is_as_if_it_were_not_installed():
    run(
        "from importlib.util import find_spec\n"
        "hide_slow_imports()\n"
        "hide_slow_imports()\n"
        "assert find_spec('pandas') is None and find_spec('numpy') is not None\n"
        "show_slow_imports()\n"
        "assert find_spec('pandas') is not None\n"
    )


def test_what_is_imported_already_stays():
    run(
        "import transformers\n"
        "hide_slow_imports()\n"
        "assert sys.modules['transformers'] is transformers\n"
    )


def test_what_is_shown_for_a_while_is_hidden_again():
    run(
        "from clipaudit.steps.slowimports import slow_imports_shown\n"
        "from importlib.util import find_spec\n"
        "hide_slow_imports()\n"
        "with slow_imports_shown():\n"
        "    assert find_spec('pandas') is not None\n"
        "assert find_spec('pandas') is None\n"
    )


def test_torchvision_does_without_torchs_compiler_until_it_is_asked():
    run(
        "hide_slow_imports()\n"
        "import torchvision\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "roi_align = sys.modules['torchvision.ops.roi_align']\n"
        "assert roi_align.is_compile_supported('cpu') in (True, False)\n"
        "from torch._dynamo.utils import is_compile_supported\n"
        "assert is_compile_supported('cpu') == roi_align.is_compile_supported('cpu')\n"
    )


def test_torchvision_takes_a_compiler_that_is_there():
    run(
        "hide_slow_imports()\n"
        "from torch._dynamo.utils import is_compile_supported\n"
        "import torchvision\n"
        "roi_align = sys.modules['torchvision.ops.roi_align']\n"
        "assert roi_align.is_compile_supported is is_compile_supported\n"
    )


def test_open_clip_does_without_timm_until_it_is_shown():
    run(
        "import types\n"
        "hide_slow_imports()\n"
        "import open_clip.timm_model as user\n"
        "assert user.timm is None\n"
        "import timm\n"
        "show_slow_imports()\n"
        "assert user.timm is timm\n"
    )


def test_a_vision_tower_of_timm_shows_it():
    definition = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 160, "timm_model_name": "test_resnet"},
        "text_cfg": {"context_length": 12, "width": 16, "heads": 2, "layers": 1},
    }
    run(
        "hide_slow_imports()\n"
        "from clipaudit.config.training import Architecture\n"
        "from clipaudit.models.clip import build\n"
        f"tower = build(Architecture(definition={definition}), seed=1).model.visual.trunk\n"
        "assert type(tower).__module__.startswith('timm.')\n"
    )


def test_namespace_packages_are_found(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    hide_slow_imports()

    assert find_spec("mpl_toolkits.mplot3d") is not None


def test_large_libraries_are_not_searched_for_garbage():
    run(
        "import gc\n"
        "hide_slow_imports()\n"
        "import duckdb, torch\n"  # duckdb tells at exit of what is still there
        "assert gc.isenabled() and gc.get_freeze_count() > 10_000\n"
    )


def test_a_step_with_an_encoder_leaves_slow_libraries_out():
    run(
        "hide_slow_imports()\n"
        "import clipaudit.models.encoders, clipaudit.embeddings.embedding\n"
        "import clipaudit.evaluation.evaluation\n"
        "from clipaudit.models.clip import use_device\n"
        "use_device('cpu', threads=1)\n"
        "slow = {'pandas', 'timm', 'torch._dynamo', 'torch._inductor', 'transformers'}\n"
        "assert slow.isdisjoint(sys.modules)\n"
    )
