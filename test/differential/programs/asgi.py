"""Reads requests as applications on Starlette do, served by uvicorn: the last of doubled fields, JSON of any content type."""

import json
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

PROGRAMS = Path(__file__).parent
ROUTES = json.loads((PROGRAMS / "routes.json").read_text())
FIELDS = json.loads((PROGRAMS / "fields.json").read_text())


async def text_of(value):
    return value if isinstance(value, str) else (await value.read()).decode("latin-1")


def reader(route):
    async def read(request):
        values = {field: [] for field in FIELDS}
        tree = None

        def add(field, value):
            if value is not None:
                values[field].append(value)

        for field in FIELDS:
            add(field, request.query_params.get(field))
        body = await request.body()
        if "form" in request.headers.get("content-type", "").lower():
            form = await request.form()
            for field in FIELDS:
                for value in form.getlist(field):
                    add(field, await text_of(value))
        elif body:
            try:
                tree = json.loads(body)
            except ValueError:
                pass
            if isinstance(tree, dict):
                for field in FIELDS:
                    add(field, tree.get(field))
        found = {"method": request.method, "path": request.scope["path"], "route": route, "values": values, "tree": tree}
        return Response(json.dumps(found), media_type="application/json")

    return read


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
app = Starlette(
    routes=[Route(route, reader(route), methods=METHODS) for route in ROUTES]
    + [Route("/{rest:path}", reader(None), methods=METHODS)]
)
