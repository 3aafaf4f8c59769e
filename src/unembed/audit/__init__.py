"""What a vector store gives away, to whom: store -> attackers -> findings -> report.

>>> from unembed.audit import audit
>>> audit("qdrant:./store#documents", "report/").headline

Names arrive on first use: the command's help needs its configuration, and no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unembed.audit.audit_config import AuditConfig
    from unembed.audit.audit_report import AuditReport, read_audit
    from unembed.audit.auditor import audit

_HOMES = {
    "AuditConfig": "audit_config",
    "AuditReport": "audit_report",
    "audit": "auditor",
    "read_audit": "audit_report",
}

__all__ = ["AuditConfig", "AuditReport", "audit", "read_audit"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unembed.audit' has no attribute {name!r}")
    return getattr(importlib.import_module(f"unembed.audit.{_HOMES[name]}"), name)
