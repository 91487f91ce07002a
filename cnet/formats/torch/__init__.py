"""Files of ``torch.save``, read without running any code of theirs, and written."""
