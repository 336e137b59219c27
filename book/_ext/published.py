"""A sitemap for search engines, and previews of links to the book's pages.

URLs are absolute if `_config.yml` sets the book's (`html: baseurl`) or `make book` is run with
SITE_URL; otherwise they are relative, which search engines and messengers may not follow.
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
_PICTURE = "_static/preview.png"  # drawn by one_request.py
_LONGEST = 200  # characters of a description that search engines and messengers show


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.connect("config-inited", _name_the_site)
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def site_address() -> str:
    """URL of the published book, with a trailing slash; empty if none is configured."""
    config = yaml.safe_load(_CONFIG.read_text(encoding="utf-8"))
    site = os.environ.get("SITE_URL") or config["html"]["baseurl"]
    return f"{site.rstrip('/')}/" if site else ""


def properties(values: Mapping[str, str]) -> str:
    """Open Graph tags, which set the preview of a link to a page (https://ogp.me)."""
    tags = [f'<meta property="{name}" content="{escape(text)}">' for name, text in values.items()]
    return "\n".join(tags)


def _name_the_site(_: Sphinx, config: Config) -> None:
    config["html_baseurl"] = site_address()


def _describe(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add a description and the tags of a link preview (https://ogp.me) to a page."""
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
    """List the pages in the format of https://www.sitemaps.org."""
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
