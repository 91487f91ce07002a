"""Data sets: labelled images to train and evaluate on. One built-in data set, one file; no file here imports torch."""

from cnet.data.dataset import DATASETS, BuiltinDataset, Dataset

__all__ = ["DATASETS", "BuiltinDataset", "Dataset"]
