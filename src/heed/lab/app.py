"""The app: who may ask, what is asked, and who computes the answer. It serves this machine only."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heed.errors import DecodeError, HeedError
from heed.lab.answers import as_json, inspected, why
from heed.lab.asked import Asked, asked, asked_why
from heed.lab.models import Models
from heed.lab.page import page_and_policy, served
from heed.lab.strip import Strip
from heed.lab.worker import BusyError, StaleError, Worker

_MAX_BODY_BYTES = 200_000
_WATCH_SECONDS = 1.0  # between two looks at the run folders
_HOSTS = ("127.0.0.1", "localhost")


class Lab:
    """Models, what is watched of them, and the worker."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self.strips = [Strip(path) for path in models.paths]
        self.worker = Worker()
        self._said: set[Path] = set()

    def inspect(self, ask: Asked) -> "Future[bytes]":
        """Compute a look at a sentence; of one browser tab, the newest wins."""

        def compute(is_stale: Callable[[], bool]) -> bytes:
            answer = inspected(self.models, ask, is_stale)
            opened = self.models.open(ask.model, ask.checkpoint)
            if opened.roles is None:
                self.worker.later(
                    f"roles {opened.name} {opened.checkpoint}", lambda _: self.models.measure_roles(opened)
                )
            return answer

        return self.worker.ask(f"{ask.client} inspect", compute)

    def tick(self) -> None:
        """Look at the runs: say which are gone, and compute the frames that are missing of those that are watched."""
        for strip in self.strips:
            if not strip.path.exists():
                if strip.path not in self._said:
                    print(f"{strip.path}: was deleted; the page shows what was computed before", file=sys.stderr)
                    self._said.add(strip.path)
                continue
            self._said.discard(strip.path)
            if strip.is_watched and (step := strip.missing()) is not None:
                self.worker.later(f"frame {strip.path}", lambda _, strip=strip, step=step: strip.add(step))  # type: ignore[misc]


def create_app(models: Models) -> Starlette:
    """Return the app that shows these models."""
    lab = Lab(models)
    html, policy = page_and_policy()
    web = served()

    async def page(request: Request) -> Response:
        return HTMLResponse(html)

    async def file(request: Request) -> Response:
        found = web.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("there is no such file\n", status_code=404)
        return Response(found[1], media_type=found[0])

    async def listed(request: Request) -> Response:
        return _json({"models": await run_in_threadpool(lab.models.described)})

    async def inspect(request: Request) -> Response:
        ask = asked(await _body(request))
        return Response(await asyncio.wrap_future(lab.inspect(ask)), media_type="application/octet-stream")

    async def contrast(request: Request) -> Response:
        body = await _body(request)
        ask, question = asked(body), asked_why(body)
        future = lab.worker.ask(f"{ask.client} why", lambda is_stale: why(lab.models, ask, question, is_stale))
        return _json(await asyncio.wrap_future(future))

    async def watch(request: Request) -> Response:
        number = request.path_params["number"]
        lab.models.path(number)  # is there one?
        strip = lab.strips[number]
        strip.is_watched = True
        given = request.query_params.get("known", "")
        known = {int(one) for one in given.split(".") if one.isascii() and one.isdigit()}
        return _json(await run_in_threadpool(strip.status, known))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async def watching() -> None:
            while True:
                await run_in_threadpool(lab.tick)
                await asyncio.sleep(_WATCH_SECONDS)

        task = asyncio.create_task(watching())
        yield
        task.cancel()
        await run_in_threadpool(lab.worker.close)

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/web/{name}", file),
            Route("/api/models", listed),
            Route("/api/inspect", inspect, methods=["POST"]),
            Route("/api/why", contrast, methods=["POST"]),
            Route("/api/watch/{number:int}", watch),
        ],
        exception_handlers={HeedError: _refused, StaleError: _stale, BusyError: _busy},
        lifespan=lifespan,
    )
    app.add_middleware(OnlyThisMachine, policy=policy)
    return app


class OnlyThisMachine:
    """Refuse what another site made the browser send, and forbid the page to fetch from or appear on another site.

    A site may resolve its own name to 127.0.0.1, so the name that was asked for must be ours (Host). It may send forms
    and fetches to us, so what names an origin must come from our own page.
    """

    def __init__(self, app: ASGIApp, policy: str) -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        if (reason := _foreign(Headers(scope=scope))) is not None:
            refusal = Response(as_json({"error": reason}), status_code=403, media_type="application/json")
            await refusal(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)


def _foreign(headers: Headers) -> str | None:
    """Return why a request is not answered; None: it comes from our own page, or from a program on this machine."""
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in _HOSTS and host not in _HOSTS:
        return "the lab answers on 127.0.0.1 and localhost only"
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return "the lab answers its own page only, not other sites"
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate":
        return "the lab answers its own page only, not other sites"
    return None


async def _body(request: Request) -> object:
    """Return the JSON of a request.

    Raises:
        DecodeError: it is too long, or not JSON.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise DecodeError("send JSON, with the header content-type: application/json")
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MAX_BODY_BYTES:
            raise DecodeError(f"the request is longer than {_MAX_BODY_BYTES:,} bytes; send less")
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        raise DecodeError("the request is not JSON") from None
    return found


def _json(value: Any, status: int = 200) -> Response:
    return Response(as_json(value), status_code=status, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    return _json({"error": str(error)}, 400)


async def _stale(request: Request, error: Exception) -> Response:
    return _json({"error": "a newer request has come", "stale": True}, 409)


async def _busy(request: Request, error: Exception) -> Response:
    return _json({"error": "too many pages are open at once; close some, or try again"}, 503)
