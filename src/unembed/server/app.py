"""The FastAPI application: a page, an API, and the layers around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.staticfiles import StaticFiles

from unembed import __version__
from unembed.inverter import Inverter
from unembed.server.config import ServeConfig
from unembed.server.engine import Engine
from unembed.server.monitoring import Access, Log, ServerMetrics
from unembed.server.problems import install_handlers
from unembed.server.routes import STATIC, router
from unembed.server.schemas import Limits, Model, ModelsResponse, Strategy
from unembed.server.security import Guard, SecurityHeaders
from unembed.server.service import Service
from unembed.strategies import STRATEGIES


def create_app(
    models: dict[str, Inverter], config: ServeConfig | None = None, *, log: Log | None = None
) -> FastAPI:
    """An application that serves these models; the first is the default."""
    config = config or ServeConfig()
    log = log or Log(content=config.log_content)
    metrics = ServerMetrics()
    engines = {name: Engine(inverter, max_batch=config.max_batch) for name, inverter in models.items()}
    service = Service(engines, config, metrics, log)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        await service.warm_up()
        yield
        await service.stop()

    app = FastAPI(
        title="unembed",
        version=__version__,
        summary="Recover text from embedding vectors.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    install_handlers(app)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.state.service, app.state.models = service, describe(engines, config)
    if config.allow_origin:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(config.allow_origin),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    app.add_middleware(Guard, config=config)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Access, metrics=metrics, log=log, paths=frozenset(app.openapi()["paths"]) | {"/"})
    return app


def describe(engines: dict[str, Engine], config: ServeConfig) -> ModelsResponse:
    """What /api/models answers."""
    models = []
    for name, engine in engines.items():
        inverter = engine.inverter
        models.append(
            Model(
                name=name,
                encoder=inverter.checkpoint.config.encoder.name,
                dimension=inverter.dimension,
                max_length=inverter.max_length,
                vocabulary=len(inverter.checkpoint.vocabulary),
                parameters=sum(parameter.numel() for parameter in inverter.denoiser.parameters()),
                knows_length=inverter.fixed_length,
                can_encode=engine.can_encode,
                encoder_problem=engine.encoder_problem,
                has_surrogate=inverter.has_surrogate,
            )
        )
    can_guide = any(engine.can_encode or engine.inverter.has_surrogate for engine in engines.values())
    strategies = [
        Strategy(name=name, summary=entry.summary, options=entry.schema, needs_encoder=entry.needs_encoder)
        for name, entry in STRATEGIES.items()
        if can_guide or not entry.needs_encoder
    ]
    return ModelsResponse(
        default=next(iter(engines)),
        models=models,
        strategies=strategies,
        limits=Limits(**config.model_dump(include=set(Limits.model_fields))),
        version=__version__,
    )
