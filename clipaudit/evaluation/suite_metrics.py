"""Computes the metrics of DataComp that clip_benchmark lacks: WILDS's and the worst group's.

Koh et al., ICML 2021 (https://arxiv.org/abs/2012.07421); Gadre et al., NeurIPS 2023
(https://arxiv.org/abs/2304.14108), eval_utils.
"""

import numpy as np
from jaxtyping import Bool, Int64
from sklearn.metrics import f1_score

Labels = Int64[np.ndarray, " n"]


def macro_f1(predicted: Labels, labels: Labels) -> float:
    """Return the mean F1 score over the classes that occur in `labels`, at least one.

    >>> macro_f1(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1]))  # class 2 does not occur
    0.5833333333333333
    """
    return float(f1_score(labels, predicted, average="macro", labels=np.unique(labels)))


def worst_group(right: Bool[np.ndarray, " n"], groups: Labels) -> float:
    """Return the lowest share of right ones in a group; empty groups do not count.

    All others do, as in DataComp, also FMoW's region Other, which has few images and which WILDS
    leaves out.

    >>> worst_group(np.array([True, False, True]), np.array([0, 0, 3]))
    0.5
    """
    return min(float(right[groups == group].mean()) for group in np.unique(groups))
