"""A collector for tests: OTLP over HTTP, decoded with OpenTelemetry's own messages."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from typing_extensions import override

Attributes = dict[str, Any]


@dataclass(frozen=True)
class Received:
    """A span, a metric or a log, with the process that it came from."""

    service: str
    process: str
    schema: str
    one: Any

    @property
    def attributes(self) -> Attributes:
        return plain(self.one.attributes)


@dataclass
class Collector:
    url: str = ""
    spans: list[Received] = field(default_factory=list)
    metrics: list[Received] = field(default_factory=list)
    logs: list[Received] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, body: bytes) -> None:
        with self._lock:
            match path:
                case "/v1/traces":
                    traces = ExportTraceServiceRequest.FromString(body)
                    self.spans += _flat(traces.resource_spans, "scope_spans", "spans")
                case "/v1/metrics":
                    metrics = ExportMetricsServiceRequest.FromString(body)
                    self.metrics += _flat(metrics.resource_metrics, "scope_metrics", "metrics")
                case "/v1/logs":
                    logs = ExportLogsServiceRequest.FromString(body)
                    self.logs += _flat(logs.resource_logs, "scope_logs", "log_records")
                case _:
                    raise AssertionError(path)


def plain(attributes: list[KeyValue]) -> Attributes:
    return {one.key: _value(MessageToDict(one.value)) for one in attributes}


def _value(given: Attributes) -> Any:
    ((kind, value),) = given.items()
    if kind == "arrayValue":
        return [_value(one) for one in value["values"]]
    return int(value) if kind == "intValue" else value


def _flat(groups: Any, scopes: str, ones: str) -> list[Received]:
    found = []
    for group in groups:
        resource = plain(group.resource.attributes)
        who = resource["service.name"], resource["service.instance.id"]
        for scope in getattr(group, scopes):
            found += [Received(*who, scope.schema_url, one) for one in getattr(scope, ones)]
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        @override
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
