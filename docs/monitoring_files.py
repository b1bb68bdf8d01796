"""Alert rules for Prometheus and a board for Grafana, made from the table of conditions.

``python docs/monitoring_files.py`` writes `examples/deploy/alerts.yaml` and
`examples/deploy/grafana.json` again; a test holds that they are up to date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from camcast.observe.condition_table import TABLE, Row

FOLDER: Final = Path(__file__).parents[1] / "examples/deploy"
ALERTS: Final = FOLDER / "alerts.yaml"
BOARD: Final = FOLDER / "grafana.json"

HEAD: Final = """\
# Alert rules for Prometheus, one a condition: docs/operating.md, "Alerts and a board".
# Made by `python docs/monitoring_files.py` from camcast/observe/condition_table.py.
"""
LOOK: Final = "15s"  # chosen: of a count, a condition lasts 20 s after its growth; none is missed
WINDOW: Final = "2m"  # chosen: above the 30 s for which Alertmanager first gathers alerts
ABSENT: Final = "1m"  # chosen: a restart takes less
NO_ANSWER: Final = 'up{job=~"camcast.*"} unless on (job, instance) camcast_start_time_seconds'
"""The targets that do not answer, or whose event loop is too busy to have metrics."""


SEVERITIES: Final = ("critical", "warning", "info")


def severity_of(row: Row) -> str:
    """Return ``critical`` of what makes a process unready, ``info`` of what need not be wrong."""
    return "critical" if row.unready else "warning" if row.ok is False else "info"


def alert_of(row: Row) -> dict[str, Any]:
    """Return the rule that tells a condition of a process, unless another one explains it.

    A cause that is less severe hides nothing: it may be sent to nobody.
    """
    severity = severity_of(row)
    severe = SEVERITIES[: SEVERITIES.index(severity) + 1]
    causes = [one for one in TABLE if row.name in one.explains and severity_of(one) in severe]
    expression = _lately(f'condition="{row.name}"')
    if causes:
        names = "|".join(one.name for one in causes)
        explained = _lately(f'condition=~"{names}"')
        expression += f" unless ignoring (condition) {explained}"
    return {
        "alert": "Camcast" + row.name.title().replace("_", ""),
        "expr": expression,
        "labels": {"severity": severity},
        "annotations": {
            "summary": f"{row.meaning} ({{{{ $labels.instance }}}})",
            "description": f"`camcast doctor` there says of what, since when, and what to do:"
            f" `{row.name}`",
        },
    }


def _lately(selected: str) -> str:
    return f"max_over_time(camcast_condition{{{selected}}}[{WINDOW}]) > 0"


def alerts() -> str:
    """Return the file of alert rules: a process without metrics, and every condition."""
    no_answer = {
        "alert": "CamcastNoAnswer",
        "expr": NO_ANSWER,
        "for": ABSENT,
        "labels": {"severity": "critical"},
        "annotations": {
            "summary": "A process does not answer ({{ $labels.instance }})",
            "description": "It has ended, is cut off, or its event loop is blocked: see whether it"
            " runs, and its log.",
        },
    }
    rules = [no_answer, *map(alert_of, TABLE)]
    groups = {"groups": [{"name": "camcast", "interval": LOOK, "rules": rules}]}
    text: str = yaml.safe_dump(groups, sort_keys=False, width=1000)  # an expression a line
    return HEAD + text


class Panel(NamedTuple):
    """A panel of the board: `{of}` in an expression selects the processes that are shown."""

    title: str
    unit: str
    series: dict[str, str]
    """Its expressions by their legends."""
    kind: str = "timeseries"
    width: int = 8


PANELS: Final = (
    Panel("Processes", "none", {"": "count(camcast_start_time_seconds{of}) or vector(0)"}, "stat"),
    Panel("Without an answer", "none", {"": f"count({NO_ANSWER}) or vector(0)"}, "stat"),
    Panel(
        "Processes with a condition",
        "none",
        {"": "count(max without (condition) (camcast_condition{of}) > 0) or vector(0)"},
        "stat",
    ),
    Panel(
        "Conditions, and of how many things",
        "none",
        {"{{instance}} {{node}} {{condition}}": "camcast_condition{of} > 0"},
        "state-timeline",
        24,
    ),
    Panel(
        "Events",
        "cps",
        {
            "published": "sum(rate(camcast_events_published_total{of}[$__rate_interval]))",
            "received": "sum(rate(camcast_events_received_total{of}[$__rate_interval]))",
            "repaired": "sum(rate(camcast_events_repaired_total{of}[$__rate_interval]))",
        },
    ),
    Panel(
        "Events lost",
        "cps",
        {
            "missed": "sum(rate(camcast_events_missed_total{of}[$__rate_interval]))",
            "lagged": "sum(rate(camcast_events_lagged_total{of}[$__rate_interval]))",
            "not accepted": "sum(rate(camcast_events_unpublished_total{of}[$__rate_interval]))",
        },
    ),
    Panel(
        "Bytes",
        "Bps",
        {
            "sent": "sum(rate(camcast_sent_bytes_total{of}[$__rate_interval]))",
            "received": "sum(rate(camcast_received_bytes_total{of}[$__rate_interval]))",
        },
    ),
    Panel(
        "Size of communities", "none", {"{{topic}}": "max by (topic) (camcast_community_size{of})"}
    ),
    Panel(
        "Fewest super-processes known",
        "none",
        {"{{topic}} to {{super_topic}}": "min by (topic, super_topic) (camcast_link_contacts{of})"},
    ),
    Panel(
        "Gateways that answer",
        "percentunit",
        {"{{gateway}}": "avg by (gateway) (camcast_gateway_answers{of})"},
    ),
    Panel(
        "Fullest queues of subscriptions",
        "percentunit",
        {
            "{{topic}}, events": "max by (topic) (camcast_queued_events{of}"
            " / camcast_queued_events_max{of})",
            "{{topic}}, bytes": "max by (topic) (camcast_queued_bytes{of}"
            " / camcast_queued_max_bytes{of})",
        },
    ),
    Panel(
        "Fullest stores, pipes and archives",
        "percentunit",
        {
            "events kept for others": "max(camcast_store_bytes{of} / camcast_store_max_bytes{of})",
            "output pipes": "max(camcast_pipes_waiting_bytes{of}"
            " / camcast_pipes_waiting_max_bytes{of})",
            "archives": "max(camcast_archive_waiting_bytes{of}"
            " / camcast_archive_waiting_max_bytes{of})",
        },
    ),
    Panel(
        "Refused connections",
        "cps",
        {
            "of strangers": "sum(rate(camcast_connections_strange_total{of}[$__rate_interval]))",
            "by peers": "sum(rate(camcast_peers_strange_total{of}[$__rate_interval]))",
            "too many": "sum(rate(camcast_connections_refused_total{of}[$__rate_interval]))",
        },
    ),
    Panel(
        "Time that certificates have left",
        "s",
        {"{{topic}}": "min by (topic) (camcast_certificate_end_seconds{of}) - time()"},
    ),
    Panel(
        "CPU, and time in which a process did not run",
        "percentunit",
        {
            "{{instance}}": "rate(process_cpu_seconds_total{of}[$__rate_interval])",
            "{{instance}} {{node}} did not run": "rate(camcast_paused_seconds_total{of}"
            "[$__rate_interval])",
        },
    ),
    Panel("Memory", "bytes", {"{{instance}}": "process_resident_memory_bytes{of}"}),
)
COLUMNS: Final = 24  # Grafana's grid
HEIGHTS: Final = {"stat": 4, "timeseries": 8, "state-timeline": 10}  # chosen: rows of its grid
SELECTED: Final = '{job=~"camcast.*", instance=~"$instance"}'
SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


def board() -> str:
    """Return the board, as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    x = y = height = 0
    for number, panel in enumerate(PANELS, 1):
        if x + panel.width > COLUMNS:
            x, y = 0, y + height
        height = HEIGHTS[panel.kind]
        panels.append(
            {
                "id": number,
                "type": panel.kind,
                "title": panel.title,
                "datasource": SOURCE,
                "gridPos": {"x": x, "y": y, "w": panel.width, "h": height},
                "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
                "targets": [
                    {
                        "refId": chr(ord("A") + place),
                        "datasource": SOURCE,
                        "expr": expression.replace("{of}", SELECTED),
                        "legendFormat": legend,
                    }
                    for place, (legend, expression) in enumerate(panel.series.items())
                ],
            }
        )
        x += panel.width
    instance = {
        "name": "instance",
        "label": "process",
        "type": "query",
        "datasource": SOURCE,
        "query": 'label_values(camcast_start_time_seconds{job=~"camcast.*"}, instance)',
        "refresh": 2,  # whenever the time range changes
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
    }
    source = {"name": "source", "label": "data source", "type": "datasource", "query": "prometheus"}
    whole = {
        "uid": "camcast",
        "title": "CAMCAST",
        "tags": ["camcast"],
        "schemaVersion": 39,  # of Grafana 11; later ones migrate it
        "refresh": LOOK,
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source, instance]},
        "panels": panels,
    }
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    ALERTS.write_text(alerts(), "utf-8")
    BOARD.write_text(board(), "utf-8")
