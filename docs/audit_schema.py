"""Make the JSON schema of an audit's report from the code: `python docs/audit_schema.py`."""

from __future__ import annotations

import json
from pathlib import Path

from unembed.audit.audit_report import AuditReport

SCHEMA = Path(__file__).parent / "reference" / "audit-report.schema.json"


def main() -> None:
    text = json.dumps(AuditReport.model_json_schema(), indent=1, ensure_ascii=False)
    SCHEMA.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
