"""File formats of uploaded data sets, one file for each format (``cnet.data.DATASET_FORMATS``)."""
