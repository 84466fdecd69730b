"""The documentation as a site: Sphinx, with pages in Markdown as they stand (MyST).

The source folder is the whole repository, so that pages may link to files beside them: READMEs are
pages of the site too, other files are copied.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

project = "wcetchar"
author = "the wcetchar authors"

extensions = ["myst_parser"]
root_doc = "docs/site"
include_patterns = ["docs/**", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "*/README.md"]
include_patterns += ["rtos_tests/*/README.md"]
exclude_patterns = [".venv/**", "build/**", ".pytest_cache/**"]

myst_enable_extensions = []
myst_heading_anchors = 6
"""So deep do links lead to headings, whose names are those of GitHub."""

html_theme = "furo"
html_title = "wcetchar"
html_copy_source = False
html_extra_path = ["index.html"]
html_show_sourcelink = False
html_show_copyright = False
nitpicky = True


class FlowFacts(RegexLexer):
    """Flow facts, as far as their colours go; their grammar is wcetchar/static/facts/."""

    name = "Flow facts"
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"#.*$", Comment.Single),
            (r'"[^"\n]*"', String),
            (
                r"\b(service|in|called|from|through|where|present|observed|because|loop|at|most|"
                r"total|never|switch|call|jump|recursion|of|exclusive|no|return|access|entry|"
                r"thread|start|count|each)\b",
                Keyword,
            ),
            (r"0x[0-9a-fA-F]+|\d+", Number),
            (r"[<>=!]=?|->|[-+*/]", Operator),
            (r"[A-Za-z_.$@][\w.$@]*", Name),
            (r".|\n", Text),
        ]
    }


def setup(app: Any) -> None:
    app.add_lexer("flow-facts", FlowFacts)
