"""The bytes of a small PDF and of a small Word file, written by hand."""

import io
import zipfile

_SHEET = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"


def pdf(*pages: str, title: str | None = None) -> bytes:
    """Write a PDF with one line of text on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        shown = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * number} 0 R {_SHEET} >>",
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    info = ""
    if title is not None:
        objects.append(f"<< /Title ({title}) >>")
        info = f" /Info {len(objects)} 0 R"
    written, offsets = "%PDF-1.4\n", []
    for number, held in enumerate(objects, start=1):
        offsets.append(len(written))
        written += f"{number} 0 obj\n{held}\nendobj\n"
    size = len(objects) + 1
    rows = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    return (
        f"{written}xref\n0 {size}\n0000000000 65535 f \n{rows}"
        f"trailer << /Size {size} /Root 1 0 R{info} >>\n"
        f"startxref\n{len(written)}\n%%EOF\n"
    ).encode("latin-1")


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)


def docx(heading: str, text: str, doctype: str = "") -> bytes:
    """Write a Word file with a heading, a paragraph and a table."""
    cells = "".join(f"<w:tc>{_paragraph(cell)}</w:tc>" for cell in ("tea", "80"))
    body = (
        f'<?xml version="1.0"?>{doctype}<w:document xmlns:w="{_WORD}"><w:body>'
        f"{_paragraph(heading, 'Heading1')}{_paragraph(text)}"
        f"<w:tbl><w:tr>{cells}</w:tr><w:tr>{cells}</w:tr></w:tbl></w:body></w:document>"
    )
    styles = (
        f'<w:styles xmlns:w="{_WORD}"><w:style w:type="paragraph" w:styleId="Heading1">'
        '<w:name w:val="heading 1"/></w:style></w:styles>'
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", _TYPES)
        parts.writestr("_rels/.rels", _RELATIONS)
        parts.writestr("word/document.xml", body)
        parts.writestr("word/styles.xml", styles)
    return held.getvalue()


def _paragraph(text: str, style: str = "") -> str:
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}<w:r><w:t>{text}</w:t></w:r></w:p>"
