"""Which point wins, and which points to make where a job names a target and leaves something open."""

from cnet.search.forecast import Forecast
from cnet.search.grid import Candidate, Grid, open_document, searches
from cnet.search.proposal import Conditions, candidates
from cnet.search.selection import DEFAULT_DROP, meets, select

__all__ = [
    "DEFAULT_DROP",
    "Candidate",
    "Conditions",
    "Forecast",
    "Grid",
    "candidates",
    "meets",
    "open_document",
    "searches",
    "select",
]
