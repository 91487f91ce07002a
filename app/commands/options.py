"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, nothing else.")]
Server = Annotated[str, typer.Option("--server", envvar="CNET_SERVER", help="Address of the server.")]
ApiKey = Annotated[
    str | None, typer.Option("--api-key", envvar="CNET_API_KEY", show_default=False, help="Key for the server.")
]
Data = Annotated[
    Path | None, typer.Option("--data", show_default="CNET_DATA_DIR, else ./data", help="The service's data folder.")
]
Sparsity = Annotated[
    list[float] | None, typer.Option("--sparsity", help="Fraction of weights to prune, 0..1; repeat for several.")
]
Clusters = Annotated[
    list[int] | None, typer.Option("--clusters", help="Number of centroids, 1..65536; repeat for several.")
]
SpecFile = Annotated[Path | None, typer.Option("--spec", help="A job specification in JSON; other options win.")]
Method = Annotated[str | None, typer.Option("--method", help="What training adds to the loss, such as cnet.")]
Dataset = Annotated[str | None, typer.Option("--dataset", help="A built-in data set, or one of your own.")]
Architecture = Annotated[str | None, typer.Option("--architecture", help="The net's architecture, such as resnet20.")]
Streaming = Annotated[
    bool | None,
    typer.Option(
        "--streaming/--no-streaming",
        show_default="for large nets",
        help="Read the weights pass by pass instead of all at once; the result is the same.",
    ),
]
Encoder = Annotated[str | None, typer.Option("--encode", help="How the bundle is written: compact (default), npz, ...")]

DEFAULT_SERVER = "http://127.0.0.1:8000"
