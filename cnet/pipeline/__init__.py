"""The pipeline: a job's spec and inputs in, points and bundles out."""

from cnet.pipeline.interface import Inputs, Outcome, RunObserver, SilentRun
from cnet.pipeline.running import run

__all__ = ["Inputs", "Outcome", "RunObserver", "SilentRun", "run"]
