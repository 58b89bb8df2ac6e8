"""Reads requests as applications on Flask do, with Werkzeug's parsers behind gunicorn: the first of doubled fields."""

import json
from pathlib import Path

from flask import Flask, Response, request

PROGRAMS = Path(__file__).parent
ROUTES = json.loads((PROGRAMS / "routes.json").read_text())
FIELDS = json.loads((PROGRAMS / "fields.json").read_text())
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

app = Flask(__name__)


def read(route):
    values = {field: request.args.getlist(field)[:1] for field in FIELDS}
    tree = None
    for field in FIELDS:
        values[field] += request.form.getlist(field)
        values[field] += [file.read().decode("latin-1") for file in request.files.getlist(field)]
    if not request.form and not request.files:
        tree = request.get_json(force=True, silent=True)
    if isinstance(tree, dict):
        for field in FIELDS:
            if tree.get(field) is not None:
                values[field].append(tree[field])
    found = {"method": request.method, "path": request.path, "route": route, "values": values, "tree": tree}
    return Response(json.dumps(found), mimetype="application/json")


def add(rule, route):
    app.add_url_rule(rule, endpoint=rule, view_func=lambda **_: read(route), methods=METHODS)


for each in ROUTES:
    add(each.replace("{id}", "<id>"), each)
add("/<path:rest>", None)
