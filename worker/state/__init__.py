"""What a job resumes from: kept where the next attempt finds it, on this machine or on another."""

from worker.state.states import JobStates, open_states

__all__ = ["JobStates", "open_states"]
