"""File formats of uploaded data sets, one file a format (``cnet.data.DATASET_FORMATS``)."""
