"""The pictures of the report: one colour per algorithm in all of them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest.paper.outcomes import Estimate
from furthest.plots import COLOURS, MEAN, pyplot
from furthest.writing import write_beside

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, YELLOW = COLOURS
ALGORITHM = {
    "lebai": BLUE,
    "lingame": VERMILION,
    "lingape": GREEN,
    "xy-static": PURPLE,
    "xy-adaptive": ORANGE,
    "eps-tas": SKY,
    "fixed": SKY,
    "uniform": GREY,
    "dkm": YELLOW,
    "decreasing": "#332288",
    "g-static": "#882255",
}

# The same picture from the same numbers, byte by byte; text as outlines needs no fonts to show.
STYLE = {"svg.hashsalt": "furthest", "svg.fonttype": "path", "font.size": 10}


def boxes(
    panels: Mapping[str, Mapping[str, NDArray[Any]]],
    names: Mapping[str, str],
    path: Path,
    columns: int,
) -> None:
    """Box plots (quartiles, whiskers 5–95 %) with the mean as a star; variants are hatched."""
    plt = pyplot()
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    most = max(len(panel) for panel in panels.values())
    size = (columns * max(3.2, 1.2 + 0.62 * most), 3.9 * rows)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False, sharey=True
        )
        for axis, (title, panel) in zip(axes.flat, panels.items(), strict=False):
            _boxes(axis, panel, names)
            axis.set_title(title, loc="left", fontsize=11)
        # The panels share this axis, so it must wait until all of them are drawn.
        axes[0, 0].set_ylim(bottom=0)
        for row in axes:
            row[0].set_ylabel("stopping time")
        _save(figure, path)


def _boxes(axis: Any, panel: Mapping[str, NDArray[Any]], names: Mapping[str, str]) -> None:
    drawn = axis.boxplot(
        list(panel.values()),
        widths=0.6,
        showmeans=True,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        tick_labels=list(panel),
        meanprops=MEAN | {"markersize": 10},
        medianprops={"color": "black"},
    )
    for label, box in zip(panel, drawn["boxes"], strict=True):
        variant = "-" in label and label.split("-")[-1] not in ("Static", "Adaptive", "TaS")
        box.set(facecolor=ALGORITHM[names[label]], alpha=0.75, hatch="///" if variant else None)
    axis.set_xticks(axis.get_xticks(), panel, rotation=40, ha="right", rotation_mode="anchor")
    axis.grid(axis="y", color="0.9", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def quartiles(
    eps: Sequence[float],
    shares: Sequence[Estimate],
    bands: NDArray[np.float64],
    means: Sequence[float],
    path: Path,
) -> None:
    """Share of draws against ε; quartile band, median and mean of a ratio against ε."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.7), layout="constrained")
        percent = [100 * share.value for share in shares]
        left.plot(eps, percent, "o-", color=BLUE, markersize=4)
        left.set_ylim(bottom=0)
        left.set_ylabel("draws with z_F ≠ z*  (%)")
        low, median, high = bands.T
        right.fill_between(eps, low, high, color=BLUE, alpha=0.25, linewidth=0, label="quartiles")
        right.plot(eps, median, "o-", color=BLUE, markersize=4, label="median")
        right.plot(eps, means, linestyle="none", **MEAN | {"markersize": 9}, label="mean")
        right.set_ylim(top=1.0)
        right.set_ylabel("T_ε / T_g  where z_F ≠ z*")
        right.legend(frameon=False, loc="lower left")
        for axis in (left, right):
            axis.set_xscale("log")
            axis.set_xlabel("ε")
            axis.grid(color="0.9", linewidth=0.8)
            axis.spines[["top", "right"]].set_visible(False)
        _save(figure, path)


def curves(
    lines: Mapping[str, Sequence[tuple[float, Estimate]]],
    limits: Mapping[str, float],
    path: Path,
) -> None:
    """Mean stopping time over ln(1/δ), against log₁₀(1/δ); limits as dashed lines."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8.6, 4.6), layout="constrained")
        for (label, line), colour in zip(lines.items(), COLOURS, strict=False):
            logs = np.array([log for log, _ in line])
            height = np.array([mean.value for _, mean in line]) / logs
            axis.plot(logs / math.log(10), height, "o-", color=colour, markersize=4, label=label)
        for (label, value), style in zip(limits.items(), ("--", "-.", ":"), strict=False):
            text = f"{label} = {value:.2f}"
            axis.axhline(value, color="black", linestyle=style, linewidth=1.1, label=text)
        axis.set_xscale("log")
        axis.set_ylim(bottom=0.8 * min(limits.values()))
        axis.set_xlabel("log₁₀(1/δ)")
        axis.set_ylabel("mean stopping time / ln(1/δ)")
        axis.grid(color="0.9", linewidth=0.8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, lambda draft: figure.savefig(draft, metadata={"Date": None}))
    pyplot().close(figure)
