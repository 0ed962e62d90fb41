"""The page: one HTML file that holds its code, its style and a document, and fetches nothing."""

import base64
import html
import json
from importlib.resources import files
from importlib.resources.abc import Traversable

from heed.inside.document import Document

WEB: Traversable = files("heed.inside") / "web"

# Nothing may be fetched, whatever a text contains. Modules are data: URLs, named by an import map.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"


def modules() -> dict[str, str]:
    """Return the page's ES modules by the name they import each other by."""
    return {
        f"heed/{one.name}": one.read_text(encoding="utf-8")
        for one in sorted(WEB.iterdir(), key=lambda one: one.name)
        if one.name.endswith(".js")
    }


def page(document: Document) -> str:
    """Return the HTML of a document."""
    imports = {
        name: f"data:text/javascript;base64,{base64.b64encode(code.encode()).decode()}"
        for name, code in modules().items()
    }
    style = (WEB / "style.css").read_text(encoding="utf-8")
    source = document.summary["source"]["text"]
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(source)} – heed</title>
<style>
{style}</style>
<script type="importmap">{_script_safe(json.dumps({"imports": imports}))}</script>
<body>
<noscript>This page shows numbers with JavaScript, which is switched off.</noscript>
<div id="page"><p>Unpacking the numbers …</p></div>
<script type="application/json" id="inspection">{_script_safe(document.json())}</script>
<script type="text/plain" id="arrays">{base64.b64encode(document.compressed()).decode()}</script>
<script type="module">import {{ open }} from "heed/main.js"; open(document.getElementById("page"));</script>
</body>
</html>
"""


def _script_safe(text: str) -> str:
    """Return JSON that no HTML parser takes for markup: "<" can only stand within strings."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
