"""
Telemetry to a collector by OTLP over HTTP, through OpenTelemetry's own packages.

They keep what is to be sent in bounded queues and send it from threads of their own; what they
cannot deliver is lost, and nothing else. OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES and
the limits of the queues (OTEL_BSP_…, OTEL_BLRP_…) they read from the environment themselves.
"""

import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Final
from uuid import uuid4

import anyio
import structlog
from opentelemetry import context, trace
from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import export as points
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace.status import Status, StatusCode
from typing_extensions import override

from parley import __version__
from parley.bus.metrics import BUCKETS, Metric, Metrics
from parley.bus.subjects import DebateRef
from parley.bus.telemetry import ROOT_SPAN, Span, SpanPlace, trace_of

# The conventions whose names of attributes are written.
SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"
SCOPE: Final = "parley"
TIMEOUT_S = 5.0
# How long the end of a process waits for what is still to be sent.
FLUSH_S = 10.0
UNDELIVERED = "telemetry_undelivered"

_SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warning": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "exception": SeverityNumber.ERROR,
    "critical": SeverityNumber.FATAL,
}
_SAMPLED = trace.TraceFlags(trace.TraceFlags.SAMPLED)

log = structlog.get_logger()


class _GivenIds(IdGenerator):
    """Ids that are functions of the log, where the span has such; otherwise ids of chance."""

    def __init__(self) -> None:
        self._chance = RandomIdGenerator()
        self.given: ContextVar[tuple[int, int]] = ContextVar("parley_span_ids", default=(0, 0))

    @override
    def generate_trace_id(self) -> int:
        return self.given.get()[0] or self._chance.generate_trace_id()

    @override
    def generate_span_id(self) -> int:
        return self.given.get()[1] or self._chance.generate_span_id()


