"""A store and a results folder, filled by hand with old and young files."""

import os
import time

from clipaudit.lineage.keeping.collection import collect
from clipaudit.store.actions import ActionCache, ActionOutput
from clipaudit.store.placements import Placement, place
from clipaudit.store.roots import register
from clipaudit.store.store import Store, replace_text

DAY = 86_400
WEEK = 7 * DAY


class World:
    """A store and a registered results folder, filled by hand."""

    def __init__(self, folder):
        self.folder, self.store, self.results = folder, Store(folder / "store"), folder / "results"
        self.results.mkdir(parents=True)
        register(self.store, self.results)

    def act(self, key, *contents, days=0):
        """Store an action and its outputs, dated some days ago."""
        outputs = {
            str(number): ActionOutput(self.put(content, days=days), ".txt", {})
            for number, content in enumerate(contents)
        }
        ActionCache(self.store).record(key, outputs)
        self.age(self.store.root / "actions" / key[:2] / f"{key[2:]}.json", days)
        return outputs

    def put(self, content, days=0):
        pointer = self.store.put_bytes(content.encode(), schema="txt")
        self.age(self.store.path(pointer.digest), days)
        return pointer

    def point(self, name, key, output):
        path = self.results / f"{name}.json"
        place(self.results, path, Placement(key, "0", {}))
        replace_text(path, output.pointer.to_json())
        return path

    def age(self, path, days):
        when = time.time() - days * DAY
        os.utime(path, (when, when))

    def collect(self, **options):
        return collect(self.store, **{"grace": WEEK, "delete": True, **options})

    def contents(self):
        """Return the contents of the remaining objects."""
        return {path.read_text() for path in self.store.root.glob("objects/??/*")}

    def keys(self):
        actions = self.store.root / "actions"
        return {path.parent.name + path.stem for path in actions.glob("??/*.json")}


def key(number):
    return f"{number:02x}" * 32
