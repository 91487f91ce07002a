"""Routes for data sets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.accepting import UploadKind, accept_upload
from app.api.datasets import service
from app.api.datasets.schemas import Dataset, DatasetList
from app.api.dependencies import BackendDep, DatasetId, OwnerFilterDep, PrincipalDep, bearer_security
from app.api.http.json_response import json_response
from app.api.http.openapi import IDEMPOTENCY_HEADER, upload_body
from app.api.http.pagination import OwnedPageParameters, owned_rows, page
from app.api.openapi.refusals import refusals
from app.api.references import reference_model
from app.api.upload_query import UploadQuery
from app.core.uploaded_files import UploadedFile

router = APIRouter(prefix="/v1/datasets", tags=["datasets"], responses=refusals(), dependencies=[bearer_security])


@router.post(
    "",
    operation_id="create_dataset",
    summary="Upload a data set",
    status_code=201,
    response_model=Dataset,
    responses=refusals(404, 410),
    openapi_extra=upload_body(reference_model(UploadQuery)) | IDEMPOTENCY_HEADER,
)
async def create(
    request: Request, query: Annotated[UploadQuery, Query()], backend: BackendDep, principal: PrincipalDep
) -> Response:
    """Send a file of one of the catalogue's `dataset_formats`: npz, CSV, IDX, CIFAR or folders of images.

    The format is recognized by the bytes of the file. Archives are zip or tar, with gzip or without. Where there is no
    test set, a random fifth of the samples is used for testing, and a warning says so.
    """
    return await accept_upload(request, backend, principal, query, UploadKind(service.upload_reader, _created))


@router.get("", operation_id="list_datasets", summary="List data sets", response_model=DatasetList)
def find(query: OwnedPageParameters, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """Your data sets, newest first. The catalogue lists those that are built in."""
    return page(owned_rows(backend.datasets.find, owner, query), query.limit, Dataset.of)


@router.get("/{dataset_id}", operation_id="get_dataset", summary="Show a data set", response_model=Dataset)
def get(dataset_id: DatasetId, backend: BackendDep, owner: OwnerFilterDep) -> Dataset:
    """The description of a data set."""
    return Dataset.of(service.get(backend, dataset_id, owner))


@router.delete(
    "/{dataset_id}",
    operation_id="delete_dataset",
    summary="Delete a data set",
    status_code=204,
    responses=refusals(409),
)
def delete(dataset_id: DatasetId, backend: BackendDep, owner: OwnerFilterDep) -> None:
    """Delete the data set. `409 in_use` while a job that has not ended needs it."""
    service.delete(backend, dataset_id, owner)


def _created(stored: UploadedFile) -> Response:
    return json_response(Dataset.of(stored), 201, {"Location": f"/v1/datasets/{stored.id}"})
