"""Redis: hashes with a vector packed into a field, as RediSearch and its clients keep them.

Only SCAN, HGETALL and HMGET are sent. The password is REDIS_PASSWORD (or redis-cli's own, REDISCLI_AUTH).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from unembed.errors import DataError, UnembedError, UsageError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row, VectorField
from unembed.stores.connection import one_line, page_size, patiently, refused, secret, silent
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_text, choose_vector, listed
from unembed.stores.packed import guess_dtype, known_dtype, unpack
from unembed.stores.payloads import FIRST
from unembed.stores.wanted import Wanted

_PORT = 6379
_PREFIXES = 1000  # keys that are looked at for the prefixes that there are
_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "\\*?[]"})
Answer = TypeVar("Answer")


class RedisStore(DescribedStore):
    """The hashes whose keys begin with a prefix; ids are the keys. `?dtype=float16` where it is not clear.

    A key that is handed out twice, which Redis may do while its table shrinks, counts once in a sample.
    """

    kind = "redis"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        library: Any = require("redis", extra="redis", purpose="Reading from Redis")
        address.check_options("dtype")
        if address.path and not address.path.isdigit():
            raise UsageError(
                f"'{address.path}' is no number of a Redis database.",
                hint="For example: redis://host:6379/0#doc:",
            )
        self._errors: Any = library.exceptions
        self._address, self._name = address, address.collection
        self._password = secret("REDIS_PASSWORD", "REDISCLI_AUTH")
        self._client = library.Redis(
            host=str(address.host),
            port=address.port or _PORT,
            db=int(address.path or 0),
            username=address.user or secret("REDIS_USERNAME"),
            password=self._password,
            ssl=address.kind == "rediss",
            socket_timeout=wanted.timeout,
            socket_connect_timeout=wanted.timeout,
            retry=library.retry.Retry(library.backoff.NoBackoff(), 0),  # `patiently` tries again
        )
        try:
            self._read_fields(wanted)
        except BaseException:
            self.close()
            raise

    def count(self) -> None:
        """Redis counts keys, not those of a prefix."""

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        fields = [name for name in (self._vector.name, self._text) if name is not None]
        read = 0
        for keys in self._keys(page_size(batch, self._vector.dimension)):
            values = self._pipeline(lambda pipe, key: pipe.hmget(key, fields), keys, rows=read)
            read += len(keys)
            rows = [
                self._row(key, found[0], found[1] if len(fields) > 1 else None)
                for key, found in zip(keys, values, strict=True)
                if found[0] is not None
            ]
            if rows:
                yield rows

    def close(self) -> None:
        self._client.close()

    def _row(self, key: bytes, blob: bytes, text: bytes | None) -> Row:
        name = key.decode("utf-8", "replace")
        vector = unpack(blob, self._vector.dtype, f"{self._address}, key {name},")
        if len(vector) != self._vector.dimension:
            raise DataError(
                f"{self._address}, key {name}, has a vector of {len(vector)} numbers; "
                f"others have {self._vector.dimension}.",
                hint="Give a prefix of keys whose vectors come from one encoder: redis://HOST/0#PREFIX",
            )
        return Row(name, vector, text.decode("utf-8", "replace") if text else None)

    def _keys(self, count: int, prefix: str | None = None) -> Iterator[list[bytes]]:
        """Keys of hashes, `count` at a time. SCAN's own count is a wish, and many answers are empty."""
        prefix = self._address.collection if prefix is None else prefix
        match = (prefix or "").translate(_GLOB) + "*"
        cursor, read = 0, 0
        waiting: list[bytes] = []
        while True:
            cursor, keys = self._scan(cursor, match, count, rows=read)
            read += len(keys)
            waiting += keys
            while len(waiting) >= count:
                yield waiting[:count]
                waiting = waiting[count:]
            if not cursor:
                break
        if waiting:
            yield waiting

    def _scan(self, cursor: int, match: str, count: int, *, rows: int) -> tuple[int, list[bytes]]:
        found: tuple[int, list[bytes]] = self._call(
            lambda: self._client.scan(cursor=cursor, match=match, count=count, _type="hash"), rows=rows
        )
        return found

    def _pipeline(
        self, ask: Callable[[Any, bytes], Any], keys: Sequence[bytes], *, rows: int = 0
    ) -> list[Any]:
        def work() -> list[Any]:
            with self._client.pipeline(transaction=False) as pipe:
                for key in keys:
                    ask(pipe, key)
                answers: list[Any] = pipe.execute()
            return answers

        return self._call(work, rows=rows)

    def _read_fields(self, wanted: Wanted) -> None:
        where = str(self._address)
        keys = next(self._keys(FIRST), [])
        if not keys:
            raise self._no_keys()
        values: dict[str, list[bytes]] = {}
        for record in self._pipeline(lambda pipe, key: pipe.hgetall(key), keys):
            for name, value in record.items():
                values.setdefault(name.decode("utf-8", "replace"), []).append(value)
        texts = [name for name, some in values.items() if all(_is_text(value) for value in some)]
        self._texts = tuple(sorted(texts))
        self._vectors = tuple(
            field
            for name in sorted(values)
            if (field := self._vector_field(name, values[name], named=name == wanted.vector)) is not None
        )
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        self._text = choose_text(self._texts, wanted.text_field, where)

    def _vector_field(self, name: str, values: list[bytes], *, named: bool) -> VectorField | None:
        given = self._address.options.get("dtype")
        if all(_is_text(value) for value in values) and not named:
            return None
        dtype = known_dtype(given) if given else guess_dtype(values)
        if dtype is None:
            return None
        field = VectorField(name, None, dtype)
        return replace(field, dimension=len(unpack(values[0], dtype, f"{self._address}, field '{name}',")))

    def _no_keys(self) -> UnembedError:
        prefix = self._address.collection
        if prefix is None:
            return DataError(f"{self._address} holds no hashes.", hint="Is this the right database number?")
        found = [key.decode("utf-8", "replace") for key in next(self._keys(_PREFIXES, ""), [])]
        prefixes = sorted({key.rpartition(":")[0] + ":" if ":" in key else key for key in found})
        return UsageError(
            f"{self._address} has no hashes whose keys begin with '{prefix}'.",
            hint=f"There are: {listed(prefixes)}." if prefixes else "It holds no hashes at all.",
        )

    def _call(self, work: Callable[[], Answer], *, rows: int = 0) -> Answer:
        return patiently(work, passing=self._may_pass, explain=lambda error: self._explained(error, rows))

    def _may_pass(self, error: Exception) -> bool:
        passing = (self._errors.ConnectionError, self._errors.TimeoutError)
        return isinstance(error, passing) and not isinstance(error, self._errors.AuthenticationError)

    def _explained(self, error: Exception, rows: int) -> UnembedError | None:
        if isinstance(error, self._errors.AuthenticationError) or "NOAUTH" in str(error):
            return refused(self._address, "REDIS_PASSWORD", given=self._password is not None)
        if isinstance(error, (self._errors.ConnectionError, self._errors.TimeoutError)):
            return silent(self._address, error, rows=rows)
        if isinstance(error, self._errors.RedisError):
            return UsageError(f"{self._address} refused to answer: {one_line(error)}")
        return None


def _is_text(value: bytes) -> bool:
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False
