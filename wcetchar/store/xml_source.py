"""An XML file as elements with a place for each (the only user of defusedxml)."""

from __future__ import annotations

import io
import os
from collections.abc import Set
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, TreeBuilder
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, InputSource, Locator

from defusedxml import DefusedXmlException
from defusedxml.sax import make_parser

from wcetchar.errors import InputError, Location, one_line
from wcetchar.store.source import read_text


@dataclass
class Document:
    """``places`` has each element of ``root``, at the `<` of its tag."""

    path: str
    root: Element
    places: dict[Element, Location] = field(repr=False)

    def error(self, at: Element, message: str, expected: str, hint: str) -> InputError:
        return InputError(one_line(message), where=self.places[at], expected=expected, hint=hint)


def read_xml(
    path: str | os.PathLike[str], max_bytes: int, what: str, skipped: Set[str] = frozenset()
) -> Document:
    """The document, but for elements that are ``skipped`` and what lies in them.

    Raises:
        InputError: the file cannot be read, or is no XML without document type and entities;
            ``what`` says what it should be.
    """
    text = read_text(path, max_bytes)
    handler = _Elements(str(path), skipped)
    parser = make_parser()
    parser.setContentHandler(handler)
    parser.forbid_dtd = True
    source = InputSource()
    source.setByteStream(io.BytesIO(text.encode()))
    source.setEncoding("utf-8")  # whatever its first line says: it was read as that
    hint = "give the file as its vendor publishes it"
    try:
        parser.parse(source)
    except SAXParseException as error:
        raise InputError(
            f"is no XML: {one_line(error.getMessage())}",
            where=handler.here(error),
            expected=what,
            hint=hint,
        ) from None
    except (DefusedXmlException, SAXException, ValueError) as error:
        raise InputError(
            f"is no XML that is read here: {one_line(str(error))}",
            where=handler.here(),
            expected="a file without document type and entities",
            hint=hint,
        ) from None
    return Document(str(path), handler.builder.close(), handler.places)


class _Elements(ContentHandler):
    def __init__(self, path: str, skipped: Set[str]) -> None:
        super().__init__()
        self.builder = TreeBuilder()
        self.places: dict[Element, Location] = {}
        self._path = path
        self._skipped = skipped
        self._inside = 0
        self._locator: Locator

    def here(self, at: Locator | SAXParseException | None = None) -> Location:
        at = at or self._locator
        line, column = at.getLineNumber(), at.getColumnNumber()
        return Location(self._path, line or 1, (column or 0) + 1)

    def setDocumentLocator(self, locator: Locator) -> None:  # noqa: N802
        self._locator = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        if self._inside or name in self._skipped:
            self._inside += 1
            return
        element = self.builder.start(name, dict(attrs.items()))
        self.places[element] = self.here()

    def endElement(self, name: str) -> None:  # noqa: N802
        if self._inside:
            self._inside -= 1
        else:
            self.builder.end(name)

    def characters(self, content: str) -> None:
        if not self._inside:
            self.builder.data(content)
