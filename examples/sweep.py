"""Try several settings at once: python examples/sweep.py model.pth [URL]."""

import sys

import cnet

file = sys.argv[1]
server = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8000"

with cnet.Client(server) as client:
    checkpoint = client.upload_checkpoint(file)
    study = client.submit_study(
        {"checkpoint": checkpoint.id, "quantize": {"name": "auto"}},
        {"quantize.quality": ["safe", "small", "smallest"]},
    )
    study.wait()
    table = study.results().to_pandas()

print(table.sort_values("bytes_total")[["quantize.quality", "ratio", "snr_db", "bytes_total", "job"]].to_string())