class _Warn(logging.Handler):
    """The packages' own complaints, in our log."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        log.warning(UNDELIVERED, reason=record.getMessage()[:300])


class Collector:
    """`sample` is the share of debates that are traced: by their trace's id, everywhere the same."""

    on = True

    def __init__(self, endpoint: str, *, sample: float = 1.0, content: bool = False) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._below = sample * 2**64
        self.content = content
        self._service = "parley"
        self._instance = uuid4().hex
        self._ids = _GivenIds()
        self._since = time.time_ns()

    def serve_as(self, service: str) -> None:
        self._service = service
        # Made here, or the first debate would wait for it.
        _ = self._tracer, self._logger

    def samples(self, ref: DebateRef) -> bool:
        return int(trace_of(ref)[:16], 16) < self._below

    def record(self, span: Span) -> None:
        around = self._around(SpanPlace(span.trace, span.parent)) if span.parent else None
        ids = self._ids.given.set((int(span.trace, 16), int(span.id or "0", 16)))
        try:
            told = self._tracer.start_span(
                span.name,
                context=around or context.Context(),
                kind=trace.SpanKind.CLIENT if span.kind == "client" else trace.SpanKind.INTERNAL,
                attributes=span.attributes,
                start_time=span.start_ns,
            )
        finally:
            self._ids.given.reset(ids)
        for event in span.events:
            told.add_event(event.name, event.attributes, event.time_ns)
        if span.error:
            told.set_attribute("error.type", span.error)
            told.set_status(Status(StatusCode.ERROR, span.error))
        told.end(span.end_ns)

    @contextmanager
    def inside(self, place: SpanPlace) -> Iterator[None]:
        token = context.attach(self._around(place))
        try:
            yield
        finally:
            context.detach(token)

    def log(self, event: str, level: str, fields: Mapping[str, object]) -> None:
        panel, _, debate = str(fields.get("debate", "")).partition("/")
        ref = DebateRef(panel, debate)
        of_a_trace = debate != "" and self.samples(ref)
        self._logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=self._around(SpanPlace(trace_of(ref), ROOT_SPAN)) if of_a_trace else None,
                severity_number=_SEVERITIES.get(level, SeverityNumber.INFO),
                severity_text=level,
                body=event,
                attributes={
                    key: value if isinstance(value, str | int | float | bool) else str(value)
                    for key, value in fields.items()
                },
            )
        )

    def measure(self, metrics: Metrics) -> None:
        now = time.time_ns()
        told = [
            points.Metric(
                one.name, one.help, "s" if one.seconds else "", self._data(one, metrics, now)
            )
            for one in sorted(metrics.counts, key=lambda one: one.name)
        ]
        scope = points.ScopeMetrics(InstrumentationScope(SCOPE, __version__), told, SCHEMA)
        here = points.ResourceMetrics(self._resource, [scope], SCHEMA)
        self._figures.export(points.MetricsData([here]))

    def _data(self, metric: Metric, metrics: Metrics, now: int) -> points.DataT:
        counts = metrics.counts[metric]
        labels = {one: dict(zip(metric.labels, one, strict=True)) for one in counts}
        cumulative = points.AggregationTemporality.CUMULATIVE
        if metric.seconds:
            spread = {one: metrics.durations[metric, one] for one in counts}
            bars = [
                points.HistogramDataPoint(
                    labels[one], self._since, now, sum(spread[one]), total, spread[one],
                    BUCKETS, 0.0, 0.0,
                )
                for one, total in counts.items()
            ]  # fmt: skip
            return points.Histogram(bars, cumulative)
        numbers = [
            points.NumberDataPoint(labels[one], self._since, now, value)
            for one, value in counts.items()
        ]
        return points.Gauge(numbers) if metric.gauge else points.Sum(numbers, cumulative, True)

    def close(self) -> None:
        """Sends what is still to be sent. Blocks."""
        for name in ("_traces", "_logs", "_figures"):
            opened = self.__dict__.get(name)
            if opened is not None:
                opened.shutdown()

    def _around(self, place: SpanPlace) -> context.Context:
        here = trace.SpanContext(
            int(place.trace, 16), int(place.span, 16), is_remote=True, trace_flags=_SAMPLED
        )
        return trace.set_span_in_context(trace.NonRecordingSpan(here), context.get_current())

    @cached_property
    def _resource(self) -> Resource:
        return Resource.create(
            {
                "service.name": self._service,
                "service.version": __version__,
                "service.instance.id": self._instance,
            },
            SCHEMA,
        )

    @cached_property
    def _traces(self) -> TracerProvider:
        provider = TracerProvider(
            resource=self._resource, id_generator=self._ids, shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(f"{self._endpoint}/v1/traces", timeout=TIMEOUT_S)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return provider

    @cached_property
    def _tracer(self) -> trace.Tracer:
        return self._traces.get_tracer(SCOPE, __version__, schema_url=SCHEMA)

    @cached_property
    def _logs(self) -> LoggerProvider:
        provider = LoggerProvider(resource=self._resource, shutdown_on_exit=False)
        exporter = OTLPLogExporter(f"{self._endpoint}/v1/logs", timeout=TIMEOUT_S)
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        return provider

    @cached_property
    def _logger(self) -> Logger:
        return self._logs.get_logger(SCOPE, __version__, schema_url=SCHEMA)

    @cached_property
    def _figures(self) -> OTLPMetricExporter:
        return OTLPMetricExporter(f"{self._endpoint}/v1/metrics", timeout=TIMEOUT_S)


@asynccontextmanager
async def open_collector(
    endpoint: str, *, sample: float, content: bool
) -> AsyncIterator[Collector]:
    collector = Collector(endpoint, sample=sample, content=content)
    library = logging.getLogger("opentelemetry")
    library.handlers, library.propagate = [_Warn()], False
    try:
        yield collector
    finally:
        with anyio.move_on_after(FLUSH_S, shield=True):
            await anyio.to_thread.run_sync(collector.close, abandon_on_cancel=True)
