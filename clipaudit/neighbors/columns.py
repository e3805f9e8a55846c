"""Keeps the k nearest train samples of every query, sorted, while candidates stream in."""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from clipaudit.neighbors.interface import TopK
from clipaudit.neighbors.merging import empty

_CELLS = 1 << 25  # candidates sorted at once, with gaps where a query has few: 1 GB


class Columns:
    """The state of the column direction: exact similarities and addresses, best first."""

    def __init__(self, q: int, k: int, device: str) -> None:
        """Start with no train samples."""
        nobody = empty(q, k)
        self._similarity = torch.from_numpy(nobody.similarity).to(device)
        self._address = torch.from_numpy(nobody.address).to(device)
        self._k = k

    def kth(self, start: int, stop: int) -> Float64[Tensor, " w"]:
        """Return the value that candidates of these queries must reach: their k-th best so far."""
        return self._similarity[start:stop, -1]

    def fold(
        self,
        queries: Int64[Tensor, " m"],
        similarity: Float64[Tensor, " m"],
        address: Int64[Tensor, " m"],
    ) -> None:
        """Add candidates to their query's k nearest if they are near enough."""
        live = similarity >= self._similarity[queries, -1]
        queries, similarity, address = queries[live], similarity[live], address[live]
        if len(queries) == 0:
            return
        queries, order = queries.sort(stable=True)
        similarity, address = similarity[order], address[order]
        touched, slot, counts = torch.unique_consecutive(
            queries, return_inverse=True, return_counts=True
        )
        width = self._k + int(counts.max())
        if len(touched) > 1 and len(touched) * width > _CELLS:
            half = int(counts[: len(touched) // 2].sum())
            for part in (slice(half), slice(half, None)):
                self.fold(queries[part], similarity[part], address[part])
            return
        place = torch.arange(len(queries), device=queries.device)
        place += self._k - (counts.cumsum(0) - counts)[slot]  # after the query's k nearest so far
        similarities = similarity.new_full((len(touched), width), -torch.inf)
        addresses = address.new_full((len(touched), width), -1)
        similarities[:, : self._k] = self._similarity[touched]
        addresses[:, : self._k] = self._address[touched]
        similarities[slot, place] = similarity
        addresses[slot, place] = address
        if not self._rise(touched, queries, address):
            addresses, by_address = addresses.sort(dim=1)
            similarities = similarities.gather(1, by_address)
        similarities, best = similarities.sort(dim=1, descending=True, stable=True)
        self._similarity[touched] = similarities[:, : self._k]
        self._address[touched] = addresses.gather(1, best[:, : self._k])

    def _rise(
        self, touched: Int64[Tensor, " t"], queries: Int64[Tensor, " m"], address: Tensor
    ) -> bool:
        """Return whether every query's candidates are sorted by address, after all it has so far.

        Stable sorting by similarity then keeps ties in the order of their addresses.
        """
        rises = address.diff() > 0
        rises |= queries.diff() > 0
        return bool(rises.all()) and bool(self._address[touched].max() < address.min())

    def top(self) -> TopK:
        """Return a copy of the state as arrays."""
        return TopK(self._similarity.cpu().numpy().copy(), self._address.cpu().numpy().copy())
