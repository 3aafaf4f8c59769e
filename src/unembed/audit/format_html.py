from unembed.audit.audit_report import AuditReport


def to_html(report: AuditReport) -> str:
    return "<p>" + report.headline
