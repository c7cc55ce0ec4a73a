"""What a file is that is no BIF: named in the error, with the way out."""

from __future__ import annotations

import re

from pgcpe.graphs.structure import shortened

__all__ = ["binary_format", "refuse_other_formats"]

PGMPY = "pgmpy.readwrite.{}(file).get_model() makes a network of it, which is taken in place of a file"
EXPORT = "export it as BIF or XMLBIF"

XML_ROOTS = {
    "smile": ("GeNIe (.xdsl)", PGMPY.format("XDSLReader")),
    "bayesnet": ("Tetrad", EXPORT),
    "graphml": ("GraphML", "it has no tables: read the graph by networkx.read_graphml"),
    "gexf": ("GEXF", "it has no tables: read the graph by networkx.read_gexf"),
    "analysisnotebook": ("Microsoft XBN", EXPORT),
    "pomdpx": ("PomdpX", EXPORT),
    "probmodelxml": ("OpenMarkov (ProbModelXML)", EXPORT),
    "html": ("HTML, a web page", "download the file itself"),
}

TEXTS = [
    (r"(?:class\s+\w+\s*\{|net\s*\{|(?:\w+\s+)?node\s+\S+\s*\{)", "Hugin (.net)", PGMPY.format("NETReader")),
    (r"(?:BAYES|MARKOV)\s+\d", "UAI", PGMPY.format("UAIReader")),
    (r"belief\s+network\b", "Microsoft (.dsc)", EXPORT),
    (r"(?:bnet\s+\S+\s*\{|~->\[DNET)", "Netica (.dne)", EXPORT),
    (r"(?:strict\s+)?(?:di)?graph\b[^{]*\{", "DOT", "it has no tables: read the graph by networkx.nx_pydot.read_dot"),
    (r"(?:dag|pdag|mag|pag|bb)\s*\{", "dagitty", "it has no tables: pgmpy.base.DAG.from_dagitty reads the graph"),
    (
        r"Graph Nodes:",
        "a graph of Tetrad",
        "it has no tables: write its edges as DAG([(cause, effect), ...])",
    ),
    (r"[{[]\s*[\"\[{\]}]", "JSON", EXPORT),
]
"""How texts of other formats begin, comments left out."""

BINARIES = [
    (rb"PK\x03\x04", "a ZIP archive", "unpack it"),
    (rb"BZh|\xfd7zXZ", "compressed by bzip2 or xz", "unpack it, or compress it by gzip"),
    (rb"RD[AXB][23]\n|[AXB]\n\x00\x00\x00", "data of R", "write it by bnlearn's write.bif"),
    (rb"%PDF", "PDF", EXPORT),
    (rb"\x80[\x02-\x05]", "a Python pickle", "load it by pickle: a network is taken in place of a file"),
]

COMMENTS = re.compile(
    r"\s+|//[^\n]*\n|/\*.*?\*/|%[^\n]*\n|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL
)


def refuse_other_formats(head: str) -> None:
    """Raise if a text that begins so is neither BIF nor XMLBIF.

    Raises
    ------
    ValueError
        If it is not, with the name of what it is, where that is known, and the way out.
    """
    if re.match(r"//\s*~->\[DNET", head.lstrip("\ufeff \n")):
        raise ValueError(_sentence("Netica (.dne)", EXPORT))
    start = 1 if head.startswith("\ufeff") else 0
    while match := COMMENTS.match(head, start):
        start = match.end()
    begins = head[start:]
    if tag := re.match(r"<(?:[^\s<>:]+:)?([^\s<>/]+)", begins):
        if tag[1].upper() != "BIF":
            name, way_out = XML_ROOTS.get(tag[1].lower(), (f"XML with the root <{shortened(tag[1])}>", EXPORT))
            raise ValueError(_sentence(name, way_out))
        return
    for pattern, name, way_out in TEXTS:
        if re.match(pattern, begins):
            raise ValueError(_sentence(name, way_out))
    if begins and not re.match(r"(?:network|variable|probability|property)\b", begins):
        line = head.count("\n", 0, start) + 1
        raise ValueError(f"line {line} cannot be read as BIF: {shortened(begins.partition(chr(10))[0].strip())!r}")


def binary_format(raw: bytes) -> str | None:
    """Return a message about bytes that are a known binary format, else None."""
    for pattern, name, way_out in BINARIES:
        if re.match(pattern, raw):
            return _sentence(name, way_out)
    return None


def _sentence(name: str, way_out: str) -> str:
    return f"the file must be BIF or XMLBIF, but is {name}: {way_out}"
