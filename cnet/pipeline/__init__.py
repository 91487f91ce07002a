"""The pipeline: from a job's specification and inputs to points and their bundles."""

from cnet.pipeline.inputs import Inputs, Outcome, RunObserver, SharedTrainings, SilentRunObserver, StreamingSizes
from cnet.pipeline.procedure import run

__all__ = ["Inputs", "Outcome", "RunObserver", "SharedTrainings", "SilentRunObserver", "StreamingSizes", "run"]
