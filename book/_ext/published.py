"""A sitemap for search engines, and previews of links to the book's pages.

Addresses are whole where `_config.yml` names the book's (`html_baseurl`), or `make book` is called
with SITE_URL; else they are relative, which search engines and messengers may not follow.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

_CONFIG = Path(__file__).parents[1] / "_config.yml"
_PICTURE = "_static/preview.png"  # which one_request.py draws
_LONGEST = 200  # what search engines and messengers show of a description


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.connect("config-inited", _name_the_site)
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def site_address() -> str:
    """Address of the published book, with a slash at its end; empty if nobody named one."""
    config = yaml.safe_load(_CONFIG.read_text(encoding="utf-8"))
    site = os.environ.get("SITE_URL") or config["html"]["baseurl"]
    return f"{site.rstrip('/')}/" if site else ""


def properties(values: Mapping[str, str]) -> str:
    """Tags that say what a link to a page shows elsewhere (https://ogp.me)."""
    tags = [f'<meta property="{name}" content="{escape(text)}">' for name, text in values.items()]
    return "\n".join(tags)


def _name_the_site(_: Sphinx, config: Config) -> None:
    config["html_baseurl"] = site_address()


def _describe(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give a page a description, and what a link to it shows (https://ogp.me)."""
    if doctree is None:
        return
    site, title = app.config.html_baseurl, doctree.next_node(nodes.title)
    first = doctree.next_node(nodes.paragraph)
    text = textwrap.shorten(first.astext() if first else app.config.html_title, _LONGEST)
    shown = {
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:site_name": app.config.html_title,
        "og:title": title.astext() if title else app.config.html_title,
        "og:description": text,
        "og:url": f"{site}{page}.html",
        "og:image": f"{site}{_PICTURE}",
    }
    tags = [f'<meta name="description" content="{escape(text)}">', properties(shown)]
    tags.append('<meta name="twitter:card" content="summary_large_image">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def _write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """List the pages as https://www.sitemaps.org has it."""
    if error is None:
        site = app.config.html_baseurl
        pages = [f"<url><loc>{escape(f'{site}{p}.html')}</loc></url>" for p in app.env.found_docs]
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
            *sorted(pages),
            "</urlset>\n",
        ]
        Path(app.outdir, "sitemap.xml").write_text("\n".join(lines), encoding="utf-8")
