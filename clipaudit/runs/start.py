"""The start of a run: it is refused where it would take more than its limits allow."""

from collections.abc import Mapping
from typing import Any

from clipaudit.errors import ClipauditError
from clipaudit.steps.workflow import stop_with


def refuse_excess_of(graph: Any, config: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Stop before a run that would take more than the section `limits` of its settings allows."""
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
