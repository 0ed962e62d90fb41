"""The lab's page: HTML that names its modules and styles, all served by the lab itself."""

import base64
import hashlib
import json
from importlib.resources import files
from importlib.resources.abc import Traversable

from heed.inside.page import WEB as INSIDE

LAB: Traversable = files("heed.lab") / "web"


def served() -> dict[str, tuple[str, bytes]]:
    """Return all files of the page by name: their type and content."""
    found = {}
    for folder in (INSIDE, LAB):
        for one in folder.iterdir():
            if one.name.endswith((".js", ".css")):
                kind = "text/javascript" if one.name.endswith(".js") else "text/css"
                found[one.name] = f"{kind}; charset=utf-8", one.read_bytes()
    return found


def page_and_policy() -> tuple[str, str]:
    """Return the HTML, and the Content-Security-Policy under which a browser fetches nothing from elsewhere.

    Modules name each other by an import map, the only script in the page itself; the policy allows it by its checksum.
    """
    modules = sorted(name for name in served() if name.endswith(".js"))
    imports = json.dumps({"imports": {f"heed/{name}": f"/web/{name}" for name in modules}})
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    html = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>heed lab</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/web/style.css">
<link rel="stylesheet" href="/web/lab.css">
<script type="importmap">{imports}</script>
<script type="module" src="/web/lab.js"></script>
<body>
<noscript>This page needs JavaScript, which is switched off.</noscript>
<div id="page"><p>Asking for the models …</p></div>
</body>
</html>
"""
    return html, policy
