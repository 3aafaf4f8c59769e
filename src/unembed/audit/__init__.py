"""What a vector store gives away, to whom: store -> attackers -> findings -> report.

>>> from unembed.audit import audit
>>> audit("qdrant:./store#documents", "report/").headline
"""

from __future__ import annotations

from unembed.audit.audit_config import AuditConfig
from unembed.audit.audit_report import AuditReport, read_audit
from unembed.audit.auditor import audit

__all__ = ["AuditConfig", "AuditReport", "audit", "read_audit"]
