"""The endpoints: a new one is a function here, and its schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from unembed import __version__
from unembed.server.events import STREAM_HEADERS
from unembed.server.problems import ErrorBody
from unembed.server.schemas import (
    EncodeRequest,
    EncodeResponse,
    Health,
    InvertRequest,
    InvertResponse,
    ModelsResponse,
)
from unembed.server.service import Service

STATIC = Path(__file__).parent / "static"
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The request cannot be read."},
    401: {"model": ErrorBody, "description": "A token is missing or wrong."},
    404: {"model": ErrorBody, "description": "There is no such model."},
    413: {"model": ErrorBody, "description": "The request is too large."},
    422: {"model": ErrorBody, "description": "The request does not fit; the error says how."},
    429: {"model": ErrorBody, "description": "Too much of this client's work waits; see Retry-After."},
    503: {"model": ErrorBody, "description": "The queue is full or time ran out; see Retry-After."},
}
_EVENTS = (
    "Server-sent events: `queued` {position}, `started` {batch}; `step` (StepEvent) for every vector, length "
    "and step, or `search` (SearchEvent) for every vector and round of a guided search; then one `result` "
    "(InvertResponse) or one `error` (ErrorBody)."
)


router = APIRouter()


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service)]


@router.get("/", include_in_schema=False)
async def page() -> FileResponse:
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})


@router.get("/favicon.ico", include_in_schema=False)
async def icon() -> FileResponse:
    return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")


@router.get("/health", responses={503: {"model": Health, "description": "It is starting or stopping."}})
async def health(service: Served, response: Response) -> Health:
    """Whether the server is ready (models loaded and warm), and how many vectors wait."""
    response.status_code = 200 if service.status == "ok" else 503
    return Health(status=service.status, version=__version__, waiting=service.waiting)


@router.get("/metrics", response_class=Response, responses={401: _ERRORS[401]})
async def metrics(service: Served) -> Response:
    """Metrics for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/models", responses={401: _ERRORS[401]})
async def list_models(request: Request) -> ModelsResponse:
    """The models, strategies and limits of this server."""
    models: ModelsResponse = request.app.state.models
    return models


@router.post("/api/encode", responses=_ERRORS)
async def encode(body: EncodeRequest, request: Request, service: Served) -> EncodeResponse:
    """Vectors of texts, by the model's own encoder."""
    job = service.encode_job(body, _client(request))
    _note(request, job.size, {"texts": body.texts})
    vectors, tokens, seconds = await service.answer(job, request)
    name, engine = service.engine(body.model)
    return EncodeResponse(
        model=name,
        encoder=engine.inverter.checkpoint.config.encoder.name,
        dimension=engine.inverter.dimension,
        vectors=vectors.tolist(),
        tokens=tokens,
        seconds=round(seconds, 4),
    )


@router.post("/api/invert", responses=_ERRORS)
async def invert(body: InvertRequest, request: Request, service: Served) -> InvertResponse:
    """Texts out of vectors, in one answer."""
    job = service.invert_job(body, _client(request))
    _note(request, job.size, _content(body), strategy=body.strategy)
    name, _ = service.engine(body.model)
    response = service.response(job, name, body, await service.answer(job, request))
    request.state.fields["batch"] = job.batch
    return response


@router.post(
    "/api/invert/stream",
    response_class=StreamingResponse,
    responses={**_ERRORS, 200: {"description": _EVENTS, "content": {"text/event-stream": {}}}},
)
async def invert_stream(body: InvertRequest, request: Request, service: Served) -> StreamingResponse:
    """Texts out of vectors, as server-sent events."""
    job = service.invert_job(body, _client(request), watched=True)
    _note(request, job.size, _content(body), strategy=body.strategy)
    name, _ = service.engine(body.model)
    service.submit_watched(job)
    return StreamingResponse(
        service.events(job, name, body), media_type="text/event-stream", headers=STREAM_HEADERS
    )


def _client(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _content(body: InvertRequest) -> dict[str, Any]:
    return body.model_dump(include={"texts", "vectors", "originals"}, exclude_none=True)


def _note(request: Request, size: int, content: dict[str, Any], **fields: Any) -> None:
    """Note what the log line says; content is logged only with --log-content."""
    request.state.fields = {"vectors": size, **fields}
    request.state.content = content
