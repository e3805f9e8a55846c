"""Refuse to start a run that would exceed its limits."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clipaudit.errors import ClipauditError
from clipaudit.steps.workflow import stop_with

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def refuse_excess_of(graph: Any, config: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Stop before a run that would exceed the section `limits` of its settings."""
    if config["limits"] is None:
        return
    from clipaudit.lineage.planning.forecasts import outlook
    from clipaudit.lineage.planning.limits import needs, own_estimates, refuse_excess, room_of
    from clipaudit.steps.jobs import workflow_of

    try:
        workflow = workflow_of(graph, config)
        needed = needs(outlook(workflow), own_estimates(workflow))
        refuse_excess(needed, config["limits"], room_of(workflow.store))
    except ClipauditError as error:
        stop_with(error)


def refuse_failures_of(run: "Settings") -> None:
    """Stop before a run that its settings let fail: a model, a split, or for lack of data."""
    from clipaudit.config.loading import check_architectures, check_splits
    from clipaudit.lineage.planning.shortages import refuse_shortages

    try:
        check_architectures(run)
        check_splits(run)
        refuse_shortages(run)
    except ClipauditError as error:
        stop_with(error)
