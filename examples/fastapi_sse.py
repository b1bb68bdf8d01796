"""A web application that shows events as they come: FastAPI, and server-sent events.

::

    python examples/fastapi_sse.py --port 8000 --gateway ADDRESS
    curl -N 'http://127.0.0.1:8000/events?where=goals>2'       # or open / in a browser
    curl -X POST --data '{"goals": 3}' http://127.0.0.1:8000/events

The manager lives as long as the application (lifespan), and each browser has a subscription of its
own, which ends with its connection. uvicorn waits at its end for open connections, which would wait
for events; the subscriptions are therefore closed first. Needs fastapi and uvicorn.
"""

import argparse
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from camcast import CamcastError, Community, CommunityManager, InterestError, Received, Subscription

TOPIC = ".soccer"
PAGE = """<!doctype html><title>.soccer</title><h1>.soccer</h1><ol id="list"></ol><script>
new EventSource("/events").onmessage = (event) => {
  const line = document.createElement("li");
  line.textContent = event.data;  // as text: events come from strangers
  document.getElementById("list").prepend(line);
};</script>"""


def application(gateways: list[str]) -> FastAPI:
    """Return the application; it joins when it is started."""
    open_now: list[Subscription] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with CommunityManager(gateways=gateways) as manager:
            app.state.soccer = await manager.join(TOPIC)
            app.state.open_now = open_now
            print(f"{TOPIC} at {manager.address}", flush=True)
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/")
    async def page() -> HTMLResponse:
        return HTMLResponse(PAGE)

    @app.get("/events")
    async def events(where: str | None = None) -> StreamingResponse:
        soccer: Community = app.state.soccer
        try:
            subscription = soccer.subscribe(where=where)
        except InterestError as error:  # the message points at the column
            raise HTTPException(400, str(error)) from None

        async def lines() -> AsyncIterator[str]:
            open_now.append(subscription)
            try:
                yield ": joined\n\n"
                async for event in subscription:
                    if isinstance(event, Received):
                        text = event.payload.decode(errors="replace")
                        yield f"id: {event.id}\ndata: {json.dumps([str(event.topic), text])}\n\n"
                    else:
                        yield f"event: gap\ndata: {json.dumps(str(event))}\n\n"
            finally:
                subscription.close()
                open_now.remove(subscription)

        return StreamingResponse(lines(), media_type="text/event-stream")

    @app.post("/events")
    async def publish(request: Request) -> dict[str, str]:
        soccer: Community = app.state.soccer
        try:
            receipt = await soccer.publish(await request.body())
        except CamcastError as error:
            raise HTTPException(503, str(error)) from None
        return {"id": str(receipt.id)}

    return app


class Server(uvicorn.Server):
    """uvicorn, which closes the subscriptions before it waits for their connections."""

    def __init__(self, app: FastAPI, port: int) -> None:
        super().__init__(uvicorn.Config(app, port=port, log_level="warning"))
        self._app = app

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # sockets of any kind
        """End what waits for events, then the rest."""
        for subscription in list(self._app.state.open_now):
            subscription.close()
        await super().shutdown()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--gateway", action="append", default=[])
    given = parser.parse_args()
    Server(application(given.gateway), given.port).run()


main()
