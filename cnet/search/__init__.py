"""Selection of the best point, and the search for it where a job has a target and leaves a field unset."""

from cnet.search.forecast import Forecast
from cnet.search.grid import Candidate, CandidateGrid, is_searched, resolved_document
from cnet.search.proposal import SearchInputs, propose_candidates
from cnet.search.selection import DEFAULT_DROP, meets_target, select_point
from cnet.search.telling import tell_beginning, tell_end, tell_next

__all__ = [
    "DEFAULT_DROP",
    "Candidate",
    "CandidateGrid",
    "Forecast",
    "SearchInputs",
    "is_searched",
    "meets_target",
    "propose_candidates",
    "resolved_document",
    "select_point",
    "tell_beginning",
    "tell_end",
    "tell_next",
]
