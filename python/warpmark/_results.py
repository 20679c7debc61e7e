"""Results as dataclasses. Each has what programs ask for most, and all of the JSON (docs/schema) in `data`."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

Json = Dict[str, Any]


@dataclass(frozen=True)
class Interval:
    low: float
    high: float
    confidence: Optional[float] = None

    @staticmethod
    def of(json: Mapping[str, Any]) -> "Optional[Interval]":
        """From the keys ci_low, ci_high and ci_confidence."""
        return Interval(json["ci_low"], json["ci_high"], json.get("ci_confidence")) if "ci_low" in json else None


@dataclass(frozen=True)
class Gain:
    """Lower and upper end of a speedup."""

    low: float
    high: float
    method: str = ""

    @staticmethod
    def of(json: Mapping[str, Any]) -> "Gain":
        return Gain(json["low"], json["high"], json.get("method", ""))


@dataclass(frozen=True)
class Recommendation:
    kind: str
    text: str
    snippet: str = ""


@dataclass(frozen=True)
class Finding:
    rule: str
    kind: str
    severity: float
    title: str
    gain: Gain
    evidence: List[str]
    recommendations: List[Recommendation]
    data: Json = field(repr=False)

    @staticmethod
    def of(json: Json) -> "Finding":
        advice = [Recommendation(each.get("kind", ""), each.get("text", ""), each.get("snippet", ""))
                  for each in json.get("recommendations", [])]
        return Finding(json["rule"], json["kind"], json["severity"], json["title"], Gain.of(json["gain"]),
                       [each["text"] for each in json.get("evidence", [])], advice, json)


@dataclass(frozen=True)
class BreakdownPart:
    """A part of the step; the shares of all parts sum to 1."""

    id: str
    group: str
    """compute, communication, copy or idle"""
    share: float


@dataclass(frozen=True)
class Report:
    """What all results have: the report as text and as a page, the JSON, and warpmark's exit code (1, 3, 4 and 5 are results,
    too: worse or wrong, inconclusive, rejected for its accuracy, unreliable)."""

    data: Json = field(repr=False)
    text: str = field(repr=False, default="")
    page: str = field(repr=False, default="")
    exit_code: int = 0

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        if not self.page:
            return f"<pre>{html.escape(self.text)}</pre>"
        return (f'<iframe srcdoc="{html.escape(self.page, quote=True)}" sandbox="allow-scripts" '
                'style="width:100%;height:640px;border:0"></iframe>')

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)


@dataclass(frozen=True, repr=False)
class Analysis(Report):
    """warpmark.analysis/1"""

    @property
    def verdict(self) -> str:
        return str(self.data["verdict"])

    @property
    def findings(self) -> List[Finding]:
        return [Finding.of(each) for each in self.data["findings"]]

    @property
    def breakdown(self) -> List[BreakdownPart]:
        return [BreakdownPart(name, part["group"], part["share"]) for name, part in self.data["breakdown"].items()]

    @property
    def step_ms(self) -> float:
        return float(self.data["session"]["step_ms"])

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Metric:
    id: str
    unit: str
    better: str
    samples: List[float]
    median: float
    interval: Optional[Interval]
    """Of the median, 95 %."""

    @staticmethod
    def of(json: Json) -> "Metric":
        return Metric(json["id"], json["unit"], json["better"], list(json["samples"]), json["median"], Interval.of(json))


@dataclass(frozen=True)
class Measurement:
    """One measured case. Without outcome "passed" its numbers are not to be trusted."""

    workload: str
    params: Dict[str, Any]
    device: str
    outcome: str
    reason: str
    metrics: List[Metric]
    data: Json = field(repr=False)

    @staticmethod
    def of(json: Json) -> "Measurement":
        return Measurement(json["workload"], json.get("params", {}), json["device"], json["outcome"],
                           json.get("reason", ""), [Metric.of(each) for each in json.get("metrics", [])], json)


@dataclass(frozen=True, repr=False)
class Run(Report):
    """warpmark.results/1"""

    @property
    def results(self) -> List[Measurement]:
        return [Measurement.of(each) for each in self.data["runs"]]

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class MetricVerdict:
    id: str
    verdict: str
    ratio: Optional[float]
    """B / A."""
    interval: Optional[Interval]
    reason: str
    data: Json = field(repr=False)

    @staticmethod
    def of(json: Json) -> "MetricVerdict":
        return MetricVerdict(json["id"], json["verdict"], json.get("ratio"), Interval.of(json),
                             json.get("reason", ""), json)


@dataclass(frozen=True, repr=False)
class Comparison(Report):
    """warpmark.compare/1"""

    @property
    def verdict(self) -> str:
        """better, same, worse, inconclusive or unreliable: of all metrics together."""
        return str(self.data["verdict"])

    @property
    def metrics(self) -> List[MetricVerdict]:
        return [MetricVerdict.of(each) for each in self.data["metrics"]]

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Step:
    """A setting that was tried on a program, and what became of it."""

    data: Json

    def __getitem__(self, key: str) -> Any:
        return self.data[key]


@dataclass(frozen=True, repr=False)
class Optimization(Report):
    """warpmark.optimization/1"""

    @property
    def steps(self) -> List[Step]:
        return [Step(each) for each in self.data.get("steps", [])]

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Answer(Report):
    """What a verb answered, whose schema is `data["schema"]`."""

    def __repr__(self) -> str:
        return self.text
