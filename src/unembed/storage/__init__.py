"""Files and folders that are whole or absent, checked when read, and written by one run at a time.

`atomic` writes, `checked` reads, `lock` keeps a second run out, `plan` refuses other settings,
`row_log` appends.
"""

from unembed.storage.atomic import FULL, atomic_folder, atomic_write, sync_folder, write_json
from unembed.storage.checked import digest_bytes, digest_file, digest_json, read_checked, read_json
from unembed.storage.lock import LOCK_NAME, file_lock, folder_lock
from unembed.storage.plan import PLAN_NAME, differences, settle_plan
from unembed.storage.row_log import JsonRowLog, read_json_rows

__all__ = [
    "FULL",
    "LOCK_NAME",
    "PLAN_NAME",
    "JsonRowLog",
    "atomic_folder",
    "atomic_write",
    "differences",
    "digest_bytes",
    "digest_file",
    "digest_json",
    "file_lock",
    "folder_lock",
    "read_checked",
    "read_json",
    "read_json_rows",
    "settle_plan",
    "sync_folder",
    "write_json",
]
