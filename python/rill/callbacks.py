"""Types of the functions in Python that a search calls; views.py has the classes of their arguments, which need NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .hooks import TraceEvent
    from .views import Candidates, Modifiers, SchedView, ScorerRows

#: Prunes the candidates of a timestep: writes to candidates.keep, .width or .stop.
Heuristic = Callable[["Candidates"], None]

#: Changes the scores of a timestep's hypotheses (rows) through its second argument.
Scorer = Callable[["ScorerRows", "Modifiers"], None]

#: Is called with each event of a search.
Trace = Callable[["TraceEvent"], object]


class Scheduler(Protocol):
    """Chooses the items of each timestep. Answers do not depend on it.

    If its attribute `overdue_first` is true, items left out for long go first. Otherwise the order of `choose()` is
    kept exactly.
    """

    def choose(self, view: SchedView, /) -> Sequence[int]:
        """Choose the items of the next timestep.

        Args:
            view: The items in flight.

        Returns:
            Their indexes in `view`, in the order in which they get places in the batch.
        """

    def refill(self, view: SchedView, /) -> int:
        """Choose how many waiting inputs are admitted now.

        Args:
            view: The items in flight.

        Returns:
            The number of inputs.
        """
