"""Routes of data sets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.datasets import service
from app.api.datasets.schemas import Dataset, DatasetList
from app.api.dependencies import Core, Owner, documented
from app.api.http.answers import json_answer
from app.api.http.documents import IDEMPOTENCY_HEADER, PROBLEMS, UPLOAD_BODY
from app.api.http.pagination import PageParameters, page
from app.api.objects import UploadQuery, take_in
from app.core.objects import StoredObject

router = APIRouter(prefix="/v1/datasets", tags=["datasets"], responses=PROBLEMS, dependencies=[documented])


@router.post(
    "",
    operation_id="create_dataset",
    summary="Upload a data set",
    status_code=201,
    response_model=Dataset,
    openapi_extra=UPLOAD_BODY | IDEMPOTENCY_HEADER,
)
async def create(request: Request, query: Annotated[UploadQuery, Query()], core: Core, owner: Owner) -> Response:
    """An npz with `x_train`, `y_train`, `x_test`, `y_test`, or with `x` and `y`, of which a fifth becomes the test."""
    return await take_in(request, core, owner, query, service.intake(core), _created)


@router.get("", operation_id="list_datasets", summary="List data sets", response_model=DatasetList)
def find(query: PageParameters, core: Core, owner: Owner) -> dict[str, Any]:
    """The owner's own, newest first; the built-in ones are in the catalogue."""
    return page(core.datasets.find(owner, query.limit + 1, query.after), query.limit, Dataset.of)


@router.get("/{dataset_id}", operation_id="get_dataset", summary="Show a data set", response_model=Dataset)
def get(dataset_id: str, core: Core, owner: Owner) -> Dataset:
    """What is known of it."""
    return Dataset.of(service.get(core, dataset_id, owner))


@router.delete("/{dataset_id}", operation_id="delete_dataset", summary="Delete a data set", status_code=204)
def delete(dataset_id: str, core: Core, owner: Owner) -> None:
    """`409 in_use` while a job that has not ended needs it."""
    service.delete(core, dataset_id, owner)


def _created(stored: StoredObject) -> Response:
    return json_answer(Dataset.of(stored), 201, {"Location": f"/v1/datasets/{stored.id}"})
