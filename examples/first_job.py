"""Compress a checkpoint with the Python client: python examples/first_job.py model.pth [URL]."""

import sys

import cnet

file = sys.argv[1]
server = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8000"


def show(event):
    """Print the phases of the job as they begin."""
    if event.type == "phase":
        print(event["phase"])


with cnet.Client(server) as client:
    checkpoint = client.upload_checkpoint(file)
    print(f"{checkpoint.tensors} tensors, {checkpoint.parameters:,} parameters")

    job = client.submit({"checkpoint": checkpoint.id, "quantize": {"name": "auto", "quality": "safe"}})
    job.wait(on_event=show).check()  # check() raises where the job has failed

    results = job.results()
    print(results.to_pandas()[["sparsity", "ratio", "bytes_total", "snr_db"]])
    for warning in results.selected_point.warnings:
        print(f"{warning.code}: {warning.detail}")

    job.download("model.cnet.npz")

bundle = cnet.open_bundle("model.cnet.npz")  # needs NumPy alone
bundle.verify()
for name in bundle:
    print(name, bundle[name].shape)
