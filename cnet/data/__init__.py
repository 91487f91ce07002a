"""Data sets: samples to train and evaluate on. No module here imports torch.

A built-in data set is one file here (``DATASETS``); a file format of uploaded data sets is one file in ``formats``
(``DATASET_FORMATS``). Plug-ins add to both.
"""

from cnet.data.dataset import DATASETS, BuiltinDataset, Dataset, Split
from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetContents, DatasetFormat

__all__ = [
    "DATASETS",
    "DATASET_FORMATS",
    "BuiltinDataset",
    "Dataset",
    "DatasetContents",
    "DatasetFile",
    "DatasetFormat",
    "Split",
]
