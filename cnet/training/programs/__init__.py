"""Programs as PyTorch modules: built from the normal form, trained and evaluated like any other network."""

from cnet.training.programs.examples import example_inputs_of, fitting_examples
from cnet.training.programs.export import ExportReport, export_program, flat_tensors
from cnet.training.programs.module import ProgramModule

__all__ = [
    "ExportReport",
    "ProgramModule",
    "example_inputs_of",
    "export_program",
    "fitting_examples",
    "flat_tensors",
]
