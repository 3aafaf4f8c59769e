"""Files and folders that are whole or absent, checked when read, and written by one run at a time.

`atomic` writes, `checked` reads, `lock` keeps a second run out, `plan` refuses other settings.
"""

from unembed.storage.atomic import FULL, atomic_folder, atomic_write, sync_folder, write_json
from unembed.storage.checked import digest_bytes, digest_file, digest_json, read_checked, read_json
from unembed.storage.lock import LOCK_NAME, file_lock, folder_lock
from unembed.storage.plan import PLAN_NAME, differences, settle_plan

__all__ = [
    "FULL",
    "LOCK_NAME",
    "PLAN_NAME",
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
    "settle_plan",
    "sync_folder",
    "write_json",
]
