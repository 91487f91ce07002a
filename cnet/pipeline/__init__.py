"""The pipeline: a job's spec and inputs in, points and bundles out."""

from cnet.pipeline.inputs import Inputs, Outcome, RunObserver, SilentRun
from cnet.pipeline.procedure import run

__all__ = ["Inputs", "Outcome", "RunObserver", "SilentRun", "run"]
